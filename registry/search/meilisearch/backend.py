"""The Meilisearch engine: implements `registry.search.backend.Backend`.

Searching needs only the search key and goes through `query_client`. Writing and building need the other two keys and go
through the official client, in threads.
"""

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Final, TypeVar
from urllib.parse import urlsplit

import structlog

from registry.core.model.listing import Filters, SearchUnavailable
from registry.core.ranking import CorpusStats, ParsedQuery
from registry.search.backend import Build, IndexHealth, IndexState, Pool, SearchDocument, ThreadedBuild, WriterBusy
from registry.search.column_store import OutdatedIndex, read_stats
from registry.search.meilisearch import hits, layout, queries
from registry.search.meilisearch.admin import Admin, Keys, QueryResult
from registry.search.meilisearch.index_build import IndexBuild
from registry.search.meilisearch.index_writer import IndexWriter
from registry.search.meilisearch.query_client import EmbedderMissing, IndexMissing, QueryClient, deadline

log = structlog.get_logger(__name__)

OLDEST: Final = (1, 50)
TESTED: Final = (1, 53)
"""Releases of the engine, (major, minor): an older one is refused, a newer one is logged. docs/search.md lists which
were run, and up to which the calls are tested against the engine's published API description."""

_ATTEMPTS: Final = 3  # a search that a commit or a swap overtakes is repeated with the new statistics
_AT_ONCE: Final = 300
"""Up to this many candidates are decoded on the event loop: it takes a millisecond, and a thread would add a third."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Known:
    """The statistics document as this process last read it."""

    generation: str
    model: str
    stats: CorpusStats
    copied: Mapping[int, int]


class MeiliBackend:
    """`model` and `dims` describe the registry's embedder; empty for words only. Used on one event loop."""

    def __init__(self, url: str, keys: Keys, index: str, *, model: str = "", dims: int = 0) -> None:
        self._url = url.rstrip("/")
        self._index = index
        self._model = model
        self._dims = dims
        self._query_client = QueryClient(self._url, keys.search)
        self._admin = Admin(self._url, keys)
        self._writing = threading.Lock()
        self._feeder: IndexWriter | None = None
        self._is_building = False
        self._version_checked = False
        self._known: _Known | None = None
        self._refresh_lock = asyncio.Lock()

    @property
    def target(self) -> str:
        """Return `meilisearch:<host>/<index>`: all processes of a registry must use the same host name for the
        engine."""
        return f"meilisearch:{urlsplit(self._url).netloc.rpartition('@')[2]}/{self._index}"

    def claim(self) -> bool:
        """Return True: a lock in the database selects the writer, batch by batch."""
        return True

    async def candidates(self, question: ParsedQuery, filters: Filters, limit: int) -> Pool:
        until = deadline()
        known = self._known or await self._refresh_statistics(None, until)
        results: list[list[QueryResult]] = []
        asked: list[list[layout.Json]] = []
        for _ in range(_ATTEMPTS):
            parts = [
                [queries.generation_query(self._index)],
                self._engine_queries(question, filters, limit, known),
                [],
                queries.named_queries(self._index, question, filters, known.stats),
            ]
            if filters.unique and known.copied:  # guard: copies-do-not-fill-meilisearch
                redundant = sum(known.copied.values()) - len(known.copied)  # services that repeat another one
                words = queries.seemingly_common(question, known.stats, redundant)
                counting = [queries.counting_query(self._index, word, filters) for word in words]
                parts[1:3] = [queries.without_copies(parts[1]), counting]
            try:
                results = await self._ask(parts, until)
            except EmbedderMissing:
                known = await self._refresh_statistics(known, until)
                continue
            asked = parts
            if _generation(results[0][0]) == known.generation:
                break
            known = await self._refresh_statistics(known, until)
        if not results:
            raise SearchUnavailable("the index was changed again and again")
        _, found, counted, named = results
        if counted:
            by_words = {query.get("q"): len(result.hits) for query, result in zip(asked[1], found, strict=True)}
            distinct = {query["q"]: hits.distinct(result) for query, result in zip(asked[2], counted, strict=True)}
            rarer = queries.rarer_queries(self._index, question, filters, known.stats, by_words, distinct)
            found += await self._query_client.multi_search(queries.without_copies(rarer), until) if rarer else []
        offers = sorted(hits.offers_in(found) & known.copied.keys()) if filters.unique else []
        answers = hits.Answers(found, named)
        if offers:
            by_offer = [queries.copies_query(self._index, offer, filters) for offer in offers]
            oldest, copies = await self._ask([queries.oldest_queries(self._index, offers, filters), by_offer], until)
            answers = hits.Answers(found, named, oldest, dict(zip(offers, copies, strict=True)))
        read = partial(hits.pool, known.generation, known.stats, answers, question, limit)
        return read() if limit <= _AT_ONCE else await asyncio.to_thread(read)

    async def _ask(self, parts: Sequence[Sequence[layout.Json]], until: float) -> list[list[QueryResult]]:
        """Send all queries in one call. Return the results in the same parts."""
        results = iter(await self._query_client.multi_search(list(chain.from_iterable(parts)), until))
        return [list(islice(results, len(part))) for part in parts]

    async def count(self) -> int:
        _, _, total = await self._generation_model_and_count()
        return total

    async def _generation_model_and_count(self) -> tuple[str, str, int]:
        asked = [queries.generation_query(self._index), queries.count_query(self._index)]
        generation_result, count_result = await self._query_client.multi_search(asked)
        return _generation(generation_result), generation_result.hits[0].model, count_result.total

    async def health(self) -> IndexHealth:
        try:
            generation, model, total = await self._generation_model_and_count()
            if model != self._model:
                return IndexHealth(IndexState.OUTDATED)
            return IndexHealth(IndexState.READY, generation, total)
        except IndexMissing:
            return IndexHealth(IndexState.MISSING)
        except SearchUnavailable as error:
            outdated = isinstance(error.__cause__, OutdatedIndex)
            return IndexHealth(IndexState.OUTDATED if outdated else IndexState.AWAY)

    async def hashes(self) -> AsyncIterator[tuple[str, bytes]]:
        await self.count()  # raises if there is no index
        condition = f'kind = "{layout.DocumentKind.SERVICE}"'
        stored = self._admin.documents(self._index, ["host", "h"], filter=condition)
        for document in await asyncio.to_thread(list, stored):
            yield document["host"], bytes.fromhex(document["h"])

    async def upsert(self, documents: Sequence[SearchDocument]) -> int:
        return await asyncio.to_thread(self._write, lambda feeder: feeder.replace(documents))

    async def delete(self, hosts: Sequence[str]) -> int:
        return await asyncio.to_thread(self._write, lambda feeder: feeder.remove(hosts))

    async def commit(self) -> None:
        await asyncio.to_thread(self._write, lambda feeder: feeder.commit())

    async def close(self) -> None:
        self._feeder = None
        self._admin.closing.set()
        await self._query_client.close()

    @asynccontextmanager
    async def build(self) -> AsyncIterator[Build]:
        """Build a new index. Across processes, the caller's lock on the target prevents concurrent builds
        (registry/actions/indexing)."""
        if self._is_building:
            raise WriterBusy("a build is under way")
        self._is_building = True
        try:
            await asyncio.to_thread(self._check_version)
            build_id = uuid.uuid4().hex[:12]
            build = await asyncio.to_thread(
                IndexBuild, self._admin, self._index, build_id, self._model, self._dims, self._forget_feeder
            )
            try:
                yield ThreadedBuild(build)
            finally:
                await asyncio.to_thread(build.drop)
        finally:
            self._is_building = False

    def _engine_queries(self, question: ParsedQuery, filters: Filters, limit: int, known: _Known) -> list[layout.Json]:
        if not question.text.strip():
            return [queries.best_scores_query(self._index, filters, limit)]
        nearest = queries.vector_queries(self._index, question, filters) if question.model == known.model else []
        return nearest + queries.word_queries(self._index, question, filters, known.stats)

    async def _refresh_statistics(self, stale: _Known | None, until: float) -> _Known:
        """Return the current statistics; concurrent callers that hold the same `stale` ones cause only one read."""
        async with self._refresh_lock:
            if self._known is stale or self._known is None:
                (result,) = await self._query_client.multi_search([queries.statistics_query(self._index)], until)
                self._known = await asyncio.to_thread(_read_statistics, result)
            return self._known

    def _write(self, work: Callable[[IndexWriter], _T]) -> _T:
        with self._writing:
            try:
                return work(self._current_feeder())
            except BaseException:
                self._feeder = None  # its counts may be partial; the next write starts from the index
                raise

    def _forget_feeder(self) -> None:
        """Drop the writer after a swap: its uncommitted changes belong to the replaced index."""
        with self._writing:
            self._feeder = None

    def _current_feeder(self) -> IndexWriter:
        if self._feeder is None or not self._feeder.is_current():
            self._check_version()
            if not self._admin.exists(self._index):
                raise IndexMissing("the index has not been built yet")
            try:
                self._feeder = IndexWriter(self._admin, self._index, self._model)
            except OutdatedIndex as error:
                raise SearchUnavailable("the index has to be built again") from error
        return self._feeder

    def _check_version(self) -> None:
        if self._version_checked:
            return
        version = self._admin.version()
        major, minor = (int(part) for part in version.split(".")[:2])
        if (major, minor) < OLDEST or major != TESTED[0]:
            oldest = ".".join(map(str, OLDEST))
            log.error("meilisearch.unsupported", version=version, oldest=oldest)
            raise SearchUnavailable(f"Meilisearch {version} is not supported: {oldest} or later of {TESTED[0]}.x")
        if (major, minor) > TESTED:
            log.warning("meilisearch.newer_than_tested", version=version)
        self._version_checked = True


def _generation(result: QueryResult) -> str:
    """Return the generation of the index. Raise SearchUnavailable if another version of waypost built it."""
    if not result.hits or result.hits[0].h != layout.LAYOUT:
        raise SearchUnavailable("the index has to be built again") from OutdatedIndex("another layout")
    return result.hits[0].g


def _read_statistics(result: QueryResult) -> _Known:
    generation = _generation(result)
    hit = result.hits[0]
    try:
        _, stats = read_stats(hit.r, layout.LAYOUT)
    except OutdatedIndex as error:
        raise SearchUnavailable("the index has to be built again") from error
    return _Known(generation, hit.model, stats, layout.copied_from(hit.copied))
