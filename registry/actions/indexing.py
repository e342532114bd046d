"""Keeps a search index up to date: drains noted changes, rebuilds the index, and verifies it against the database.

One process at a time feeds a target, under an advisory lock of the database. Every step may be repeated after a crash:
a note is deleted only after the index has committed its change, and only if the host was not noted again meanwhile. A
rebuild writes a new index beside the current one, then swaps them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from registry.core.model.listing import Listing, SearchUnavailable
from registry.core.names.domains import registrable_domain
from registry.core.ranking import Embedder, index_hash
from registry.core.scheduling.jobs import INDEX_FORGOTTEN_AFTER
from registry.search.backend import Backend, IndexState, SearchDocument, WriterBusy, make_documents
from registry.store.engine import StoreUnavailable
from registry.store.holder import HeldLock, hold_target
from registry.store.search_notes import Dirty
from registry.store.unit_of_work import Store, UnitOfWork

_SEEN_EVERY: Final = timedelta(hours=1)
_BATCH: Final = 500
_BATCHES: Final = 200
"""Batches per pass: under constant change the pass ends, and the next one continues."""


@dataclass(frozen=True, slots=True)
class FeedingCounts:
    notes: int
    written: int
    deleted: int


def feeding(store: Store, backend: Backend) -> AbstractAsyncContextManager[HeldLock | None]:
    """Hold the right to feed this index; yield None while another process has it."""
    return hold_target(store.engine, backend.target)


async def register_target(store: Store, backend: Backend, *, now: datetime) -> None:
    """Make sure that changes are noted for this index, and forget indexes that are no longer fed.

    A forgotten index that returns may hold deleted services, so all its hosts are noted too.
    """
    async with store.begin() as uow:
        seen = await uow.search.seen_at(backend.target)
    if seen is not None and now - seen < _SEEN_EVERY:
        return
    is_ready = (await backend.health()).state is IndexState.READY
    indexed_hosts = [host async for host, _ in backend.hashes()] if seen is None and is_ready else []
    async with store.begin() as uow:
        if await uow.search.register(backend.target, now=now):
            await uow.search.note(backend.target, [(registrable_domain(host), host) for host in indexed_hosts], now=now)
        await uow.search.forget(unseen_since=now - INDEX_FORGOTTEN_AFTER)


async def apply_notes(
    store: Store, backend: Backend, hold: HeldLock, embedder: Embedder | None = None
) -> FeedingCounts:
    """Apply the notes to the index. Raise WriterBusy, SearchUnavailable, StoreUnavailable; the notes are then kept."""
    notes = written = deleted = 0
    for _ in range(_BATCHES):
        dirty, listings = await _changes(store, backend.target)
        if not dirty:
            break
        await still_held(hold)
        deleted += await backend.delete([note.host for note in dirty if note.host not in listings])
        written += await backend.upsert(await documents(list(listings.values()), embedder))
        await still_held(hold)
        await backend.commit()
        async with store.begin() as uow:
            notes += await uow.search.done(backend.target, dirty)
    return FeedingCounts(notes, written, deleted)


async def _changes(store: Store, target: str) -> tuple[list[Dirty], dict[str, Listing]]:
    """Read the notes, then the current listings. In this order, a change in between is noted again."""
    async with store.begin() as uow:
        dirty = await uow.search.dirty(target, limit=_BATCH)
        return dirty, await uow.search.listings([(note.domain, note.host) for note in dirty])


async def documents(listings: Sequence[Listing], embedder: Embedder | None = None) -> list[SearchDocument]:
    """Return search documents, made in a thread: hundreds of texts take tens of milliseconds."""
    return await asyncio.to_thread(make_documents, listings, embedder)


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


async def reindex(
    store: Store,
    backend: Backend,
    *,
    now: datetime,
    progress: Progress | None = None,
    embedder: Embedder | None = None,
) -> ReindexCounts:
    """Rebuild the whole index from the database; the old one answers until the swap.

    Raise WriterBusy when another process keeps feeding or rebuilding this index for half a minute.
    """
    await register_target(store, backend, now=now)
    for _ in range(_TRIES):
        async with feeding(store, backend) as hold:
            if hold is not None:
                services = await rebuild(store, backend, hold, progress, embedder)
                await _catch_up(store, backend, hold, embedder)
                return ReindexCounts(services, (await backend.health()).generation)
        await asyncio.sleep(_WAIT_SECONDS)
    raise WriterBusy("another process keeps feeding this index")


async def rebuild(
    store: Store, backend: Backend, hold: HeldLock, progress: Progress | None = None, embedder: Embedder | None = None
) -> int:
    """Write a consistent snapshot of all listings to a new index and swap it in; return the number of services.

    The caller has registered the target and holds the right to feed it. So every change after the snapshot is noted, no
    note is deleted meanwhile, and the next `apply_notes` brings the new index up to date.
    """
    snapshot = Store(store.engine.execution_options(isolation_level="REPEATABLE READ"))
    done = 0
    async with snapshot.begin() as uow, backend.build() as build:
        total = sum((await uow.catalogue.counts())["trust_level"].values())
        after = ("", "")
        while page := await uow.search.all_listings(after, limit=_PAGE):
            await build.add(await documents(page, embedder))
            after = (page[-1].domain, page[-1].host)
            done += len(page)
            if progress:
                progress(done, total)
        await still_held(hold)
        await build.swap()
    return done


async def _catch_up(store: Store, backend: Backend, hold: HeldLock, embedder: Embedder | None) -> None:
    """Apply the changes made meanwhile, unless another process writes this index and so applies them."""
    try:
        await apply_notes(store, backend, hold, embedder)
    except WriterBusy:
        return


@dataclass(frozen=True, slots=True)
class DrainCounts:
    """Notes completed, and documents written and deleted. Unchanged documents are not written."""

    notes: int
    written: int
    deleted: int
    rebuilt: bool


async def drain(
    store: Store, backend: Backend, *, now: datetime, embedder: Embedder | None = None
) -> DrainCounts | None:
    """Bring the index up to date with the database; return None if another process is doing that.

    A missing, outdated or damaged index is rebuilt first. Raise StoreUnavailable and SearchUnavailable; the notes are
    then kept, so no change is lost.
    """
    await register_target(store, backend, now=now)
    state = (await backend.health()).state
    if state is IndexState.AWAY:  # a rebuild would not help an engine that is too slow to answer
        raise SearchUnavailable("the search engine does not answer")
    needs_build = state is not IndexState.READY
    if not needs_build and await _is_up_to_date(store, backend):
        return DrainCounts(0, 0, 0, False)
    async with feeding(store, backend) as hold:
        if hold is None:
            return None
        try:
            if needs_build:
                await rebuild(store, backend, hold, embedder=embedder)
            applied = await apply_notes(store, backend, hold, embedder)
        except WriterBusy:
            return None
        return DrainCounts(applied.notes, applied.written, applied.deleted, needs_build)


async def _is_up_to_date(store: Store, backend: Backend) -> bool:
    """Return whether no note is left. This usual case costs one query and no lock."""
    async with store.begin() as uow:
        return await uow.search.oldest(backend.target) is None


_VERIFY_PAGE: Final = 1_000
_VERIFY_TRIES: Final = 60
_VERIFY_WAIT_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class IndexComparison:
    """`services`: number in the database. `pending`: notes of changes not yet indexed.

    Hosts: `missing` from the index, `extra` in the index, `different` in both.
    """

    services: int
    pending: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    different: tuple[str, ...]
    repaired: bool = False

    @property
    def wrong(self) -> tuple[str, ...]:
        return (*self.missing, *self.extra, *self.different)


async def verify(
    store: Store, backend: Backend, *, now: datetime, model: str = "", repair: bool = False
) -> IndexComparison:
    """Compare the (host, hash) pairs of index and database; with `repair`, note the wrong hosts for the next drain.

    The lock of the target keeps the index unchanged, and one snapshot has services and notes. A service without a note
    must be in the index exactly as stored; a service with a note is pending. `model`: the embedder's id. Raise
    SearchUnavailable without a readable index, WriterBusy if another process feeds it for half a minute,
    StoreUnavailable.
    """
    await register_target(store, backend, now=now)
    for _ in range(_VERIFY_TRIES):
        async with feeding(store, backend) as hold:
            if hold is not None:
                return await _compare(store, backend, now, model, repair=repair)
        await asyncio.sleep(_VERIFY_WAIT_SECONDS)
    raise WriterBusy("another process keeps feeding this index")


async def _compare(store: Store, backend: Backend, now: datetime, model: str, *, repair: bool) -> IndexComparison:
    extra = dict([pair async for pair in backend.hashes()])
    missing: list[str] = []
    different: list[str] = []
    services = 0
    snapshot = Store(store.engine.execution_options(isolation_level="REPEATABLE READ"))
    async with snapshot.begin() as uow:
        pending = await uow.search.noted(backend.target)
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
    async with store.begin() as uow:
        keys = [(registrable_domain(host), host) for host in verified.wrong]
        await uow.search.note(backend.target, keys, now=now)
    return replace(verified, repaired=True)


async def _expected(uow: UnitOfWork, model: str) -> AsyncIterator[tuple[str, bytes]]:
    """Yield the expected content of the index as (host, hash), read page by page."""
    after = ("", "")
    while page := await uow.search.all_listings(after, limit=_VERIFY_PAGE):
        hashes = await asyncio.to_thread(lambda listings: [index_hash(item, model) for item in listings], page)
        for listing, expected in zip(page, hashes, strict=True):
            yield listing.host, expected
        after = (page[-1].domain, page[-1].host)
