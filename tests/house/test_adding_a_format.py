"""The steps of docs/adding-a-format.md, applied to a copy of the tree, add a format that works."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house import following
from tests.house.following import copy_tree, make_docs, run
from tests.support.shared import ROOT

PAGE = ROOT / "docs" / "adding-a-format.md"
BEFORE = {
    "registry/core/formats/__init__.py: imports": "    ucp,\n",
    "registry/core/formats/__init__.py: list": "    awas.FORMAT,\n",
    "registry/core/assessing/recognise.py: rows": "    # --- weak rows",
}
"""For each file to which the page adds lines: the existing line before which they go."""

_BLOCK = re.compile(r"```(?:python|json)\n(?:#|//) ([\w./: -]+)\n(.*?)```", re.DOTALL)


def blocks() -> dict[str, str]:
    """Return the code blocks of the page, by the file that the first line of each block names."""
    return dict(_BLOCK.findall(PAGE.read_text(encoding="utf-8")))


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return following.pytest_in(folder, "--deselect", "tests/house/test_adding_a_format.py", *arguments)


@pytest.fixture(scope="module")
def tree_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("newcomer")
    copy_tree(folder)
    follow(folder)
    return folder


def follow(folder: Path) -> None:
    """Apply sections 2 to 6 of the page to a copy of the tree."""
    for place, text in blocks().items():
        path = folder / place.partition(":")[0]
        if place in BEFORE:
            put_before(path, BEFORE[place], text)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    cases = folder / "tests" / "formats" / "tally"
    for case in cases.iterdir():
        if case.name != "valid":
            shutil.copy(cases / "valid" / "response.json", case)
    raise_version(folder)
    pytest_in(folder, "tests/formats", "-k", "tally", "--update-expected")
    make_docs(folder)


def put_before(path: Path, mark: str, text: str) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.count(mark) == 1, f"{path.name}: {mark}"
    path.write_text(source.replace(mark, f"{text}\n{mark}" if mark.lstrip().startswith("# ---") else text + mark))


def raise_version(folder: Path) -> None:
    rubric = folder / "registry" / "core" / "scoring" / "rubric.py"
    rubric.write_text(
        re.sub(r'^VERSION = "(.+)"$', r'VERSION = "\1-and-tally"', rubric.read_text(), flags=re.MULTILINE)
    )
    program = "from registry.core.scoring.rubric import VERSION, fingerprint; print(VERSION, fingerprint())"
    done = run(folder, "-c", program)
    assert done.returncode == 0, done.stderr
    version, fingerprint = done.stdout.split()
    put_before(folder / "tests/house/test_rubric.py", '}\n"""Fingerprints', f'    "{version}": "{fingerprint}",\n')


@pytest.mark.slow
def test_following_the_page_adds_a_format_that_passes_the_tests(tree_copy: Path) -> None:
    house = ("house/test_formats.py", "house/test_rubric.py", "house/test_core.py")
    about_formats = ("formats/test_fixtures.py", "core/test_recognise.py", "core/test_properties.py")
    chosen = "house or tally or test_recognise"
    process = pytest_in(tree_copy, *(f"tests/{file}" for file in (*house, *about_formats)), "-k", chosen)
    assert process.returncode == 0, process.stdout
    assert make_docs(tree_copy, "--check").returncode == 0
    assert "`tally.task`" in (tree_copy / "docs" / "formats.md").read_text()


FORGOTTEN = {
    "test_formats.py::test_a_format_is_in_the_list_and_in_the_table": (
        "registry/core/assessing/recognise.py", "RecognitionRow(formats.tally.", "# RecognitionRow(formats.tally."),
    "test_rubric.py::test_a_rule_has_one_code_and_a_code_one_rule": (
        "registry/core/formats/tally/__init__.py", "    rules=rules_in(rules),\n", ""),
    "test_rubric.py::test_every_rule_is_reported_somewhere": (
        "registry/core/formats/tally/read.py", "rules.TITLE", "rules.TASK"),
    "test_formats.py::test_a_format_has_a_fixture_that_is_something_else": ("collision-votes", "", ""),
    "test_formats.py::test_every_error_rule_is_broken_by_a_fixture": ("error-task", "", ""),
    "test_formats.py::test_a_service_has_its_place_when_documents_differ": (
        "registry/core/formats/tally/__init__.py", "    precedence=125,\n", ""),
    "test_rubric.py::test_no_rule_changes_without_a_version": (
        "registry/core/formats/tally/rules.py", "Add a title.", "Add a better title."),
    "test_pages.py::test_generated_pages_are_current": (
        "registry/core/formats/tally/__init__.py", '"Tally"', '"Tallies"'),
}  # fmt: skip
"""For each test that names a missing part: the fixture case to remove, or the file, the text and its replacement."""


@pytest.mark.long
@pytest.mark.parametrize("test", FORGOTTEN)
def test_a_forgotten_step_fails_the_test_that_the_page_names(tree_copy: Path, test: str) -> None:
    place, text, replacement = FORGOTTEN[test]
    path = tree_copy / place if text else tree_copy / "tests" / "formats" / "tally" / place
    assert test.rpartition("::")[2] in PAGE.read_text().replace("…", "test_a_format_has_a_fixture"), "told on the page"
    if text:
        original = path.read_text()
        assert text in original
        path.write_text(original.replace(text, replacement))
    else:
        path.rename(tree_copy / "aside")
    process = pytest_in(tree_copy, f"tests/house/{test}")
    if text:
        path.write_text(original)
    else:
        (tree_copy / "aside").rename(path)
    assert process.returncode == 1, process.stdout
