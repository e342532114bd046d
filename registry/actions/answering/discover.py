"""Answer an agent's sentence: the engine's candidates, ranked, as cards read from the database.

Cards come from the database and not from the index, so that an index that lags behind cannot show what was changed,
hidden or removed; a hit that is gone makes room for the next one.

Pages are slices of one ranked pool. A cursor names the build of the index, the query and the host that was shown last,
and goes on behind it wherever it stands by then; it outlives the index's ordinary commits, but not a rebuild, after
which the order may be another one altogether: then StaleCursor asks to start again.
"""

import base64
import hashlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

import orjson

from registry.core.domains import registrable_domain
from registry.core.listing import CapabilityMatch, Filters, Hit, Query, SearchUnavailable, StaleCursor, TrustLevel
from registry.core.ranking import Embedder, Question, Ranking, ask, browse, confidence, confident, explain, fold, rank
from registry.core.ranking.evidence import Evidence
from registry.core.suggest import Suggestions, suggest
from registry.search.backend import Backend, Pool
from registry.store.cards import Card
from registry.store.unit_of_work import Store

POOL: Final = 200
"""Candidates that are ranked. On 3,095 services, ranking all that match gives the same ten to the decimal."""

REACH: Final = 1_000
"""How deep a client may page, and how many services are proposed when browsing."""

ALIKE: Final = 5
"""Near-duplicates that are named beside a hit."""

_CARDS_AT_ONCE: Final = 10
_TOP: Final = 10
"""An answer is confident when one of so many is."""


class FoundCapability(NamedTuple):
    """`detail_url` is the host's own document, absolute; `cover` the share of the query that it holds, 0 to 1, and
    `similarity` the cosine with it. `side_effects` None: nothing is said of them."""

    name: str
    description: str
    detail_url: str | None
    side_effects: bool | None
    matched_terms: tuple[str, ...]
    cover: float
    similarity: float


class Found(NamedTuple):
    """`hit` says why. No capabilities where only the service's own text matched, and when browsing.

    `alike` are other hosts of the same owner that say nearly the same, of those that are shown.
    """

    card: Card
    hit: Hit
    capabilities: tuple[FoundCapability, ...]
    alike: tuple[str, ...] = ()

    @property
    def relevance(self) -> float:
        return self.hit.relevance

    @property
    def matched_terms(self) -> tuple[str, ...]:
        return self.hit.matched_terms


@dataclass(frozen=True, slots=True)
class Facets:
    """`counts`: facet -> value -> services, over the `services` that were ranked and are shown, not over all there
    are."""

    services: int
    counts: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class DiscoverPage:
    """`total` counts all matches in the index; pages end where the ranked pool ends, or at REACH.

    `generation` names the state of the index that answered, its last commit included. `stems` are those of the
    question's words. `suggestions` where the answer is not `confident`.
    """

    hits: tuple[Found, ...]
    total: int
    next_cursor: str | None
    generation: str
    confident: bool = True
    stems: frozenset[str] = frozenset()
    facets: Facets | None = None
    suggestions: Suggestions | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, the engine's pool for it, and the order of that."""

    question: Question
    pool: Pool
    ranking: Ranking

    @property
    def is_confident(self) -> bool:
        return any(_is_confident(self.ranking.evidence, place) for place in self.ranking.order[:_TOP])


async def ranked(backend: Backend, query: Query, embedder: Embedder | None = None) -> Answer:
    """Everything but what the database knows, in the order of relevance; blank text browses by grade.

    Raises SearchUnavailable when there is no index to ask.
    """
    asked = bool(query.text.strip())
    question = ask(query.text, embedder)
    pool = await backend.candidates(question, query.filters, POOL if asked else REACH)
    if not asked:
        return Answer(question, pool, browse(pool.candidates, pool.stats))
    return Answer(question, pool, fold(rank(question, pool.candidates, pool.stats)))


async def discover(
    store: Store,
    backend: Backend,
    query: Query,
    cursor: str | None = None,
    *,
    embedder: Embedder | None = None,
    facets: Sequence[str] = (),
) -> DiscoverPage:
    """The services that answer the query best. A cursor takes the place of the offset. `facets`: whose values to count.

    Raises SearchUnavailable when there is no index to ask, StaleCursor, StoreUnavailable.
    """
    answer = await ranked(backend, query, embedder)
    generation, digest = answer.pool.generation, _digest(answer.question, query)
    ranking = await _sorted(store, answer.ranking, query)
    offset = query.offset if cursor is None else _offset(cursor, generation, digest, ranking)
    hits, end = await _fill(store, ranking, offset, query)
    more = end < min(len(ranking), REACH)
    is_confident = answer.is_confident or not query.text.strip()
    return DiscoverPage(
        hits=tuple(hits),
        total=answer.pool.matching,
        next_cursor=_cursor(generation, digest, end, _host(ranking, end - 1) if end else "") if more else None,
        generation=generation,
        confident=is_confident,
        stems=frozenset(answer.question.terms),
        facets=await _counted(store, ranking, facets, query.filters) if facets else None,
        suggestions=None if is_confident else await _suggestions(backend, answer, query, embedder),
    )


async def _sorted(store: Store, ranking: Ranking, query: Query) -> Ranking:
    """In the order that was asked for: what answers with confidence first, the rest by relevance behind it.

    Without the second part the best graded of services that have little to do with the question would come first.
    """
    if query.sort == "relevance":
        return ranking
    marks: Mapping[int, float] = {place: int(ranking.evidence.candidates.scores[place]) for place in ranking.order}
    if query.sort == "freshness":
        seen = await store.cards.seen(_keys(ranking.hosts))
        marks = {
            place: seen[host].timestamp() if host in seen else 0.0
            for place, host in zip(ranking.order, ranking.hosts, strict=True)
        }
    is_asked = bool(query.text.strip())
    chosen = [at for at in ranking.order if not is_asked or _is_confident(ranking.evidence, at)]
    rest = [at for at in ranking.order if at not in set(chosen)]
    return replace(ranking, order=(*sorted(chosen, key=lambda at: -marks[at]), *rest))


async def _fill(store: Store, ranking: Ranking, offset: int, query: Query) -> tuple[list[Found], int]:
    """The page from `offset`, and the place behind its last hit."""
    found: list[Found] = []
    place = offset
    end = min(len(ranking), REACH)
    while len(found) < query.limit and place < end:
        until = min(end, place + max(_CARDS_AT_ONCE, query.limit - len(found)))
        shown = await _shown(store, ranking, range(place, until), query.filters)
        for one in shown:
            if len(found) == query.limit:
                break
            place += 1
            if one is not None:
                found.append(one)
    return found, place


async def _shown(store: Store, ranking: Ranking, places: range, filters: Filters) -> list[Found | None]:
    """What stands at each of the places; None where it is shown no more."""
    hosts = [_host(ranking, place) for place in places]
    allowed = await _allowed(store, hosts, filters) if filters.narrows_capabilities else None
    hits = [
        explain(ranking, place, allowed=None if allowed is None else allowed.get(host, ()))
        for place, host in zip(places, hosts, strict=True)
    ]
    cards = await store.cards.of(_keys(hosts), {match.name for hit in hits for match in hit.capabilities})
    twins = [host for hit in hits for host in hit.alike[:ALIKE]]
    visible = await store.cards.seen(_keys(twins)) if twins else {}
    levels = filters.shown_levels
    return [
        Found(
            card,
            hit,
            _capabilities(card, hit.capabilities),
            tuple(host for host in hit.alike[:ALIKE] if host in visible),
        )
        if (card := cards.get(hit.host)) and _passes(card, filters, levels) and (allowed is None or hit.host in allowed)
        else None
        for hit in hits
    ]


async def _allowed(store: Store, hosts: Collection[str], filters: Filters) -> dict[str, frozenset[str]]:
    async with store.read() as uow:
        return await uow.catalogue.capabilities(_keys(hosts), filters)


def _passes(card: Card, filters: Filters, levels: Collection[TrustLevel]) -> bool:
    """The index may lag behind: what a row shows must be what was asked for. `levels`: none = all."""
    return (
        (not levels or card.trust_level in levels)
        and (not filters.formats or not set(filters.formats).isdisjoint(card.formats))
        and (not filters.protocols or not set(filters.protocols).isdisjoint(card.protocols))
        and (not filters.auth_types or card.auth_type in filters.auth_types)
        and (not filters.pricing_types or card.pricing_type in filters.pricing_types)
        and (filters.min_score is None or card.score >= filters.min_score)
        and (filters.max_score is None or card.score <= filters.max_score)
    )


def _capabilities(card: Card, matches: Sequence[CapabilityMatch]) -> tuple[FoundCapability, ...]:
    """What the service still has of them."""
    current = {capability.name: capability for capability in card.capabilities}
    return tuple(
        FoundCapability(
            match.name,
            one.description or "",
            one.detail_url,
            one.side_effects,
            match.matched_terms,
            match.score,
            match.similarity,
        )
        for match in matches
        if (one := current.get(match.name))
    )


async def _counted(store: Store, ranking: Ranking, facets: Sequence[str], filters: Filters) -> Facets:
    async with store.read() as uow:
        return Facets(*await uow.catalogue.facet_counts(_keys(ranking.hosts[:REACH]), facets, filters))


async def _suggestions(backend: Backend, answer: Answer, query: Query, embedder: Embedder | None) -> Suggestions:
    """Small and bounded: one more question to the engine, where filters may be what keeps an answer away.

    An engine that has no answer for that one is no reason to take back the answer that there is.
    """
    plain, helps = Filters(include_unverified=query.filters.include_unverified), False
    if query.filters != plain:
        with suppress(SearchUnavailable):
            helps = (await ranked(backend, replace(query, filters=plain), embedder)).is_confident
    return suggest(answer.question, answer.pool.stats, without_filters=helps)


def _is_confident(evidence: Evidence, place: int) -> bool:
    return confident(
        confidence.cover(evidence, place),
        confidence.similarity(evidence, place),
        has_vectors=evidence.question.whole is not None,
    )


def _host(ranking: Ranking, place: int) -> str:
    return ranking.evidence.candidates.hosts[ranking.order[place]]


def _keys(hosts: Collection[str]) -> list[tuple[str, str]]:
    return [(registrable_domain(host), host) for host in hosts]


def _digest(question: Question, query: Query) -> str:
    """Names the question: its terms, in any case and spelling, its filters and its order."""
    asked = f"({sorted(question.terms)!r}, {_spelt(query.filters)}, {query.sort!r})"
    return hashlib.sha256(asked.encode()).hexdigest()[:16]


@lru_cache(maxsize=100)
def _spelt(filters: Filters) -> str:
    return repr(filters)


def _cursor(generation: str, digest: str, offset: int, last: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([_build(generation), digest, offset, last])).decode().rstrip("=")


def _offset(cursor: str, generation: str, digest: str, ranking: Ranking) -> int:
    """The place behind the host that was shown last; where it is gone, the place that was next then.

    Not signed: whoever makes one up can only ask for another page of the same answer.
    """
    try:
        build, asked, offset, last = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError):
        raise StaleCursor("this cursor was not made by this registry") from None
    if build != _build(generation):
        raise StaleCursor("the index was rebuilt since this cursor was made")
    if asked != digest:
        raise StaleCursor("this cursor belongs to another query")
    if type(offset) is not int or not 0 <= offset <= REACH or not isinstance(last, str):
        raise StaleCursor("this cursor was not made by this registry")
    return next((place + 1 for place, host in enumerate(ranking.hosts) if host == last), offset)


def _build(generation: str) -> str:
    return generation.partition(".")[0]
