"""What drain and reindex share: the right to feed an index, the notes of changes, and writing these to the index.

One process feeds a target at a time, by an advisory lock of the database. Every step may be repeated after a crash: a
note is deleted only after the index has committed its change, and only if the host was not noted again meanwhile.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from registry.core.model.listing import Listing
from registry.core.names.domains import registrable_domain
from registry.core.ranking import Embedder
from registry.core.scheduling.retention import INDEX_FORGOTTEN_AFTER
from registry.search.backend import Backend, IndexState, SearchDocument, make_documents
from registry.store.errors import StoreUnavailable
from registry.store.holder import Hold, hold_target
from registry.store.search_notes import Dirty
from registry.store.unit_of_work import Store

_SEEN_EVERY: Final = timedelta(hours=1)
_BATCH: Final = 500
_BATCHES: Final = 200
"""Batches per pass: under constant change the pass ends, and the next one continues."""


@dataclass(frozen=True, slots=True)
class Applied:
    notes: int
    written: int
    deleted: int


def feeding(store: Store, backend: Backend) -> AbstractAsyncContextManager[Hold | None]:
    """Hold the right to feed this index; yield None while another process has it."""
    return hold_target(store.engine, backend.target)


async def register_target(store: Store, backend: Backend, *, now: datetime) -> None:
    """Make sure that changes are noted for this index, and forget indexes that are no longer fed.

    An index that returns after it was forgotten may hold deleted services, so everything it holds is noted as well.
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


async def apply_notes(store: Store, backend: Backend, hold: Hold, embedder: Embedder | None = None) -> Applied:
    """Apply the notes to the index. Raise WriterBusy, SearchUnavailable, StoreUnavailable; notes then stay."""
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
    return Applied(notes, written, deleted)


async def _changes(store: Store, target: str) -> tuple[list[Dirty], dict[str, Listing]]:
    """Read the notes first, then the current listings: a change in between is noted again."""
    async with store.begin() as uow:
        dirty = await uow.search.dirty(target, limit=_BATCH)
        return dirty, await uow.search.listings([(note.domain, note.host) for note in dirty])


async def documents(listings: Sequence[Listing], embedder: Embedder | None = None) -> list[SearchDocument]:
    """Make search documents, in a thread: hundreds of texts take tens of milliseconds."""
    return await asyncio.to_thread(make_documents, listings, embedder)


async def still_held(hold: Hold) -> None:
    """Raise StoreUnavailable when the lock was lost: an old document could then overwrite a newer one."""
    if not await hold.is_alive():
        raise StoreUnavailable("the lock of the search target was lost")
