"""Make texts that a regular expression describes: the simplest ones, for a check by the pattern itself."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final

_MOST_CHARS: Final = 2_000
_MOST_GROUPS: Final = 30  # groups nest: each level is a call
_MORE: Final = (0, 1, 3, 7, 15, 31)  # repetitions beyond the fewest
_WISHED: Final = "aA1-_/:. bBzZ09"
_SPACES: Final = " \t\n\r\f\v"
_UNICODE: Final = re.compile(r"\\([pP])\{?\^?([A-Za-z])[A-Za-z_=]*\}?")
_UNICODE_CLASSES: Final = {"L": r"\w", "A": r"\w", "N": r"\d", "X": r"\d", "Z": r"\s", "S": r"\s"}
"""By the first letter: categories of Unicode, and the classes of Java (Alnum, XDigit, Space)."""
_CLASS_AS_BOUND: Final = re.compile(r"(\\[wWdDsS])-(?=[^\]])")  # `[\w-.]`: ECMAScript reads the hyphen as itself
_NESTED_SET: Final = re.compile(r"\[[^\]]*?(?<!\\)(?:\[|--|&&|~~|\|\|)")
"""What Python warns of, because a later one may read it as operations on sets."""


def get_making_work(pattern: str) -> int:
    """Return the units of work (see `effort`) that making texts for a pattern takes at most."""
    if pattern.count("(") > _MOST_GROUPS:
        return 0
    return 2_000 + 60 * len(pattern) + 3_000 * pattern.count("[")


def texts_of_pattern(pattern: str, least: int = 0) -> Iterator[str]:
    """Yield texts that a pattern (ECMA-262, as JSON Schema has) is likely to match, the shortest first, then some of
    `least` characters or little more. Lookaround is ignored. Nothing is matched, so no pattern takes long. None for a
    pattern that Python does not understand."""
    if pattern.count("(") > _MOST_GROUPS:  # guard: pattern-groups
        return
    known = _UNICODE.sub(lambda found: r"\w" if found[1] == "P" else _UNICODE_CLASSES.get(found[2], r"\-"), pattern)
    known = _CLASS_AS_BOUND.sub(r"\1\\-", known)
    if _NESTED_SET.search(known):
        return
    try:
        tree = _parser.parse(known)
    except (re.error, RecursionError, OverflowError):
        return
    before = None
    for more in (*_MORE, *_find_more(tree, least)):
        text = _Maker(more).make(tree)
        if text is not None and text != before:
            before = text
            yield text
    if before is not None and len(before) < least:  # no end is asked for, perhaps
        yield before.ljust(least, "a")


def _find_more(tree: Any, least: int) -> Iterator[int]:
    """Yield the smallest number of further repetitions that gives at least so many characters, found by halving."""
    low, high = 0, min(least, _MOST_CHARS)
    while low < high:
        middle = (low + high) // 2
        text = _Maker(middle).make(tree)
        low, high = (middle + 1, high) if text is not None and len(text) < least else (low, middle)
    yield low


@dataclass(slots=True)
class _Maker:
    """Writes one text for a parsed pattern; every repetition occurs `more` times more often than it has to, and is the
    same each time. None: the text would be too long."""

    more: int
    groups: dict[int | None, str] = field(default_factory=dict)

    def make(self, tree: Any) -> str | None:
        text = ""
        for code, held in tree:
            part = self._make_part(code, held)
            if part is None or len(text) + len(part) > _MOST_CHARS:
                return None
            text += part
        return text

    def _make_part(self, code: Any, held: Any) -> str | None:
        if code is op.LITERAL:
            return chr(held)
        if code is op.NOT_LITERAL:
            return _choose(((op.NEGATE, None), (op.LITERAL, held)))
        if code is op.ANY:
            return "a"
        if code is op.IN:
            return _choose(tuple(held))
        if code is op.BRANCH:
            return self.make(held[1][0])
        if code is op.SUBPATTERN:
            text = self.make(held[-1])
            self.groups[held[0]] = text or ""
            return text
        if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, most, inner = held
            times = min(least + self.more, most)
            text = self.make(inner) if times else ""
            return None if text is None or len(text) * times > _MOST_CHARS else text * times
        if code is op.GROUPREF:
            return self.groups.get(held, "")
        return self.make(held) if code is op.ATOMIC_GROUP else ""  # of no width: its place, and lookaround


@lru_cache(maxsize=500)
def _choose(members: tuple[tuple[Any, Any], ...]) -> str:
    """Return a character of a class: a common one if there is one."""
    firsts = [chr(held if code is op.LITERAL else held[0]) for code, held in members if code in (op.LITERAL, op.RANGE)]
    negated = bool(members) and members[0][0] is op.NEGATE
    candidates = [*_WISHED, *firsts, *map(chr, range(33, 127))]
    return next((char for char in candidates if _is_member(char, members) is not negated), "")


def _is_member(char: str, members: tuple[tuple[Any, Any], ...]) -> bool:
    for code, held in members:
        if code is op.LITERAL:
            found = ord(char) == held
        elif code is op.RANGE:
            found = held[0] <= ord(char) <= held[1]
        elif code is op.CATEGORY:
            found = _CATEGORIES[held](char)
        else:
            found = False
        if found:
            return True
    return False


_CATEGORIES: Final[Mapping[Any, Callable[[str], bool]]] = {
    op.CATEGORY_DIGIT: str.isdecimal,
    op.CATEGORY_NOT_DIGIT: lambda char: not char.isdecimal(),
    op.CATEGORY_SPACE: lambda char: char in _SPACES,
    op.CATEGORY_NOT_SPACE: lambda char: char not in _SPACES,
    op.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    op.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}
