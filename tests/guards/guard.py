"""A row of the table, and the place in the source that it switches off.

A guard is marked in the source by the comment `# guard: <key>`, at the end of one of its lines or on the line above it.
Neither a new name nor a move to another module breaks that.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

SOURCES: Final = ("crawler", "registry")
_MARKER: Final = re.compile(r"# guard: ([a-z0-9-]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Edit:
    """A substitution in the marked statement that must match exactly once. It names as little of the code as it can."""

    pattern: str
    replacement: str = ""

    def apply(self, statement: str) -> str:
        """Return the edited statement. Raise ValueError unless the pattern matches exactly once."""
        edited, matches = re.subn(self.pattern, self.replacement, statement, flags=re.DOTALL)
        if matches != 1:
            raise ValueError(f"{self.pattern!r} matches {matches} times in {statement!r}")
        return edited


NEVER: Final = Edit(r"^(\s*(?:el)?if )\S.*", r"\1False:\n")
"""The condition of a marked `if` or `elif` becomes False."""

SKIP: Final = Edit(r"^(\s*)\S.*", r"\1pass\n")
"""The marked statement does nothing."""


@dataclass(frozen=True)
class Guard:
    """`tests`: node ids, of which each must fail once `edit` is applied to the statement that `key` marks."""

    key: str
    name: str
    edit: Edit
    tests: tuple[str, ...]


def find(tree: Path, key: str) -> Path:
    """Return the file of a marker. Raise ValueError unless there is exactly one marker."""
    files = _markers(tree).get(key, [])
    if len(files) != 1:
        raise ValueError(f"{len(files)} comments `# guard: {key}`")
    return files[0]


def keys(tree: Path) -> set[str]:
    """Return the keys of all markers in the source."""
    return set(_markers(tree))


def switched_off(source: str, guard: Guard) -> str:
    """Return the source of a module without the guard. Raise ValueError where the edit does not fit."""
    lines = source.splitlines(keepends=True)
    number = next(number for number, line in enumerate(lines, 1) if line.rstrip().endswith(f"# guard: {guard.key}"))
    if lines[number - 1].lstrip().startswith("#"):
        number += 1
    first, last = _statement(source, number)
    statement = "".join(lines[first - 1 : last])
    return "".join([*lines[: first - 1], guard.edit.apply(statement), *lines[last:]])


@cache
def _markers(tree: Path) -> dict[str, list[Path]]:
    markers: dict[str, list[Path]] = {}
    for path in sorted(path for folder in SOURCES for path in (tree / folder).rglob("*.py")):
        for key in _MARKER.findall(path.read_text(encoding="utf-8")):
            markers.setdefault(key, []).append(path)
    return markers


def _statement(source: str, line: int) -> tuple[int, int]:
    """Return first and last line of the smallest statement at this line; of a block's header only, without its body."""
    spans = [span for span in _statements(ast.parse(source)) if span[0] <= line <= span[1]]
    return min(spans, key=lambda span: span[1] - span[0], default=(line, line))


def _statements(tree: ast.Module) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.match_case):
            yield node.pattern.lineno, node.body[0].lineno - 1
        elif isinstance(node, ast.stmt) and node.end_lineno is not None:
            body = getattr(node, "body", None)
            yield node.lineno, body[0].lineno - 1 if body else node.end_lineno
