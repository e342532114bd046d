"""Answers an agent's question: ranks the engine's candidates and returns them as cards from the database.

A lagging index therefore cannot show a service that was changed, hidden or removed. Pages are slices of one ranked
pool. A cursor holds the index build, the query and the last host shown, and continues after that host at its current
rank. It survives commits of the index but not a rebuild, which may change the order: StaleCursor then tells the client
to start again.
"""

import base64
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, Final, NamedTuple

import orjson

from registry.actions.indexing import SearchIndex
from registry.actions.queries import entries
from registry.actions.queries.calls import RequestedCalls, make_reach
from registry.actions.queries.inspect import QueueState, queue_state
from registry.core.calling.reach import Reach
from registry.core.format_support.artifact_types import artifact_formats
from registry.core.model.listing import CapabilityMatch, Filters, Hit, Listing, Query, SearchUnavailable, StaleCursor
from registry.core.names.domains import registrable_domain
from registry.core.names.impersonation import asked_for
from registry.core.ranking import (
    Embedder,
    ParsedQuery,
    Ranking,
    answers,
    browse,
    collapse,
    evidence,
    explain,
    parse_query,
    rank,
    with_named,
)
from registry.core.ranking.features import extract_features
from registry.core.ranking.naming import addressed
from registry.core.ranking.spelling import Suggestions, corrected, corrections, suggest
from registry.core.search_filters import make_check
from registry.search.backend import Backend, Pool
from registry.store.cards import Card


def digest_of(question: ParsedQuery, query: Query) -> str:
    """Return a digest of the question: its terms regardless of case and spelling, its filters and its order."""
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
    """Return the place after the host shown last; if that host has gone, the place in the cursor, at most `most`. Raise
    StaleCursor. Cursors are not signed: a forged one can only request another page of the same answer."""
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


POOL: Final = 100
"""Candidates by words that are ranked, beside those by vectors. Twice as many change no figure of relevance, and cost
a fifth of the time (benchmarks/search-lab.md)."""

MAX_DEPTH: Final = 1_000  # how deep a client may page, and how many candidates are fetched when browsing
ALIKE: Final = 5  # maximum number of folded hosts listed with a hit
_CARDS_AT_ONCE: Final = 10
_UNKNOWN: Final[Mapping[str, Any]] = Reach(reason="detail_not_fetched").to_json()


class FoundCapability(NamedTuple):
    """A matched capability. `detail_url`: absolute URL of the host's own document. `cover`: share of the query that the
    capability covers, 0 to 1. `similarity`: its cosine with the query. `side_effects`: None if not declared.
    `confirmation`: services.Confirmation as JSON, without defaults. `reach`: calling.reach.Reach as JSON."""

    name: str
    description: str
    detail_url: str | None
    side_effects: bool | None
    matched_terms: tuple[str, ...]
    cover: float
    similarity: float
    confirmation: dict[str, Any] | None = None
    injection_flags: tuple[str, ...] = ()
    confident: bool = True
    reach: Mapping[str, Any] = _UNKNOWN


class SearchResult(NamedTuple):
    """One result. `hit` explains it. No capabilities if only the service's own text matched, or when browsing.

    `alike`: shown hosts without a row: hosts for which this one is canonical, copies, and services of the same owner
    with nearly the same text. `hit.alike_total` counts all of them in the index that pass the filters. `cursor()`
    begins a page with this result; DiscoverPage.next_cursor continues after the last one.
    """

    card: Card
    hit: Hit
    capabilities: tuple[FoundCapability, ...]
    alike: tuple[str, ...] = ()
    cursor: Callable[[], str] = str

    @property
    def alike_of_others(self) -> tuple[str, ...]:
        """Return the hosts of `alike` on other registrable domains than the service itself."""
        return tuple(host for host in self.alike if registrable_domain(host) != self.card.domain)

    @property
    def relevance(self) -> float:
        return self.hit.relevance

    @property
    def matched_terms(self) -> tuple[str, ...]:
        return self.hit.matched_terms


@dataclass(frozen=True, slots=True)
class Facets:
    """`counts`: facet -> value -> number of services. `services`: number of services counted, which is `total` without
    services hidden since the index was written."""

    services: int
    counts: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class DiscoverPage:
    """One page. `total`: services that answer, without those far below the first one; without a question, all in the
    index that pass the filters. Folded services do not count. Pages end where the answers end, or at MAX_DEPTH.

    `generation`: the state of the index that answered, with its last commit. `stems`: of the question's words.
    `corrected`: as in SearchAnswer. `suggestions`: given if the answer is not `confident`.
    """

    hits: tuple[SearchResult, ...]
    total: int
    next_cursor: str | None
    generation: str
    confident: bool = True
    corrected: Mapping[str, str] = field(default_factory=dict)
    stems: frozenset[str] = frozenset()
    facets: Facets | None = None
    suggestions: Suggestions | None = None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """A question, the engine's candidate pool for it, and the ranking of the pool. `corrected`: word as asked -> word
    searched instead, for misspelt words. `question` is the corrected one."""

    question: ParsedQuery
    pool: Pool
    ranking: Ranking
    corrected: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_confident(self) -> bool:
        return is_confident(self.ranking)


async def ranked(
    backend: Backend, query: Query, embedder: Embedder | None = None, question: ParsedQuery | None = None
) -> SearchAnswer:
    """Return the answer before cards are read, by relevance; blank text browses by score. `question`: the parsed text,
    if already parsed. Raise SearchUnavailable if there is no index to query."""
    has_text = bool(query.text.strip())
    question = question or parse_query(query.text, embedder)
    pool = await backend.candidates(question, query.filters, POOL if has_text else MAX_DEPTH)
    if not has_text:
        return SearchAnswer(question, pool, browse(pool.candidates, pool.stats))
    names = question.names
    is_addressed = addressed(pool.candidates.hosts, pool.candidates.named, names)
    replaced = {} if is_addressed else corrections(question, pool.stats, embedder)
    if replaced:
        again = parse_query(corrected(question, replaced), embedder)  # in lower case, so without proper names
        question = replace(again, names=names, proper=question.proper)
        pool = await backend.candidates(question, query.filters, POOL)
    ranking = with_named(answers(rank(question, pool.candidates, pool.stats)))
    return SearchAnswer(question, pool, collapse(ranking, across_owners=query.filters.unique), replaced)


def is_confident(ranking: Ranking) -> bool:
    """Return whether the top hit alone is confident."""
    return bool(ranking.order) and evidence(ranking.features, ranking.order[0]).is_confident


def _capabilities(card: Card, matches: Sequence[CapabilityMatch]) -> tuple[FoundCapability, ...]:
    """Return the matched capabilities that the service still has."""
    current = {capability.name: capability for capability in card.capabilities}
    return tuple(
        FoundCapability(
            match.name,
            card_capability.description or "",
            card_capability.detail_url,
            card_capability.side_effects,
            match.matched_terms,
            match.score,
            match.similarity,
            card_capability.confirmation,
            tuple(card_capability.injection_flags or ()),
            match.confident,
            card_capability.reach or _UNKNOWN,
        )
        for match in matches
        if (card_capability := current.get(match.name))
    )


def _keys(hosts: Collection[str]) -> list[tuple[str, str]]:
    return [(registrable_domain(host), host) for host in hosts]


@dataclass(frozen=True, slots=True)
class MatchedEntry:
    """An entry that answers a question. `found`: the search result of its service."""

    entry: entries.Entry
    found: SearchResult


@dataclass(frozen=True, slots=True)
class EntryPage:
    entries: tuple[MatchedEntry, ...]
    next_token: str | None


def _query(text: str, limit: int, filters: Filters, slugs: tuple[str, ...]) -> Query:
    """Return the query for services with an entry in one of the formats, or for all services if no format is given."""
    return Query(text, limit, 0, replace(filters, formats=slugs) if filters.formats else filters)


MAX_SIMILAR: Final = 5
SIMILAR_KEPT: Final = timedelta(minutes=10)
_SIMILAR_HOSTS: Final = 2_000


class SimilarHosts(NamedTuple):
    """Hosts whose services offer nearly the same, nearest first, with how near each is. They are searched again after
    `until`, or when the `description` of the service has changed."""

    description: str | None
    until: datetime
    hosts: tuple[tuple[str, float], ...]


def _subject(listing: Listing) -> str:
    """Return what a service offers, in its own words, without its name."""
    return listing.description or ", ".join(one.name for one in listing.capabilities[:10])


@dataclass(eq=False)
class SearchActions(SearchIndex):
    """Answers questions from the index. `span`: makes a span of a trace, if configured."""

    span: Callable[[str], AbstractContextManager[object]] = nullcontext
    _similar: dict[str, SimilarHosts] = field(default_factory=dict)

    async def discover(self, query: Query, cursor: str | None = None, *, facets: Sequence[str] = ()) -> DiscoverPage:
        """Return the services that answer the query best. A cursor replaces the offset. `facets`: facets to count.
        Raise SearchUnavailable if there is no index to query, StaleCursor, StoreUnavailable."""
        with self.span("discover"):
            return await self._discover(query, cursor, facets)

    async def _discover(self, query: Query, cursor: str | None, facets: Sequence[str]) -> DiscoverPage:
        question = await self._with_canonical_hosts(parse_query(query.text, self.embedder))
        answer = await ranked(self.backend, query, self.embedder, question)
        generation, digest = answer.pool.generation, digest_of(answer.question, query)
        ranking = await self._owners_first(await self._sorted(answer.ranking, query), answer, query.text)
        offset = query.offset if cursor is None else place_after(cursor, generation, digest, ranking, most=MAX_DEPTH)
        continued = partial(cursor_at, generation, digest, ranking)
        hits, end = await self._fill(ranking, offset, query, continued)
        has_more = query.limit > 0 and end < min(len(ranking), MAX_DEPTH)
        has_text = bool(query.text.strip())
        answers_query = is_confident(ranking) or not has_text
        counted = await self._store.cards.facets(_keys(ranking.hosts[:MAX_DEPTH]), facets) if facets else None
        return DiscoverPage(
            hits=tuple(hits),
            total=len(ranking) if has_text else answer.pool.matching,
            next_cursor=continued(end) if has_more else None,
            generation=generation,
            confident=answers_query,
            corrected=answer.corrected,
            stems=frozenset(answer.question.terms),
            facets=None if counted is None else Facets(*counted),
            suggestions=None if answers_query else await self._suggestions(answer, query),
        )

    async def asked_calls(self, page: DiscoverPage, each: int) -> RequestedCalls:
        """Return what is stored of the calls of the first capabilities of each row, `each` of them, that can be called.
        Raise StoreUnavailable."""
        ranked_names = [
            (place, result.card.host, one.name)
            for result in page.hits
            for place, one in enumerate(result.capabilities[:each])
            if one.reach["callable"] == "true"
        ]
        names = [(host, name) for _, host, name in sorted(ranked_names, key=itemgetter(0))]
        if not names:
            return RequestedCalls((), ())
        keys = _keys(dict.fromkeys(host for host, _ in names))
        return RequestedCalls(names, await self._store.cards.stored_calls(keys, {name for _, name in names}))

    async def similar(self, host: str) -> list[tuple[Card, float]] | None:
        """Return at most MAX_SIMILAR services that offer nearly the same, the nearest first, each with how near it is
        (0 to 1); None if no service is listed there. Services of the same registrable domain, copies, and services that
        use another owner's name are left out. Raise SearchUnavailable and StoreUnavailable."""
        card = (await self._store.cards.of(_keys([host]))).get(host)
        if card is None:
            return None
        now, known = self._clock(), self._similar.get(host)
        if known is None or known.description != card.description or now >= known.until:
            async with self._store.read() as uow:
                record = (await uow.services.of([registrable_domain(host)])).get(host)
            if record is None:
                return None
            known = SimilarHosts(card.description, now + SIMILAR_KEPT, await self._find_similar(record.listing))
            while len(self._similar) >= _SIMILAR_HOSTS:
                del self._similar[next(iter(self._similar))]
            self._similar[host] = known
        cards = await self._store.cards.of(_keys([one for one, _ in known.hosts]))
        found = [(cards[one], nearness) for one, nearness in known.hosts if one in cards]
        return [(card, nearness) for card, nearness in found if not card.trust.get("resembles")][:MAX_SIMILAR]

    async def _find_similar(self, listing: Listing) -> tuple[tuple[str, float], ...]:
        text = _subject(listing)
        if not text.strip():
            return ()
        # names and verbs say what is asked for, and a description asks for nothing
        question = replace(parse_query(text, self.embedder), names=(), objects=frozenset())
        with self.span("similar"):
            pool = await self.backend.candidates(question, Filters(), POOL)
        features = extract_features(question, pool.candidates, pool.stats)
        domain, near = registrable_domain(listing.host), []
        for index, other in enumerate(pool.candidates.hosts):
            found = evidence(features, index)
            if found.is_confident and registrable_domain(other) != domain:
                near.append((other, found.confidence))
        near.sort(key=lambda one: (-one[1], one[0]))
        return tuple(near[: 2 * MAX_SIMILAR])

    async def queue(self) -> QueueState:
        """Return the state of the frontier and of the index."""
        async with self._store.begin() as uow:
            return await queue_state(uow, self.backend.target, self._clock())

    async def search_entries(self, text: str, filters: Filters, *, limit: int, token: str | None = None) -> EntryPage:
        """Return the entries of the services that answer the text best, in the order of `discover`. `filters.formats`
        select both services and entries. Raise StaleCursor, SearchUnavailable, StoreUnavailable."""
        slugs = artifact_formats(filters.formats or entries.ARTIFACTS)
        if not slugs:
            return EntryPage((), None)
        cursor, shown = None, None
        if token:
            _, cursor, *place = entries.read_token(token, "s", 4)
            shown = (place[0], place[1])
        page = await self._discover(_query(text, limit, filters, slugs), cursor, ())
        parts = await self._store.cards.parts([(hit.card.domain, hit.card.host) for hit in page.hits])
        found, rest = entries.cut([hit.card for hit in page.hits], parts, slugs, shown, limit)
        hits = {hit.card.host: hit for hit in page.hits}
        matched = tuple(MatchedEntry(entry, hits[entry.card.host]) for entry in found)
        if rest is not None:
            host, shown_slug = rest[0].host, rest[1]
            return EntryPage(matched, entries.make_token("s", hits[host].cursor(), host, shown_slug))
        more = page.next_cursor
        return EntryPage(matched, entries.make_token("s", more, "", "") if more else None)

    async def entry_counts(self, text: str, filters: Filters, facets: Mapping[str, int]) -> entries.EntryCounts:
        """Return the numbers by facet and value of the entries that `search_entries` pages through. `facets`: name of a
        facet -> maximum number of values. Raise SearchUnavailable, StoreUnavailable."""
        slugs = artifact_formats(filters.formats or entries.ARTIFACTS)
        if not slugs:
            return entries.EntryCounts({facet: entries.CountedValues({}, 0) for facet in facets})
        answer = await ranked(self.backend, _query(text, 0, filters, slugs), self.embedder)
        keys = _keys(answer.ranking.hosts[:MAX_DEPTH])
        return await entries.EntryQueries(self._store).entry_counts(filters, facets, keys)

    async def _with_canonical_hosts(self, question: ParsedQuery) -> ParsedQuery:
        """Return the question with the canonical hosts of the hosts that it names, because only those are in the
        index."""
        hosts = [name for name in question.names if "." in name]
        canonical = await self._store.cards.canonical(_keys(hosts)) if hosts else ()
        return replace(question, names=(*question.names, *canonical)) if canonical else question

    async def _sorted(self, ranking: Ranking, query: Query) -> Ranking:
        """Sort as requested: confident hits first in the requested order, then the rest by relevance. Otherwise
        well-scored services that hardly match the question would come first."""
        if query.sort == "relevance":
            return ranking
        scores = ranking.features.candidates.scores
        sort_keys: Mapping[int, float] = {index: int(scores[index]) for index in ranking.order}
        if query.sort == "freshness":
            seen_at = await self._store.cards.seen(_keys(ranking.hosts))
            sort_keys = {
                index: seen_at[host].timestamp() if host in seen_at else 0.0
                for index, host in zip(ranking.order, ranking.hosts, strict=True)
            }
        has_text = bool(query.text.strip())
        matching = [index for index in ranking.order if not has_text or evidence(ranking.features, index).is_confident]
        others = [index for index in ranking.order if index not in set(matching)]
        return replace(ranking, order=(*sorted(matching, key=lambda index: -sort_keys[index]), *others))

    async def _owners_first(self, ranking: Ranking, answer: SearchAnswer, text: str) -> Ranking:
        """Move services that use another owner's well-known name behind the confident hits that do not. Only for
        questions that contain the name, as asked or as corrected: a stranger must not be the answer before the owner of
        the name."""
        asked = asked_for(" ".join((text, *answer.corrected.values())))
        names = {known.name for known in asked}
        users = await self._store.cards.resembling(_keys(ranking.hosts), names) if asked else ()
        if not users:
            return ranking

        def is_first(index: int, host: str) -> bool:
            is_owners = any(known.owns(registrable_domain(host)) for known in asked)
            return host not in users and (is_owners or evidence(ranking.features, index).is_confident)

        first = {index: None for index, host in zip(ranking.order, ranking.hosts, strict=True) if is_first(index, host)}
        behind = [index for index in ranking.order if index not in first]
        return replace(ranking, order=(*first, *behind))  # guard: owners-first

    async def _fill(
        self, ranking: Ranking, offset: int, query: Query, continued: Callable[[int], str]
    ) -> tuple[list[SearchResult], int]:
        """Return the page from `offset`, and the place after its last hit. `continued` returns the cursor of a
        place."""
        found: list[SearchResult] = []
        position = offset
        end = min(len(ranking), MAX_DEPTH)
        while len(found) < query.limit and position < end:
            until = min(end, position + max(_CARDS_AT_ONCE, query.limit - len(found)))
            results = await self._results_at(ranking, range(position, until), query.filters)
            for result in results:
                if len(found) == query.limit:
                    break
                position += 1
                if result is not None:
                    found.append(result._replace(cursor=partial(continued, position - 1)))
        return found, position

    async def _results_at(self, ranking: Ranking, positions: range, filters: Filters) -> list[SearchResult | None]:
        """Return the result at each place; None if it is no longer shown."""
        hosts = [ranking.features.candidates.hosts[ranking.order[position]] for position in positions]
        allowed = None
        if filters.narrows_capabilities:
            async with self._store.read() as uow:
                allowed = await uow.catalogue.capabilities(_keys(hosts), filters)
        hits = [
            explain(ranking, position, allowed=None if allowed is None else allowed.get(host, ()))
            for position, host in zip(positions, hosts, strict=True)
        ]
        cards = await self._store.cards.of(_keys(hosts), {match.name for hit in hits for match in hit.capabilities})
        await self._add_reach(cards.values())
        if owned := [host for host, card in cards.items() if card.owned_since is not None]:
            stands_for = await self._store.cards.stands_for(_keys(owned))
            others = {hit.host: stands_for.get(hit.host, ()) for hit in hits}
            hits = [
                hit._replace(alike=(*others[hit.host], *hit.alike), alike_total=hit.alike_total + len(others[hit.host]))
                for hit in hits
            ]
        folded = [host for hit in hits for host in hit.alike[:ALIKE]]
        visible = await self._store.cards.seen(_keys(folded)) if folded else {}
        passes = make_check(filters)  # the index may lag behind
        results: list[SearchResult | None] = []
        for hit in hits:
            card = cards.get(hit.host)
            if card is None or not passes(card) or (allowed is not None and hit.host not in allowed):
                results.append(None)
                continue
            alike = tuple(host for host in hit.alike[:ALIKE] if host in visible)
            results.append(SearchResult(card, hit, _capabilities(card, hit.capabilities), alike))
        return results

    async def _add_reach(self, cards: Collection[Card]) -> None:
        """Add the reach of capabilities that an earlier program recorded; upkeep stores it soon."""
        older = {card.host: card for card in cards if any(one.reach is None for one in card.capabilities)}
        if not older:
            return
        names = {one.name for card in older.values() for one in card.capabilities}
        found = make_reach(await self._store.cards.stored_calls(_keys(older), names))
        for host, card in older.items():
            card.capabilities = tuple(
                one._replace(reach=found[host, one.name].to_json())
                if one.reach is None and (host, one.name) in found
                else one
                for one in card.capabilities
            )

    async def _suggestions(self, answer: SearchAnswer, query: Query) -> Suggestions:
        """Return suggestions, with at most one more query of the engine, which tests whether the filters exclude
        answers. If that query fails, the answer does not."""
        filters = query.filters
        unfiltered = Filters(include_unverified=filters.include_unverified, unique=filters.unique)
        without_filters = False
        if filters != unfiltered:
            with suppress(SearchUnavailable):
                other = await ranked(self.backend, replace(query, filters=unfiltered), self.embedder)
                without_filters = other.is_confident
        return suggest(answer.question, answer.pool.stats, without_filters=without_filters)
