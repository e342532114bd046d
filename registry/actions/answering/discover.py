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
from registry.core.listing import CapabilityMatch, Filters, Hit, Query, SearchUnavailable, StaleCursor, TrustLevel
from registry.core.ranking import Candidate, CorpusStats, explain, rank
from registry.core.text import query_terms
from registry.search.backend import Backend, Pool
from registry.store.catalogue import Card
from registry.store.unit_of_work import Store

POOL: Final = 200
"""Candidates that are ranked. On 3,095 services, ranking all that match gives the same ten to the decimal."""

REACH: Final = 1_000
"""How deep a client may page, and how many services are proposed when browsing."""

_CARDS_AT_ONCE: Final = 10


@dataclass(frozen=True, slots=True)
class FoundCapability:
    """`detail_url` is the host's own document, absolute; `cover` the share of the query that it holds, 0 to 1."""

    name: str
    description: str
    detail_url: str | None
    matched_terms: tuple[str, ...]
    cover: float


@dataclass(frozen=True, slots=True)
class Found:
    """No capabilities where only the service's own text matched, and when browsing."""

    card: Card
    relevance: float
    matched_terms: tuple[str, ...]
    capabilities: tuple[FoundCapability, ...]


@dataclass(frozen=True, slots=True)
class DiscoverPage:
    """`total` counts all matches in the index; pages end where the ranked pool ends, or at REACH.

    `generation` names the state of the index that answered, its last commit included.
    """

    hits: tuple[Found, ...]
    total: int
    next_cursor: str | None
    generation: str


@dataclass(frozen=True, slots=True)
class _Ranking:
    """The whole ranked pool; a hit is explained when it is shown."""

    text: str
    order: Sequence[tuple[float, Candidate]]
    stats: CorpusStats

    def hit(self, place: int) -> Hit:
        relevance, candidate = self.order[place]
        return explain(self.text, relevance, candidate, self.stats)


async def discover(store: Store, backend: Backend, query: Query, cursor: str | None = None) -> DiscoverPage:
    """The services that answer the query best; blank text browses by grade. A cursor takes the place of the offset.

    Raises SearchUnavailable when there is no index to ask, StaleCursor, StoreUnavailable.
    """
    pool = await _pool(backend, query)
    digest = _digest(query)
    offset = query.offset if cursor is None else _offset(cursor, pool.generation, digest)
    ranking = _rank(query.text, pool)
    hits, end = await _fill(store, ranking, offset, query)
    more = end < min(len(ranking.order), REACH)
    return DiscoverPage(
        hits=tuple(hits),
        total=pool.matching,
        next_cursor=_cursor(pool.generation, digest, end) if more else None,
        generation=pool.generation,
    )


async def _pool(backend: Backend, query: Query) -> Pool:
    terms = list(query_terms(query.text))
    if terms or not query.text.strip():
        return await backend.candidates(terms, query.filters, POOL if terms else REACH)
    health = await backend.health()  # a text without a single word matches nothing, but is no reason to browse
    if health.generation is None:
        raise SearchUnavailable("there is no index that could be asked")
    return Pool(health.generation, CorpusStats(health.services, {}, 0.0), (), 0)


def _rank(text: str, pool: Pool) -> _Ranking:
    if text.strip():
        return _Ranking(text, rank(text, pool.candidates, pool.stats), pool.stats)
    by_grade = sorted(pool.candidates, key=lambda one: (-one.score, one.host))
    return _Ranking(text, [(0.0, candidate) for candidate in by_grade], pool.stats)


async def _fill(store: Store, ranking: _Ranking, offset: int, query: Query) -> tuple[list[Found], int]:
    """The page from `offset`, and the place behind its last hit."""
    found: list[Found] = []
    place = offset
    end = min(len(ranking.order), REACH)
    while len(found) < query.limit and place < end:
        hits = [ranking.hit(n) for n in range(place, min(end, place + max(_CARDS_AT_ONCE, query.limit - len(found))))]
        keys = [(registrable_domain(hit.host), hit.host) for hit in hits]
        async with store.begin() as uow:
            cards = await uow.catalogue.cards(keys, {match.name for hit in hits for match in hit.capabilities})
        for hit in hits:
            if len(found) == query.limit:
                break
            place += 1
            card = cards.get(hit.host)
            if card is not None and _is_shown(card, query.filters):
                found.append(Found(card, hit.relevance, hit.matched_terms, _capabilities(card, hit.capabilities)))
    return found, place


def _is_shown(card: Card, filters: Filters) -> bool:
    return filters.include_unverified or card.trust_level is not TrustLevel.UNVERIFIED


def _capabilities(card: Card, matches: Sequence[CapabilityMatch]) -> tuple[FoundCapability, ...]:
    """What the service still has of them."""
    current = {capability.name: capability for capability in card.capabilities}
    return tuple(
        FoundCapability(match.name, one.description or "", one.detail_url, match.matched_terms, match.score)
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
