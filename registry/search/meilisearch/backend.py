"""The Meilisearch engine: see `registry.search.backend.Backend`.

Asking needs the search key alone and goes through `asking`. Feeding and building need the other two and go through
the official client, in threads.
"""

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar
from urllib.parse import urlsplit

import structlog

from registry.core.listing import Filters, SearchUnavailable
from registry.core.ranking import CorpusStats, Question
from registry.search.backend import Build, IndexHealth, IndexState, Pool, SearchDocument, WriterBusy
from registry.search.meilisearch import hits, layout, legs
from registry.search.meilisearch.admin import Admin, Keys
from registry.search.meilisearch.answers import Result
from registry.search.meilisearch.asking import Asker, EmbedderMissing, IndexMissing, deadline
from registry.search.meilisearch.building import MeiliBuild
from registry.search.meilisearch.feeding import Feeder
from registry.search.tally import Outdated, read_stats

log = structlog.get_logger(__name__)

OLDEST: Final = (1, 50)
TESTED: Final = (1, 53)
"""Releases of the engine: an older one is refused, a newer one is told about. docs/search.md says which were run, and
up to which our calls are tested against its published description."""

_ATTEMPTS: Final = 3
"""A question that is overtaken by a commit or a swap is asked again with the new statistics."""

_AT_ONCE: Final = 300
"""Up to so many services are read where they were asked for: a millisecond, of which a thread would cost a third."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Known:
    """The tally as this process read it last."""

    generation: str
    model: str
    stats: CorpusStats


class MeiliBackend:
    """`model` and `dims` name the embedder of this registry; empty = words only. One event loop."""

    def __init__(self, url: str, keys: Keys, index: str, *, model: str = "", dims: int = 0) -> None:
        self._url = url.rstrip("/")
        self._index = index
        self._model = model
        self._dims = dims
        self._asker = Asker(self._url, keys.search)
        self._admin = Admin(self._url, keys)
        self._writing = threading.Lock()
        self._feeder: Feeder | None = None
        self._is_building = False
        self._version_checked = False
        self._known: _Known | None = None
        self._learning = asyncio.Lock()

    @property
    def target(self) -> str:
        """All processes of one registry must reach the engine under one name."""
        return f"meilisearch:{urlsplit(self._url).netloc.rpartition('@')[2]}/{self._index}"

    def claim(self) -> bool:
        """Nothing to claim: who feeds is decided by the database's lock, batch by batch."""
        return True

    async def candidates(self, question: Question, filters: Filters, limit: int) -> Pool:
        by = deadline()
        known = self._known or await self._learn(None, by)
        results: list[Result] = []
        for _ in range(_ATTEMPTS):
            asked = self._legs(question, filters, limit, known)
            try:
                results = await self._asker.ask([legs.probe(self._index), *asked], by)
            except EmbedderMissing:
                known = await self._learn(known, by)
                continue
            if _generation(results[0]) == known.generation:
                break
            known = await self._learn(known, by)
        if not results:
            raise SearchUnavailable("the index was changed again and again")
        read = partial(hits.pool, known.generation, known.stats, results[1:], question, limit)
        return read() if limit <= _AT_ONCE else await asyncio.to_thread(read)

    async def count(self) -> int:
        results = await self._asker.ask([legs.probe(self._index), legs.everything(self._index)])
        _generation(results[0])
        return results[1].total

    async def health(self) -> IndexHealth:
        try:
            probed, everything = await self._asker.ask([legs.probe(self._index), legs.everything(self._index)])
            generation = _generation(probed)
            if probed.hits[0].model != self._model:
                return IndexHealth(IndexState.OUTDATED)
            return IndexHealth(IndexState.READY, generation, everything.total)
        except IndexMissing:
            return IndexHealth(IndexState.MISSING)
        except SearchUnavailable as error:
            outdated = isinstance(error.__cause__, Outdated)
            return IndexHealth(IndexState.OUTDATED if outdated else IndexState.AWAY)

    async def hashes(self) -> AsyncIterator[tuple[str, bytes]]:
        await self.count()  # there is an index that readers see
        wanted = f'kind = "{layout.Kind.SERVICE}"'
        found = await asyncio.to_thread(lambda: list(self._admin.documents(self._index, ["host", "h"], filter=wanted)))
        for one in found:
            yield one["host"], bytes.fromhex(one["h"])

    async def upsert(self, documents: Sequence[SearchDocument]) -> int:
        return await asyncio.to_thread(self._write, lambda feeder: feeder.replace(documents))

    async def delete(self, hosts: Sequence[str]) -> int:
        return await asyncio.to_thread(self._write, lambda feeder: feeder.remove(hosts))

    async def commit(self) -> None:
        await asyncio.to_thread(self._write, lambda feeder: feeder.commit())

    async def close(self) -> None:
        self._feeder = None
        self._admin.close()
        await self._asker.close()

    @asynccontextmanager
    async def build(self) -> AsyncIterator[Build]:
        """Across processes the caller's lock of the target keeps builds apart (registry/actions/indexing)."""
        if self._is_building:
            raise WriterBusy("a build is under way")
        self._is_building = True
        try:
            await asyncio.to_thread(self._check_version)
            identity = uuid.uuid4().hex[:12]
            build = await asyncio.to_thread(MeiliBuild, self._admin, self._index, identity, self._model, self._dims)
            try:
                yield _Threaded(build, self._forget_feeder)
            finally:
                await asyncio.to_thread(build.drop)
        finally:
            self._is_building = False

    def _legs(self, question: Question, filters: Filters, limit: int, known: _Known) -> list[legs.Json]:
        if not question.text.strip():
            return [legs.best_grades(self._index, filters, limit)]
        nearest = legs.vector_leg(self._index, question, filters) if question.model == known.model else []
        return nearest + legs.word_legs(self._index, question, filters, known.stats)

    async def _learn(self, stale: _Known | None, by: float) -> _Known:
        """Read the tally; of many that find the same one stale, once."""
        async with self._learning:
            if self._known is stale or self._known is None:
                (told,) = await self._asker.ask([legs.whole_tally(self._index)], by)
                self._known = await asyncio.to_thread(_read_tally, told)
            return self._known

    def _write(self, work: Callable[[Feeder], _T]) -> _T:
        with self._writing:
            try:
                return work(self._current_feeder())
            except BaseException:
                self._feeder = None  # its counts may be half done; what the index has is the state to go on from
                raise

    def _forget_feeder(self) -> None:
        """What was not committed belonged to the index that was there before."""
        with self._writing:
            self._feeder = None

    def _current_feeder(self) -> Feeder:
        if self._feeder is None or not self._feeder.is_current():
            self._check_version()
            if not self._admin.exists(self._index):
                raise IndexMissing("the index has not been built yet")
            try:
                self._feeder = Feeder(self._admin, self._index, self._model)
            except Outdated as error:
                raise SearchUnavailable("the index has to be built again") from error
        return self._feeder

    def _check_version(self) -> None:
        if self._version_checked:
            return
        said = self._admin.version()
        major, minor = (int(part) for part in said.split(".")[:2])
        if (major, minor) < OLDEST or major != TESTED[0]:
            oldest = ".".join(map(str, OLDEST))
            log.error("meilisearch.unsupported", version=said, oldest=oldest)
            raise SearchUnavailable(f"Meilisearch {said} is not supported: {oldest} or later of {TESTED[0]}.x")
        if (major, minor) > TESTED:
            log.warning("meilisearch.newer_than_tested", version=said)
        self._version_checked = True


class _Threaded:
    """See `registry.search.backend.Build`."""

    def __init__(self, build: MeiliBuild, swapped: Callable[[], None]) -> None:
        self._build = build
        self._swapped = swapped

    async def add(self, documents: Sequence[SearchDocument]) -> None:
        await asyncio.to_thread(self._build.add, documents)

    async def swap(self) -> None:
        await asyncio.to_thread(self._build.swap)
        await asyncio.to_thread(self._swapped)


def _generation(probed: Result) -> str:
    """Raises SearchUnavailable from Outdated where the index is none of ours."""
    if not probed.hits or probed.hits[0].h != layout.LAYOUT:
        raise SearchUnavailable("the index has to be built again") from Outdated("another layout")
    return probed.hits[0].g


def _read_tally(told: Result) -> _Known:
    generation = _generation(told)
    one = told.hits[0]
    try:
        _, stats = read_stats(one.r, layout.LAYOUT)
    except Outdated as error:
        raise SearchUnavailable("the index has to be built again") from error
    return _Known(generation, one.model, stats)
