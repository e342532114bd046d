"""Read what another registry answers, entry by entry. A parsed tree may take 30 times the memory of its bytes, so an
answer is cut into the bytes of its entries first, and each of them is bounded before it is parsed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from registry.core.model.documents import Json
from registry.core.reading import rules
from registry.core.reading.reader import Unreadable, check_caps, parse_strict

RECORD_VALUES: Final = 250_000  # most members and items in one record of a service

ENTRY_BYTES: Final = 1024 * 1024
ENTRY_VALUES: Final = 20_000
"""Most bytes, and most members and items, of one entry of a list: a server, an event, a row."""

ENVELOPE_BYTES: Final = 256 * 1024  # most bytes of an answer around its list

MAX_LEVELS: Final = 200  # levels of nesting that the parser reads; a deeper answer is not cut to its end

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{},]', re.DOTALL)
"""A whole string, or one character. An unclosed quote matches alone, so that no byte is read twice."""

_QUOTE, _LIST, _COMMA = b'"[,'
_OPENS, _CLOSES = b"[{", b"]}"


@dataclass(frozen=True, slots=True)
class ForeignList:
    """An answer whose list was cut out. `envelope`: the answer with an empty list; iterating yields bytes of entries.
    `is_list`: whether there is such a list at all."""

    envelope: Json
    is_list: bool
    _raw: bytes
    _spans: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self._spans)

    def __iter__(self) -> Iterator[bytes]:
        return (self._raw[start:end] for start, end in self._spans)


def count_values(raw: bytes | bytearray) -> int:
    """Return at least the number of members and items in some JSON, without parsing it; marks in texts count too."""
    return raw.count(b",") + raw.count(b"{") + raw.count(b"[")


def parse_bounded(raw: bytes, *, max_bytes: int, max_values: int) -> Json:
    """Return JSON, whose size and number of values are checked before it is parsed. Raise Unreadable."""
    if len(raw) > max_bytes:  # guard: foreign-bytes
        raise Unreadable(rules.TOO_LARGE, f"{len(raw)} bytes")
    if count_values(raw) > max_values:  # guard: foreign-values
        raise Unreadable(rules.TOO_MANY, f"more than {max_values} members and items")
    try:
        return parse_strict(raw)
    except ValueError as error:
        is_repeated = "duplicate key" in str(error)
        raise Unreadable(rules.DUPLICATE_KEY if is_repeated else rules.NOT_JSON, str(error)) from None


def read_entry(raw: bytes) -> Json:
    """Return one entry of a list within the caps of an entry and of documents. Raise Unreadable."""
    value = parse_bounded(raw, max_bytes=ENTRY_BYTES, max_values=ENTRY_VALUES)
    check_caps(value)
    return value


def cut_list(raw: bytes, member: str | None, *, max_entries: int) -> ForeignList:
    """Cut the list of a member of the answer, or the answer that is a list itself, into the bytes of its entries. The
    entries are not parsed and may be anything. Raise Unreadable: too many entries, or the rest is too large or no
    JSON."""
    name = None if member is None else b'"%s"' % member.encode()
    inside = 1 if member is None else 2
    depth, key, begin, start, end = 0, b"", -1, -1, -1
    spans: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(raw):
        first = raw[token.start()]
        if first == _QUOTE:
            if token.end() - token.start() == 1:
                raise Unreadable(rules.TRUNCATED, "a string has no end")
            if depth == 1:
                key = raw[token.start() : min(token.end(), token.start() + 100)]
        elif first in _OPENS:
            depth += 1
            if depth > MAX_LEVELS:
                raise Unreadable(rules.TOO_DEEP, f"more than {MAX_LEVELS} levels")
            if begin < 0 and depth == inside and first == _LIST and key == (name or b""):
                begin = start = token.end()
        elif begin >= 0 and depth == inside:  # a comma, or the end of the list
            end = token.start()
            if first == _COMMA or spans or raw[start:end].strip():
                if len(spans) == max_entries:  # guard: foreign-entries
                    raise Unreadable(rules.TOO_MANY, f"more than {max_entries} entries")
                spans.append((start, end))
            start = token.end()
            if first != _COMMA:
                break
        elif first in _CLOSES:
            depth -= 1
    is_list = begin >= 0 and end >= 0
    rest = raw[:begin] + raw[end:] if is_list else raw
    envelope = parse_bounded(rest, max_bytes=ENVELOPE_BYTES, max_values=ENTRY_VALUES)
    check_caps(envelope)
    return ForeignList(envelope, is_list, raw, tuple(spans))


def reason_of(refusal: Unreadable) -> str:
    """Return the code under which a refused entry is stored or counted, for example `too_many`."""
    return refusal.rule.code.partition(".")[2]
