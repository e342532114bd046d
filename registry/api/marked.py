"""Texts with the question's words in them, as segments: nothing in a segment is ever markup.

Positions would be ambiguous (bytes, UTF-16 units, code points) and marks in the text could be forged by it.
"""

from collections.abc import Collection
from typing import Any, Final

from registry.core.highlights import highlights
from registry.core.plain_text import ELLIPSIS

FRAGMENT_CHARS: Final = 240
_BEFORE: Final = 60
_READ_CHARS: Final = 2_000


def marked(text: str, stems: Collection[str]) -> list[dict[str, Any]]:
    """`[{"text", "match"}]`: the place of the text where the first words are, in order; empty where there are none."""
    spans = highlights(text[:_READ_CHARS], stems)
    if not spans:
        return []
    start = _start(text, spans[0][0])
    end = len(text) if len(text) - start <= FRAGMENT_CHARS else _end(text, max(start + FRAGMENT_CHARS, spans[0][1]))
    segments, at = [], start
    for first, last in spans:
        if last > end:
            break
        segments += [_segment(text[at:first], is_match=False), _segment(text[first:last], is_match=True)]
        at = last
    segments.append(_segment(text[at:end], is_match=False))
    if start > 0:
        segments.insert(0, _segment(ELLIPSIS, is_match=False))
    if end < len(text):
        segments.append(_segment(ELLIPSIS, is_match=False))
    return [one for one in segments if one["text"]]


def _segment(text: str, *, is_match: bool) -> dict[str, Any]:
    return {"text": text, "match": is_match}


def _start(text: str, match: int) -> int:
    """Behind a blank, some words before the match."""
    if match <= _BEFORE:
        return 0
    return text.find(" ", match - _BEFORE, match) + 1 or match


def _end(text: str, most: int) -> int:
    """Before a blank."""
    blank = text.rfind(" ", most - _BEFORE, most)
    return blank if blank > 0 else most
