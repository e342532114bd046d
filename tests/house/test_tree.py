"""The shape of the tree: docstrings, paths of this machine, marks of unfinished work."""

import ast
import re
from pathlib import Path

from tests.house.tree import files, modules
from tests.support.shared import ROOT, SHARED

CODE = ("registry", "crawler", "migrations", "tests")

_UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")


def test_every_module_has_a_docstring() -> None:
    with_code = [module for module in modules("registry", "crawler", "migrations") if module.tree.body]
    assert [module.name for module in with_code if not ast.get_docstring(module.tree)] == []


def test_no_file_names_this_machine() -> None:
    """Paths of a clone, or of the test data beside it, are valid on one machine only."""
    local_paths = [
        str(folder) + "/" for folder in {ROOT, SHARED.resolve(), SHARED.resolve().parent} if len(folder.parts) > 1
    ]
    naming_files = [path for path in files() if any(name.encode() in path.read_bytes() for name in local_paths)]
    assert naming_files == []


def test_nothing_is_left_unfinished() -> None:
    code = modules("registry", "crawler", "migrations")
    assert {module.name: found for module in code if (found := _UNFINISHED.findall(module.text))} == {}


def test_a_walk_sees_the_repository() -> None:
    """The checks above depend on the files that this walk finds."""
    seen = {path.relative_to(ROOT).as_posix() for path in files()}
    assert {"pyproject.toml", ".ci/run", "registry/settings.py", "docs/README.md"} <= seen
    assert not [name for name in seen if name.startswith((".venv", ".git/", ".tools")) or "__pycache__" in name]


def test_every_folder_of_tests_is_a_package() -> None:
    """Without packages, two test modules of one name shadow each other."""
    folders = {path.parent for path in (ROOT / "tests").rglob("*.py")}
    assert [folder for folder in folders if not Path(folder / "__init__.py").is_file()] == []
