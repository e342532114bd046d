"""Answer an agent's sentence: the engine's candidates, ranked, as cards read from the database.

Cards come from the database and not from the index, so that an index that lags behind cannot show what was changed,
hidden or removed; a hit that is gone makes room for the next one.

Pages are slices of one ranked pool. A cursor names the build of the index, the query and a position; it outlives the
index's ordinary commits, after which a page may repeat or miss a service that just changed, but not a rebuild, after
which the order may be another one altogether: then StaleCursor asks to start again.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from registry.core.domains import registrable_domain
from registry.core.listing import CapabilityMatch, Filters, Hit, Query, StaleCursor, TrustLevel
from registry.core.ranking import Embedder, Ranking, ask, browse, explain, fold, rank
from registry.core.text import query_terms
from registry.search.backend import Backend
from registry.store.catalogue import Card
from registry.store.unit_of_work import Store

POOL: Final = 200
"""Candidates that are ranked. On 3,095 services, ranking all that match gives the same ten to the decimal."""

REACH: Final = 1_000
"""How deep a client may page, and how many services are proposed when browsing."""

_CARDS_AT_ONCE: Final = 10


@dataclass(frozen=True, slots=True)
class FoundCapability:
    """`detail_url` is the host's own document, absolute; `cover` the share of the query that it holds, 0 to 1, and
    `similarity` the cosine with it."""

    name: str
    description: str
    detail_url: str | None
    matched_terms: tuple[str, ...]
    cover: float
    similarity: float


@dataclass(frozen=True, slots=True)
class Found:
    """`hit` says why. No capabilities where only the service's own text matched, and when browsing."""

    card: Card
    hit: Hit
    capabilities: tuple[FoundCapability, ...]

    @property
    def relevance(self) -> float:
        return self.hit.relevance

    @property
    def matched_terms(self) -> tuple[str, ...]:
        return self.hit.matched_terms


@dataclass(frozen=True, slots=True)
class DiscoverPage:
    """`total` counts all matches in the index; pages end where the ranked pool ends, or at REACH.

    `generation` names the state of the index that answered, its last commit included.
    """

    hits: tuple[Found, ...]
    total: int
    next_cursor: str | None
    generation: str


async def discover(
    store: Store, backend: Backend, query: Query, cursor: str | None = None, *, embedder: Embedder | None = None
) -> DiscoverPage:
    """The services that answer the query best; blank text browses by grade. A cursor takes the place of the offset.

    Raises SearchUnavailable when there is no index to ask, StaleCursor, StoreUnavailable.
    """
    asked = bool(query.text.strip())
    question = ask(query.text, embedder)
    pool = await backend.candidates(question, query.filters, POOL if asked else REACH)
    digest = _digest(query)
    offset = query.offset if cursor is None else _offset(cursor, pool.generation, digest)
    ranking = fold(rank(question, pool.candidates, pool.stats)) if asked else browse(pool.candidates, pool.stats)
    hits, end = await _fill(store, ranking, offset, query)
    more = end < min(len(ranking), REACH)
    return DiscoverPage(
        hits=tuple(hits),
        total=pool.matching,
        next_cursor=_cursor(pool.generation, digest, end) if more else None,
        generation=pool.generation,
    )


async def _fill(store: Store, ranking: Ranking, offset: int, query: Query) -> tuple[list[Found], int]:
    """The page from `offset`, and the place behind its last hit."""
    found: list[Found] = []
    place = offset
    end = min(len(ranking), REACH)
    while len(found) < query.limit and place < end:
        hits = [
            explain(ranking, n) for n in range(place, min(end, place + max(_CARDS_AT_ONCE, query.limit - len(found))))
        ]
        keys = [(registrable_domain(hit.host), hit.host) for hit in hits]
        async with store.begin() as uow:
            cards = await uow.catalogue.cards(keys, {match.name for hit in hits for match in hit.capabilities})
        for hit in hits:
            if len(found) == query.limit:
                break
            place += 1
            card = cards.get(hit.host)
            if card is not None and _is_shown(card, query.filters):
                found.append(Found(card, hit, _capabilities(card, hit.capabilities)))
    return found, place


def _is_shown(card: Card, filters: Filters) -> bool:
    return filters.include_unverified or card.trust_level is not TrustLevel.UNVERIFIED


def _capabilities(card: Card, matches: Sequence[CapabilityMatch]) -> tuple[FoundCapability, ...]:
    """What the service still has of them."""
    current = {capability.name: capability for capability in card.capabilities}
    return tuple(
        FoundCapability(
            match.name, one.description or "", one.detail_url, match.matched_terms, match.score, match.similarity
        )
        for match in matches
        if (one := current.get(match.name))
    )


def _digest(query: Query) -> str:
    """Names the question: its terms, in any case and spelling, and its filters."""
    asked = repr((sorted(query_terms(query.text)), query.filters))
    return hashlib.sha256(asked.encode()).hexdigest()[:16]


def _cursor(generation: str, digest: str, offset: int) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([_build(generation), digest, offset])).decode().rstrip("=")


def _offset(cursor: str, generation: str, digest: str) -> int:
    """Not signed: whoever makes one up can only ask for another page of the same answer."""
    try:
        build, asked, offset = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError):
        raise StaleCursor("this cursor was not made by this registry") from None
    if build != _build(generation):
        raise StaleCursor("the index was rebuilt since this cursor was made")
    if asked != digest:
        raise StaleCursor("this cursor belongs to another query")
    if type(offset) is not int or not 0 <= offset <= REACH:
        raise StaleCursor("this cursor was not made by this registry")
    return offset


def _build(generation: str) -> str:
    return generation.partition(".")[0]
