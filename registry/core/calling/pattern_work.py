"""How much work a regular expression is, estimated from its text, before anything compiles it.

The engine limits the memory of a compiled pattern. That does not limit the time: reading a class of characters may take
longer than all else, and 300 patterns just below the limit take seconds.
"""

from functools import lru_cache
from typing import Final

MAX_PATTERN_WORK: Final = 30_000
"""Units of work of one pattern, see `effort`: three milliseconds. A more expensive one is not compiled."""

_CHAR: Final = 2
_CLASS: Final = 6
_WIDE: Final = 80  # most of Unicode, in UTF-8
_PROPERTY: Final = 400  # `\p{L}`: hundreds of ranges


@lru_cache(maxsize=2_000)
def pattern_work(pattern: str) -> int | None:
    """Return the units of work that compiling takes, at most MAX_PATTERN_WORK; None if it would be more, or if the
    pattern has flags, lookaround, back references or an unbalanced group: nothing bounds those."""
    sums, last, at = [_CHAR], 0, 0  # of the groups that are open; the last part of the innermost
    while at < len(pattern):
        char, width, work = pattern[at], 1, _CHAR
        if char == "(":
            width = _group_opening(pattern, at)
            if not width:
                return None
            sums.append(_CHAR)
            last, at = 0, at + width
            continue
        if char == ")":
            if len(sums) == 1:
                return None
            work = sums.pop()
        elif char == "[":
            work, width = _class(pattern, at)
        elif char == "\\":
            work, width = _escape(pattern, at)
        elif char == "{" and (count := _count(pattern, at)) is not None:
            times, width = count
            work = last * max(1, times) - last
        elif char == ".":
            work = _WIDE
        elif ord(char) > 0x7F:
            work = 2 * _CHAR
        if not work and char != "{":
            return None
        sums[-1] += work
        if sums[-1] > MAX_PATTERN_WORK:  # guard: pattern-work
            return None
        last = last + work if char == "{" else last if char in "*+?" else work
        at += width
    return sums[0] if len(sums) == 1 else None


def _group_opening(pattern: str, at: int) -> int:
    """Return the width of the beginning of a group; 0 for flags and lookaround."""
    if not pattern.startswith("(?", at):
        return 1
    if pattern.startswith("(?:", at):
        return 3
    end = pattern.find(">", at)
    is_named = pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!") and end > 0
    return end + 1 - at if is_named else 0


def _count(pattern: str, at: int) -> tuple[int, int] | None:
    """Return the repetitions of `{n}`, `{n,}` or `{n,m}`, and its width; None where the brace stands for itself."""
    end = pattern.find("}", at)
    least, _, most = pattern[at + 1 : end].partition(",")
    if end < 0 or not least.strip().isdecimal():
        return None
    number = most.strip() if most.strip().isdecimal() else least.strip()
    return (int(number) if len(number) < 7 else 10**6, end + 1 - at)


def _escape(pattern: str, at: int) -> tuple[int, int]:
    """Return the work and the width of an escape; no work for a back reference."""
    char = pattern[at + 1 : at + 2]
    if char in "pP" and char:
        end = pattern.find("}", at)
        return _PROPERTY, end + 1 - at if end > 0 and pattern.startswith("{", at + 2) else 3
    if char in "123456789k":
        return 0, 2
    return (_WIDE if char in "WDSs" else _CLASS), 2


def _class(pattern: str, at: int) -> tuple[int, int]:
    start, work, is_wide = at, _CLASS, pattern.startswith("[^", at)
    at += 2 if is_wide else 1
    depth = 1
    while depth and at < len(pattern):
        char, width = pattern[at], 1
        if char == "\\":
            part, width = _escape(pattern, at)
            is_wide = is_wide or part >= _WIDE
            work += part
        else:
            work += _CHAR if ord(char) <= 0x7F else 2 * _CHAR
            depth += (char == "[") - (char == "]")
        at += width
    return work + (_WIDE if is_wide else 0), at - start
