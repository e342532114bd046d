"""docs/adding-a-format.md is followed to the letter, in a copy of the tree: the format that it adds must work."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shared import ROOT, SHARED

PAGE = ROOT / "docs" / "adding-a-format.md"
COPIED = (
    "registry",
    "crawler",
    "migrations",
    "tests",
    "docs",
    "pyproject.toml",
    "Makefile",
    "README.md",
    "CHANGELOG.md",
)
BEFORE = {
    "registry/core/findings.py": "    # --- several documents of one host",
    "registry/core/scoring/rubric_siblings.py": ")  # fmt: skip",
    "registry/core/recognise.py: imports": "    texts,\n",
    "registry/core/recognise.py: rows": "    # --- weak rows",
    "registry/core/merging/held.py": '    "openapi", "agents-json"',
}
"""Where the page says that lines are added to a file, by the line that they come before."""

_BLOCK = re.compile(r"```(?:python|json)\n(?:#|//) ([\w./: -]+)\n(.*?)```", re.DOTALL)


def blocks() -> dict[str, str]:
    """What the page says to write, by the place that the first line of each block names."""
    return dict(_BLOCK.findall(PAGE.read_text(encoding="utf-8")))


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "WAYPOST_SHARED": str(SHARED), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(folder, "-m", "pytest", "-n", "0", "--deselect", "tests/house/test_adding_a_format.py", *arguments)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("newcomer")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder)
    follow(folder)
    return folder


def follow(folder: Path) -> None:
    """Sections 2 to 6 of the page."""
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
    run(folder, "-m", "registry.cli.pages")


def put_before(path: Path, mark: str, text: str) -> None:
    whole = path.read_text(encoding="utf-8")
    assert whole.count(mark) == 1, f"{path.name}: {mark}"
    path.write_text(whole.replace(mark, f"{text}\n{mark}" if mark.lstrip().startswith("# ---") else text + mark))


def raise_version(folder: Path) -> None:
    rubric = folder / "registry" / "core" / "scoring" / "rubric.py"
    rubric.write_text(
        re.sub(r'^VERSION = "(.+)"$', r'VERSION = "\1-and-tally"', rubric.read_text(), flags=re.MULTILINE)
    )
    program = "from registry.core.scoring.rubric import VERSION, fingerprint; print(VERSION, fingerprint())"
    version, fingerprint = run(folder, "-c", program).stdout.split()
    put_before(folder / "tests/house/test_rubric.py", '}\n"""Fingerprints', f'    "{version}": "{fingerprint}",\n')


@pytest.mark.slow
def test_a_newcomer_who_follows_the_page_passes(copy: Path) -> None:
    house = pytest_in(copy, *(f"tests/house/{name}" for name in ("test_formats.py", "test_rubric.py", "test_core.py")))
    assert house.returncode == 0, house.stdout
    formats = pytest_in(copy, "tests/formats/test_fixtures.py", "tests/core", "-k", "tally or test_recognise")
    assert formats.returncode == 0, formats.stdout
    assert run(copy, "-m", "registry.cli.pages", "--check").returncode == 0
    assert "`tally.task`" in (copy / "docs" / "formats.md").read_text()


FORGOTTEN = {
    "test_formats.py::test_a_module_is_recognised_by_a_row": (
        "registry/core/recognise.py", "Row(tally.", "# Row(tally."),
    "test_rubric.py::test_every_reason_has_a_row": (
        "registry/core/scoring/rubric_siblings.py", "(Reason.TALLY_TITLE,", "(Reason.TALLY_TASK,"),
    "test_rubric.py::test_every_reason_is_given_somewhere": (
        "registry/core/formats/tally.py", "Reason.TALLY_TITLE", "Reason.TALLY_TASK"),
    "test_formats.py::test_a_format_has_a_fixture_that_is_something_else": ("collision-votes", "", ""),
    "test_formats.py::test_every_error_rule_is_broken_by_a_fixture": ("error-task", "", ""),
    "test_formats.py::test_a_service_has_its_place_when_documents_differ": (
        "registry/core/merging/held.py", '"tally",', ""),
    "test_rubric.py::test_no_row_changes_without_a_version": (
        "registry/core/scoring/rubric_siblings.py", "Add a title.", "Add a better title."),
    "test_pages.py::test_a_page_says_what_the_code_says": ("registry/core/formats/tally.py", '"Tally"', '"Tallies"'),
}  # fmt: skip
"""The test that names what is missing -> what is left out: a fixture's case, or words of a file for others."""


@pytest.mark.slow
@pytest.mark.parametrize("test", FORGOTTEN)
def test_what_is_forgotten_is_named(copy: Path, test: str) -> None:
    place, words, others = FORGOTTEN[test]
    path = copy / place if words else copy / "tests" / "formats" / "tally" / place
    assert test.rpartition("::")[2] in PAGE.read_text().replace("…", "test_a_format_has_a_fixture"), "told on the page"
    if words:
        kept = path.read_text()
        assert words in kept
        path.write_text(kept.replace(words, others))
    else:
        path.rename(copy / "aside")
    told = pytest_in(copy, f"tests/house/{test}")
    if words:
        path.write_text(kept)
    else:
        (copy / "aside").rename(path)
    assert told.returncode == 1, told.stdout
