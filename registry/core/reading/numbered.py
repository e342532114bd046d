"""Number the lines of a text, for pages that show findings at their lines."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MAX_LINES: Final = 600
MAX_CHARS: Final = 240
"""Lines of a text, and characters of a line, that are shown."""

_AROUND: Final = 3  # lines shown before and after a marked one, in a longer text
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[^\s"{}\[\],:]++|.', re.DOTALL)


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """`number`: from 1. `parts`: the text before the marked part, the marked part, and the text after it; only the
    first one is filled for a line without a mark. `follows_gap`: lines before this one are left out."""

    number: int
    parts: tuple[str, str, str]
    follows_gap: bool = False


def numbered_lines(text: str, marks: Mapping[int, int]) -> tuple[NumberedLine, ...]:
    """Return the lines of a text; of a text of more than MAX_LINES those at its beginning and around the marks.

    `marks`: column by line, both from 1, as `positions.place` counts them. The part at the column is marked: a JSON
    string, a word, or one character. Long lines are cut around it.
    """
    lines = text.removeprefix("\ufeff").split("\n")
    if not lines[-1] and len(lines) not in marks:  # a text that ends with a line break, and not there
        lines.pop()
    shown = range(len(lines)) if len(lines) <= MAX_LINES else _around(marks, len(lines))
    found, expected = [], 0
    for index in shown:
        parts = _marked(lines[index], marks.get(index + 1))
        found.append(NumberedLine(index + 1, parts, index != expected))
        expected = index + 1
    return tuple(found)


def _around(marks: Mapping[int, int], count: int) -> list[int]:
    """Return the indexes of the first lines and of those around the marks, at most MAX_LINES."""
    near = {index for line in marks for index in range(line - 1 - _AROUND, line + _AROUND)}
    wanted = sorted({*range(_AROUND), *(index for index in near if 0 <= index < count)})
    return wanted[:MAX_LINES]


def _marked(line: str, column: int | None) -> tuple[str, str, str]:
    if column is None or not 1 <= column <= len(line):
        return (_cut(line), "", "")
    start = column - 1
    found = _TOKEN.match(line, start)
    mark = found[0] if found else ""
    before = line[:start]
    if len(before) > MAX_CHARS // 2:
        before = "\u2026" + before[-MAX_CHARS // 2 :]
    return before, _cut(mark), _cut(line[start + len(mark) :], MAX_CHARS // 2)


def _cut(text: str, chars: int = MAX_CHARS) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "\u2026"
