"""Mark the words of the query in texts, as a list of plain-text segments.

Positions would be ambiguous (bytes, UTF-16 units or code points), and with marks inside the text a site could forge
them.
"""

from collections.abc import Collection
from typing import Final

from registry.api.schemas.discovery import TextSegment
from registry.core.ranking.parsed_query import highlights
from registry.core.reading.plain_text import ELLIPSIS

FRAGMENT_CHARS: Final = 240
_CONTEXT_CHARS: Final = 60
_READ_CHARS: Final = 2_000


def highlight(text: str, stems: Collection[str]) -> list[TextSegment]:
    """Return the part of the text around its first matches, as segments in order; empty if nothing matches."""
    spans = highlights(text[:_READ_CHARS], stems)
    if not spans:
        return []
    start = _fragment_start(text, spans[0][0])
    end = (
        len(text)
        if len(text) - start <= FRAGMENT_CHARS
        else _fragment_end(text, max(start + FRAGMENT_CHARS, spans[0][1]))
    )
    segments: list[TextSegment] = []
    position = start
    for match_start, match_end in spans:
        if match_end > end:
            break
        segments += [
            {"text": text[position:match_start], "match": False},
            {"text": text[match_start:match_end], "match": True},
        ]
        position = match_end
    segments.append({"text": text[position:end], "match": False})
    if start > 0:
        segments.insert(0, {"text": ELLIPSIS, "match": False})
    if end < len(text):
        segments.append({"text": ELLIPSIS, "match": False})
    return [segment for segment in segments if segment["text"]]


def _fragment_start(text: str, match_start: int) -> int:
    """Return where the fragment begins: after a space, a few words before the match."""
    if match_start <= _CONTEXT_CHARS:
        return 0
    return text.find(" ", match_start - _CONTEXT_CHARS, match_start) + 1 or match_start


def _fragment_end(text: str, limit: int) -> int:
    """Return where the fragment ends: at the last space before `limit`."""
    space = text.rfind(" ", limit - _CONTEXT_CHARS, limit)
    return space if space > 0 else limit
