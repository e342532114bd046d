"""Cursors of the pages of an answer, which are slices of one ranked pool.

A cursor holds the build of the index, the query and the host shown last, and continues after that host wherever it
ranks by then. It survives ordinary commits of the index, but not a rebuild, which may change the whole order: then
StaleCursor tells the client to start again.
"""

import base64
import hashlib
from functools import lru_cache

import orjson

from registry.core.model.listing import Filters, Query, StaleCursor
from registry.core.ranking import ParsedQuery, Ranking


def digest_of(question: ParsedQuery, query: Query) -> str:
    """Return a digest of the question: its terms, in any case and spelling, its filters and its order."""
    text = f"({sorted(question.terms)!r}, {_filters_text(query.filters)}, {query.sort!r})"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=100)
def _filters_text(filters: Filters) -> str:
    return repr(filters)


def cursor_at(generation: str, digest: str, ranking: Ranking, position: int) -> str:
    """Return the cursor whose page begins at a place of the ranking."""
    last = ranking.features.candidates.hosts[ranking.order[position - 1]] if position else ""
    return base64.urlsafe_b64encode(orjson.dumps([_build(generation), digest, position, last])).decode().rstrip("=")


def place_after(cursor: str, generation: str, digest: str, ranking: Ranking, *, most: int) -> int:
    """Return the place after the host shown last; when that host is gone, the place stored in the cursor, at most
    `most`. Raise StaleCursor.

    Cursors are not signed: a forged one can only request another page of the same answer.
    """
    try:
        build, cursor_digest, offset, last = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError):
        raise StaleCursor("this cursor was not made by this registry") from None
    if build != _build(generation):
        raise StaleCursor("the index was rebuilt since this cursor was made")
    if cursor_digest != digest:
        raise StaleCursor("this cursor belongs to another query")
    if type(offset) is not int or not 0 <= offset <= most or not isinstance(last, str):
        raise StaleCursor("this cursor was not made by this registry")
    return next((position + 1 for position, host in enumerate(ranking.hosts) if host == last), offset)


def _build(generation: str) -> str:
    return generation.partition(".")[0]
