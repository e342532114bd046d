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


WARNINGS = "fixture/awp/warnings"
PLANTED: tuple[tuple[str, str, tuple[str | int, ...], Any], ...] = (
    ("assessments", WARNINGS, ("findings", 0, 1), "/elsewhere"),
    ("assessments", WARNINGS, ("service", "capabilities"), []),
    ("merged services", WARNINGS, ("service", "provenance"), {}),
    ("scores", WARNINGS, ("lines", 0, "points"), 77),
    ("listings", f"{WARNINGS} community", ("auth_type",), "other"),
    ("translations", "fixture/adp/valid -> adp", ("losses",), ["/nothing"]),
    ("ADP shapes", WARNINGS, ("manifest", "spec_version"), "9"),
    ("visits", "nothing, mcp, short", ("asked",), []),
    ("visits", "site/shop.example", ("outcome",), "found"),
    ("operations of the API", "openapi.json", ("paths", "/api/discover"), {}),
)
"""Changes of facts: kind, item, place, another value."""


@pytest.mark.slow
def test_a_change_is_found_where_it_is_and_nowhere_else(golden_results: dict[str, Any]) -> None:
    assert golden_results["facts"].keys() == KINDS | {"visits"}
    assert differences(golden_results, copy.deepcopy(golden_results)) == []
    assert "no differences" in summary([], golden_results, limit=10)
    for kind, item, path, new in PLANTED:
        planted = copy.deepcopy(golden_results)
        value = planted["facts"][kind][item]
        for step in path[:-1]:
            value = value[step]
        assert value[path[-1]] != new
        value[path[-1]] = new
        found = differences(golden_results, planted, ignore_texts=True)
        assert {(one.group, one.kind, tuple(one.items)) for one in found} == {("facts", kind, (item,))}
        assert kind in summary(found, golden_results, limit=10)


@pytest.mark.slow
def test_a_changed_text_is_not_a_changed_fact(golden_results: dict[str, Any]) -> None:
    planted = copy.deepcopy(golden_results)
    texts = planted["texts"]["texts of scores"][WARNINGS]
    texts[next(iter(texts))] = "Another sentence."
    assert [difference.group for difference in differences(golden_results, planted)] == ["texts"]
    assert differences(golden_results, planted, ignore_texts=True) == []
    assert not any(key in json.dumps(golden_results["facts"]["scores"]) for key in ('"says"', '"fix"', '"spec"'))


def made(kind: str, items: dict[str, Any]) -> dict[str, Any]:
    return {"facts": {kind: items}, "texts": {}}


@pytest.mark.parametrize(
    ("before", "after", "items"),
    [
        (made("a", {"x": 1, "y": 2}), made("a", {"x": 1}), [["y"]]),
        (made("a", {"x": 1}), made("b", {"x": 1}), [["x"], ["x"]]),
        (made("a", {"x": {"p": 1, "q": 2}, "y": 1}), made("a", {"x": {"q": 2, "p": 1}, "y": 1.0}), [["x"], ["y"]]),
        (made("a", dict.fromkeys("abcde", 1)), made("a", dict.fromkeys("abcde", 2)), [list("abcde")]),
    ],
    ids=["missing", "other kind", "order and type", "equal differences"],
)  # fmt: skip
def test_differences_are_grouped(before: dict[str, Any], after: dict[str, Any], items: list[list[str]]) -> None:
    found = differences(before, after)
    assert [difference.items for difference in found] == items
    assert len(items[0]) < 5 or "in a, b, c and 2 more" in summary(found, before, limit=10)


def test_the_builder_refuses_the_code_of_another_tree(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    folders = dict.fromkeys(("corpus", "fixtures", "sites"), tmp_path)
    with pytest.raises(BuildFailed, match="would be compared instead"):
        build(empty, tmp_path, folders, demo=False)
