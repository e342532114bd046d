"""Texts that match a regular expression (ECMA-262, as JSON Schema uses it), for examples.

The usual syntax is understood: alternatives, groups, classes, quantifiers, anchors. Lookaround, back references and
flags are not; nothing is ever matched here, so that no pattern can take long.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MAX_PARTS: Final = 1_000
MAX_DEPTH: Final = 20
MAX_RANGES: Final = 100
"""Ranges of one class: each choice of a character reads all ranges, for up to 200 characters."""

_EXTRA: Final = (0, 1, 3, 7, 15, 31, 63)  # repetitions above the least, where a quantifier allows them
_LIKED: Final = "aA1e0x-_. "
_CLASSES: Final = {
    "d": [("0", "9")],
    "w": [("a", "z"), ("A", "Z"), ("0", "9"), ("_", "_")],
    "s": [(" ", " "), ("\t", "\r")],
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_LETTERS: Final = [("a", "z"), ("A", "Z")]
_PROPERTIES: Final = {"L": _LETTERS, "Letter": _LETTERS, "Lu": [("A", "Z")], "Ll": [("a", "z")], "N": [("0", "9")],
                      "Nd": [("0", "9")], "P": [("-", ".")], "Zs": [(" ", " ")]}  # fmt: skip

Ranges = list[tuple[str, str]]


class _UnsupportedPattern(Exception):
    """The pattern uses syntax that is not understood."""


@dataclass(frozen=True, slots=True)
class _Chars:
    ranges: Ranges
    negated: bool = False

    def __contains__(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges) != self.negated

    def choice(self) -> str:
        """Return a printable character of the set, preferably a letter or digit."""
        if len(self.ranges) > MAX_RANGES:
            raise _UnsupportedPattern
        candidates: list[str] = [*_LIKED, *(low for low, _ in self.ranges), *map(chr, range(33, 127))]
        char = next((char for char in candidates if char in self and char.isprintable()), None)
        if char is None:
            raise _UnsupportedPattern
        return char


@dataclass(frozen=True, slots=True)
class _Repeat:
    part: "_Part"
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: "tuple[_Part, ...]"


_Part = _Chars | _Repeat | _Sequence


@lru_cache(maxsize=1_000)
def texts(pattern: str) -> tuple[str, ...]:
    """Return a few texts that the pattern describes, from the shortest on; none where its syntax is not understood.

    An anchor in the middle of a pattern may make a text wrong: the caller checks.
    """
    try:
        part = _Reader(pattern).whole()
    except (_UnsupportedPattern, RecursionError):
        return ()
    found: list[str] = []
    chosen: dict[int, str] = {}
    for extra in _EXTRA:
        try:
            found.append("".join(_write_part(part, extra, [MAX_PARTS], chosen)))
        except _UnsupportedPattern:
            break
    return tuple(dict.fromkeys(found))


def _write_part(part: _Part, extra: int, left: list[int], chosen: dict[int, str]) -> Iterator[str]:
    """Yield the characters of a text; `left` holds how many parts may still be written, `chosen` the
    character of each class that was written before."""
    left[0] -= 1
    if left[0] < 0:
        raise _UnsupportedPattern
    if isinstance(part, _Chars):
        if id(part) not in chosen:
            chosen[id(part)] = part.choice()
        yield chosen[id(part)]
    elif isinstance(part, _Sequence):
        for inner in part.parts:
            yield from _write_part(inner, extra, left, chosen)
    else:
        count = part.least + extra if part.most is None else min(part.most, part.least + extra)
        for _ in range(count):
            yield from _write_part(part.part, extra, left, chosen)


class _Reader:
    """A recursive descent over the pattern; of several alternatives the first is kept."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at = pattern, 0

    def whole(self) -> _Part:
        part = self._parse_alternatives(0)
        if self._at < len(self._pattern):
            raise _UnsupportedPattern
        return part

    def _peek(self) -> str:
        return self._pattern[self._at] if self._at < len(self._pattern) else ""

    def _next(self) -> str:
        char = self._peek()
        if not char:
            raise _UnsupportedPattern
        self._at += 1
        return char

    def _take(self, text: str) -> bool:
        if not self._pattern.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _parse_alternatives(self, depth: int) -> _Part:
        if depth > MAX_DEPTH:
            raise _UnsupportedPattern
        first = self._parse_sequence(depth)
        while self._take("|"):
            self._parse_sequence(depth)
        return first

    def _parse_sequence(self, depth: int) -> _Part:
        parts: list[_Part] = []
        while self._peek() not in ("", "|", ")"):
            part = self._parse_atom(depth)
            if part is not None:
                parts.append(self._parse_quantifier(part))
        return _Sequence(tuple(parts))

    def _parse_atom(self, depth: int) -> _Part | None:
        """Return the next part; None for an anchor, which stands for no character."""
        char = self._next()
        if char in "^$":
            return None
        if char == "(":
            return self._parse_group(depth)
        if char == "[":
            return self._parse_class()
        if char == ".":
            return _Chars([("\n", "\n"), ("\r", "\r")], negated=True)
        if char == "\\":
            return None if self._take("b") else self._parse_escape()
        if char in "*+?":
            raise _UnsupportedPattern
        return _Chars([(char, char)])

    def _parse_group(self, depth: int) -> _Part:
        if self._take("?"):
            if self._take("<") and self._peek() not in "=!":
                while self._next() != ">":
                    pass
            elif not self._take(":"):
                raise _UnsupportedPattern
        part = self._parse_alternatives(depth + 1)
        if not self._take(")"):
            raise _UnsupportedPattern
        return part

    def _parse_quantifier(self, part: _Part) -> _Part:
        bounds: tuple[int, int | None]
        if self._take("*"):
            bounds = (0, None)
        elif self._take("+"):
            bounds = (1, None)
        elif self._take("?"):
            bounds = (0, 1)
        elif self._peek() == "{":
            bounds = self._parse_count()
        else:
            return part
        self._take("?")  # lazy
        return _Repeat(part, *bounds)

    def _parse_count(self) -> tuple[int, int | None]:
        end = self._pattern.find("}", self._at)
        least, comma, most = self._pattern[self._at + 1 : end].partition(",")
        if end < 0 or not (least.isascii() and least.isdigit()) or len(least) > 9 or len(most) > 9:
            raise _UnsupportedPattern
        if most and not (most.isascii() and most.isdigit()):
            raise _UnsupportedPattern
        self._at = end + 1
        return int(least), int(most) if most else None if comma else int(least)

    def _parse_class(self) -> _Chars:
        negated, ranges = self._take("^"), []
        while not self._take("]"):
            low = self._parse_class_member()
            if len(low) == 1 and low[0][0] == low[0][1] and self._peek() == "-" and not self._at_end_of_class():
                self._next()
                high = self._parse_class_member()
                if len(high) != 1 or high[0][0] != high[0][1]:
                    raise _UnsupportedPattern
                low = [(low[0][0], high[0][0])]
            ranges += low
        return _Chars(ranges, negated)

    def _at_end_of_class(self) -> bool:
        return self._pattern[self._at + 1 : self._at + 2] == "]"

    def _parse_class_member(self) -> Ranges:
        char = self._next()
        if char != "\\":
            return [(char, char)]
        if self._take("b"):
            return [("\b", "\b")]
        chars = self._parse_escape()
        if chars.negated:
            raise _UnsupportedPattern
        return chars.ranges

    def _parse_escape(self) -> _Chars:
        char = self._next()
        if char.lower() in _CLASSES:
            return _Chars(_CLASSES[char.lower()], negated=char.isupper())
        if char in "pP" and self._take("{"):
            name = self._pattern[self._at : self._pattern.find("}", self._at)]
            self._at += len(name) + 1
            if name not in _PROPERTIES:
                raise _UnsupportedPattern
            return _Chars(_PROPERTIES[name], negated=char == "P")
        if char in "ux":
            digits = self._pattern[self._at : self._at + (4 if char == "u" else 2)]
            self._at += len(digits)
            try:
                code = chr(int(digits, 16))
            except ValueError:
                raise _UnsupportedPattern from None
            return _Chars([(code, code)])
        if char in _CONTROLS:
            return _Chars([(_CONTROLS[char], _CONTROLS[char])])
        if char.isalnum():
            raise _UnsupportedPattern
        return _Chars([(char, char)])
