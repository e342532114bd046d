"""Keeps a search index up to date: drains noted changes, rebuilds the index, and verifies it against the database.

One process at a time feeds a target, under an advisory lock of the database. Every step may be repeated after a crash:
a note is deleted only after the index has committed its change, and only if the host was not noted again meanwhile. A
rebuild writes a new index beside the current one, then swaps them.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from registry.actions import Clock
from registry.core.model.listing import SearchAway
from registry.core.names.domains import registrable_domain
from registry.core.ranking import Embedder, index_hash
from registry.core.scheduling.jobs import INDEX_FORGOTTEN_AFTER
from registry.search.backend import Backend, IndexState, WriterBusy, make_documents
from registry.store.engine import StoreUnavailable
from registry.store.holder import HeldLock, hold_target
from registry.store.unit_of_work import Store, UnitOfWork

_SEEN_EVERY: Final = timedelta(hours=1)
_BATCH: Final = 500
_BATCHES: Final = 200  # batches per pass: under constant change the pass ends, and the next one continues


async def still_held(hold: HeldLock) -> None:
    """Raise StoreUnavailable if the lock was lost: an old document could then overwrite a newer one."""
    if not await hold.is_alive():
        raise StoreUnavailable("the lock of the search target was lost")


Progress = Callable[[int, int], None]
"""Called with (services done, services in all)."""

_PAGE: Final = 1_000
_TRIES: Final = 60
_WAIT_SECONDS: Final = 0.5
"""Pause between tries. A drain pass is short; another rebuild may take longer than all tries."""


@dataclass(frozen=True, slots=True)
class ReindexCounts:
    services: int
    generation: str | None


@dataclass(frozen=True, slots=True)
class DrainCounts:
    """Notes completed, and documents written and deleted. Unchanged documents are not written."""

    notes: int
    written: int
    deleted: int
    rebuilt: bool


@dataclass(frozen=True, slots=True)
class IndexComparison:
    """`services`: number in the database. `pending`: notes of changes not yet indexed. Hosts: `missing` from the index,
    `extra` in the index, `different` in both."""

    services: int
    pending: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    different: tuple[str, ...]
    repaired: bool = False

    @property
    def wrong(self) -> tuple[str, ...]:
        return (*self.missing, *self.extra, *self.different)


async def _expected(uow: UnitOfWork, model: str) -> AsyncIterator[tuple[str, bytes]]:
    """Yield the expected content of the index as (host, hash), read page by page."""
    after = ("", "")
    while page := await uow.search.all_listings(after, limit=_PAGE):
        hashes = await asyncio.to_thread(lambda listings: [index_hash(item, model) for item in listings], page)
        for listing, expected in zip(page, hashes, strict=True):
            yield listing.host, expected
        after = (page[-1].domain, page[-1].host)


@dataclass(eq=False)
class SearchIndex:
    """The search index: fed, rebuilt, verified. One process at a time feeds it."""

    _store: Store
    _clock: Clock
    backend: Backend
    embedder: Embedder | None = None

    async def index_lag(self) -> int:
        """Return the number of services whose index entry differs from the database."""
        async with self._store.begin() as uow:
            return await uow.search.count(self.backend.target)

    async def drain(self) -> DrainCounts | None:
        """Bring the index up to date with the database; return None if another process is doing that. A missing,
        outdated or damaged index is rebuilt first. Raise StoreUnavailable and SearchUnavailable; the notes are then
        kept, so no change is lost."""
        await self.register_target()
        state = (await self.backend.health()).state
        if state is IndexState.AWAY:  # a rebuild would not help an engine that is too slow to answer
            raise SearchAway("the search engine does not answer")
        needs_build = state is not IndexState.READY
        if not needs_build:  # the usual case costs one query and no lock
            async with self._store.begin() as uow:
                if await uow.search.oldest(self.backend.target) is None:
                    return DrainCounts(0, 0, 0, False)
        async with self.feeding() as hold:
            if hold is None:
                return None
            try:
                if needs_build:
                    await self.rebuild(hold)
                notes, written, deleted = await self.apply_notes(hold)
            except WriterBusy:
                return None
            return DrainCounts(notes, written, deleted, needs_build)

    async def reindex(self, progress: Progress | None = None) -> ReindexCounts:
        """Rebuild the whole index from the database; the old one answers until the swap. Raise WriterBusy when another
        process keeps feeding or rebuilding this index for half a minute."""
        await self.register_target()
        async with self._patiently_feeding() as hold:
            services = await self.rebuild(hold, progress)
            with contextlib.suppress(WriterBusy):  # another process then applies the changes
                await self.apply_notes(hold)
            return ReindexCounts(services, (await self.backend.health()).generation)

    async def verify_index(self, *, repair: bool = False) -> IndexComparison:
        """Compare the (host, hash) pairs of index and database; with `repair`, note the wrong hosts for the next drain.

        The lock of the target keeps the index unchanged, and one snapshot has services and notes. A service without a
        note must be in the index exactly as stored; a service with a note is pending. Raise
        SearchUnavailable without a readable index, WriterBusy if another process feeds it for half a minute,
        StoreUnavailable.
        """
        await self.register_target()
        async with self._patiently_feeding():
            return await self._compare(repair=repair)

    def feeding(self) -> AbstractAsyncContextManager[HeldLock | None]:
        """Hold the right to feed this index; yield None while another process has it."""
        return hold_target(self._store.engine, self.backend.target)

    @contextlib.asynccontextmanager
    async def _patiently_feeding(self) -> AsyncIterator[HeldLock]:
        """Hold the right to feed this index. Raise WriterBusy while another process keeps it for half a minute."""
        for _ in range(_TRIES):
            async with self.feeding() as hold:
                if hold is not None:
                    yield hold
                    return
            await asyncio.sleep(_WAIT_SECONDS)
        raise WriterBusy("another process keeps feeding this index")

    async def register_target(self) -> None:
        """Make sure that changes are noted for this index, and forget indexes that are no longer fed. A forgotten index
        that returns may hold deleted services, so all its hosts are noted too."""
        now = self._clock()
        async with self._store.begin() as uow:
            seen = await uow.search.seen_at(self.backend.target)
        if seen is not None and now - seen < _SEEN_EVERY:
            return
        is_ready = (await self.backend.health()).state is IndexState.READY
        indexed_hosts = [host async for host, _ in self.backend.hashes()] if seen is None and is_ready else []
        async with self._store.begin() as uow:
            if await uow.search.register(self.backend.target, now=now):
                keys = [(registrable_domain(host), host) for host in indexed_hosts]
                await uow.search.note(self.backend.target, keys, now=now)
            await uow.search.forget(unseen_since=now - INDEX_FORGOTTEN_AFTER)

    async def apply_notes(self, hold: HeldLock) -> tuple[int, int, int]:
        """Apply the notes to the index; return how many, and the numbers of documents written and deleted. Raise
        WriterBusy, SearchUnavailable, StoreUnavailable; the notes are then kept."""
        notes = written = deleted = 0
        for _ in range(_BATCHES):
            async with self._store.begin() as uow:  # notes first, so that a change in between is noted again
                dirty = await uow.search.dirty(self.backend.target, limit=_BATCH)
                listings = await uow.search.listings([(note.domain, note.host) for note in dirty])
            if not dirty:
                break
            await still_held(hold)
            deleted += await self.backend.delete([note.host for note in dirty if note.host not in listings])
            # in a thread, because hundreds of texts take tens of milliseconds
            documents = await asyncio.to_thread(make_documents, list(listings.values()), self.embedder)
            written += await self.backend.upsert(documents)
            await still_held(hold)
            await self.backend.commit()
            async with self._store.begin() as uow:
                notes += await uow.search.done(self.backend.target, dirty)
        return notes, written, deleted

    async def rebuild(self, hold: HeldLock, progress: Progress | None = None) -> int:
        """Write a consistent snapshot of all listings to a new index and swap it in; return the number of services. The
        caller has registered the target and holds the right to feed it. So every change after the snapshot is noted, no
        note is deleted meanwhile, and the next `apply_notes` brings the new index up to date."""
        snapshot = Store(self._store.engine.execution_options(isolation_level="REPEATABLE READ"))
        done = 0
        async with snapshot.begin() as uow, self.backend.build() as build:
            total = sum((await uow.catalogue.counts())["trust_level"].values())
            after = ("", "")
            while page := await uow.search.all_listings(after, limit=_PAGE):
                await build.add(await asyncio.to_thread(make_documents, page, self.embedder))
                after = (page[-1].domain, page[-1].host)
                done += len(page)
                if progress:
                    progress(done, total)
            await still_held(hold)
            await build.swap()
        return done

    async def _compare(self, *, repair: bool) -> IndexComparison:
        model = self.embedder.id if self.embedder else ""
        extra = dict([pair async for pair in self.backend.hashes()])
        missing: list[str] = []
        different: list[str] = []
        services = 0
        snapshot = Store(self._store.engine.execution_options(isolation_level="REPEATABLE READ"))
        async with snapshot.begin() as uow:
            pending = await uow.search.noted(self.backend.target)
            async for host, expected in _expected(uow, model):
                services += 1
                indexed = extra.pop(host, None)
                if indexed != expected and host not in pending:
                    (missing if indexed is None else different).append(host)
        index_only = sorted(extra.keys() - pending)
        verified = IndexComparison(
            services, len(pending), tuple(sorted(missing)), tuple(index_only), tuple(sorted(different))
        )
        if not (repair and verified.wrong):
            return verified
        async with self._store.begin() as uow:
            keys = [(registrable_domain(host), host) for host in verified.wrong]
            await uow.search.note(self.backend.target, keys, now=self._clock())
        return replace(verified, repaired=True)
