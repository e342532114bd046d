"""The tree as data: every file of the repository, and every module with its syntax tree."""

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.shared import ROOT

_NOT_OURS = frozenset({"__pycache__", "dist", "build", "node_modules"})
_HIDDEN_BUT_OURS = frozenset({".ci", ".github"})
_MADE = frozenset({"uv.lock", ".git"})  # by tools, from pyproject.toml and for a work tree of git


@dataclass(frozen=True)
class Module:
    path: Path
    text: str

    @property
    def name(self) -> str:
        """The path relative to the root, with forward slashes."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def tree(self) -> ast.Module:
        return _parsed(self.path)

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def modules(*folders: str) -> tuple[Module, ...]:
    """Return all Python modules below these folders of the root, by path."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return tuple(Module(path, path.read_text(encoding="utf-8")) for path in paths)


def files() -> Iterator[Path]:
    """Yield every file that belongs to the repository: no environment, no caches, no lock files."""
    for folder, names, file_names in os.walk(ROOT):
        names[:] = sorted(n for n in names if n in _HIDDEN_BUT_OURS or not (n.startswith(".") or n in _NOT_OURS))
        names[:] = [n for n in names if not n.endswith(".egg-info")]
        yield from (Path(folder) / name for name in sorted(file_names) if name not in _MADE)
