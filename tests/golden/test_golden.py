"""The comparison notices changes that a refactoring could cause, and the builder runs on this tree."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden.__main__ import FIXTURES, BuildFailed, build
from tests.golden.compare import differences, summary
from tests.support.shared import ROOT

CASES = ("adp/valid", "awp/warnings")
KINDS = {"ADP shapes", "assessments", "listings", "merged services", "operations of the API", "scores", "translations"}


@pytest.fixture(scope="module")
def golden_results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results of this tree for two fixtures and one site."""
    inputs = tmp_path_factory.mktemp("golden")
    for case in CASES:
        target = inputs / "fixtures" / case
        target.parent.mkdir(parents=True)
        target.symlink_to(ROOT / FIXTURES / case)
    site = inputs / "sites" / "shop.example"
    site.mkdir(parents=True)
    (site / "_index").write_text("<h1>A shop</h1>")
    folders = {"corpus": inputs / "absent", "fixtures": inputs / "fixtures", "sites": inputs / "sites"}
    return build(ROOT, inputs, folders, demo=False)


@pytest.mark.slow
def test_equal_results_have_no_differences(golden_results: dict[str, Any]) -> None:
    assert golden_results["facts"].keys() == KINDS | {"visits"}
    assert differences(golden_results, copy.deepcopy(golden_results)) == []
    assert "no differences" in summary([], golden_results, limit=10)


def _plant(value: Any, path: tuple[str | int, ...], new: Any) -> None:
    for step in path[:-1]:
        value = value[step]
    assert value[path[-1]] != new
    value[path[-1]] = new


WARNINGS = "fixture/awp/warnings"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "item", "path", "new"),
    [
        ("assessments", WARNINGS, ("dialect",), "0.9"),
        ("assessments", WARNINGS, ("findings", 0, 0), "awp.other"),
        ("assessments", WARNINGS, ("findings", 0, 1), "/elsewhere"),
        ("assessments", WARNINGS, ("findings", 0, 3), 99),
        ("assessments", WARNINGS, ("service", "capabilities"), []),
        ("merged services", WARNINGS, ("service", "provenance"), {}),
        ("merged services", WARNINGS, ("formats",), ["adp"]),
        ("scores", WARNINGS, ("value",), 1),
        ("scores", WARNINGS, ("lines", 0, "points"), 77),
        ("scores", WARNINGS, ("facts", "capabilities"), 77),
        ("listings", f"{WARNINGS} community", ("auth_type",), "other"),
        ("translations", "fixture/adp/valid -> adp", ("document",), None),
        ("translations", "fixture/adp/valid -> adp", ("losses",), ["/nothing"]),
        ("ADP shapes", WARNINGS, ("manifest", "spec_version"), "9"),
        ("visits", "nothing", ("asked", 0), "https://shop.example/favicon.ico"),
        ("visits", "nothing, mcp, short", ("asked",), []),
        ("visits", "site/shop.example", ("outcome",), "found"),
        ("operations of the API", "openapi.json", ("paths", "/api/discover"), {}),
    ],
)
def test_a_planted_change_of_a_fact_is_found(
    golden_results: dict[str, Any], kind: str, item: str, path: tuple[str | int, ...], new: Any
) -> None:
    planted = copy.deepcopy(golden_results)
    _plant(planted["facts"][kind][item], path, new)
    found = differences(golden_results, planted, ignore_texts=True)
    assert {(difference.group, difference.kind, tuple(difference.items)) for difference in found} == {
        ("facts", kind, (item,))
    }
    assert kind in summary(found, golden_results, limit=10)


@pytest.mark.slow
def test_a_changed_text_is_not_a_changed_fact(golden_results: dict[str, Any]) -> None:
    planted = copy.deepcopy(golden_results)
    texts = planted["texts"]["texts of scores"][WARNINGS]
    texts[next(iter(texts))] = "Another sentence."
    assert [difference.group for difference in differences(golden_results, planted)] == ["texts"]
    assert differences(golden_results, planted, ignore_texts=True) == []
    assert not any(key in json.dumps(golden_results["facts"]["scores"]) for key in ('"says"', '"fix"', '"spec"'))


def test_results_missing_in_one_tree_are_differences() -> None:
    before = {"facts": {"scores": {"a": 1, "b": 2}}, "texts": {}}
    after = {"facts": {"scores": {"a": 1}, "listings": {"a": 1}}, "texts": {}}
    assert [(difference.kind, difference.items) for difference in differences(before, after)] == [
        ("listings", ["a"]),
        ("scores", ["b"]),
    ]


def test_the_order_of_keys_and_the_type_of_numbers_count() -> None:
    before = {"facts": {"documents": {"a": {"x": 1, "y": 2}, "b": 1}}, "texts": {}}
    after = {"facts": {"documents": {"a": {"y": 2, "x": 1}, "b": 1.0}}, "texts": {}}
    assert [difference.items for difference in differences(before, after)] == [["a"], ["b"]]


def test_equal_differences_are_grouped_in_one_line() -> None:
    before = {"facts": {"scores": {name: {"value": 1} for name in "abcde"}}, "texts": {}}
    after = {"facts": {"scores": {name: {"value": 2} for name in "abcde"}}, "texts": {}}
    found = differences(before, after)
    assert [difference.items for difference in found] == [list("abcde")]
    assert "/value in a, b, c and 2 more" in summary(found, before, limit=10)


def test_the_builder_refuses_the_code_of_another_tree(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    folders = dict.fromkeys(("corpus", "fixtures", "sites"), tmp_path)
    with pytest.raises(BuildFailed, match="would be compared instead"):
        build(empty, tmp_path, folders, demo=False)
