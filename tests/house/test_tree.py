"""The shape of the tree: sizes, docstrings, names of this machine, marks of unfinished work."""

import ast
import re
from pathlib import Path
from statistics import median

import pytest

from tests.house.tree import Module, files, modules
from tests.support.shared import ROOT, SHARED

CODE = ("registry", "crawler", "migrations", "tests")
LONG = 400
MEDIAN = 140

_REASON = re.compile(r"\b[Ll]ong(er)?\b.*\bbecause\b|\b[Ll]ong:", re.DOTALL)
_UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")


def explains_its_length(tree: ast.Module) -> bool:
    return _REASON.search(ast.get_docstring(tree) or "") is not None


@pytest.mark.parametrize("module", [m for m in modules(*CODE) if m.lines > LONG], ids=lambda module: module.name)
def test_a_long_module_says_why(module: Module) -> None:
    assert explains_its_length(module.tree), f"{module.lines} lines"


def test_the_reason_is_looked_for() -> None:
    assert explains_its_length(ast.parse('"""A table.\n\nLonger than others, because it is one table."""'))
    assert not explains_its_length(ast.parse('"""A table that goes on for a long time."""'))


def test_modules_stay_short() -> None:
    sizes = [module.lines for module in modules("registry", "crawler") if module.lines]
    assert median(sizes) <= MEDIAN


@pytest.mark.parametrize(
    "module", [m for m in modules("registry", "crawler", "migrations") if m.tree.body], ids=lambda module: module.name
)
def test_a_module_says_what_it_is(module: Module) -> None:
    assert ast.get_docstring(module.tree)


def test_no_file_names_this_machine() -> None:
    """Paths of a clone, or of the test data beside it, hold on one machine only."""
    here = [str(folder) + "/" for folder in {ROOT, SHARED.resolve(), SHARED.resolve().parent} if len(folder.parts) > 1]
    found = [path for path in files() if any(name.encode() in path.read_bytes() for name in here)]
    assert found == []


@pytest.mark.parametrize("module", modules("registry", "crawler", "migrations"), ids=lambda module: module.name)
def test_nothing_is_left_unfinished(module: Module) -> None:
    assert _UNFINISHED.findall(module.text) == []


def test_a_walk_sees_the_repository() -> None:
    """The checks above are worth what this walk finds."""
    seen = {path.relative_to(ROOT).as_posix() for path in files()}
    assert {"pyproject.toml", ".ci/run", "registry/settings.py", "docs/README.md"} <= seen
    assert not [name for name in seen if name.startswith((".venv", ".git/", ".tools")) or "__pycache__" in name]


def test_every_folder_of_tests_is_a_package() -> None:
    """Otherwise two test modules of one name shadow each other."""
    folders = {path.parent for path in (ROOT / "tests").rglob("*.py")}
    assert [folder for folder in folders if not Path(folder / "__init__.py").is_file()] == []
