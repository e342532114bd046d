"""What drain and reindex share: the right to feed an index, the notes of changes, and the way from one to the other.

One process feeds a target at a time, by an advisory lock of the database. Everything in here may be done again after
a crash at any point: a note is dropped only after the index has kept what it told, and only if nobody noted the host
again meanwhile.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from registry.core.domains import registrable_domain
from registry.core.listing import Listing
from registry.core.ranking import Embedder
from registry.core.retention import TARGET_UNFED
from registry.search.backend import Backend, IndexState, SearchDocument, make_documents
from registry.store.errors import StoreUnavailable
from registry.store.holder import Hold, hold_target
from registry.store.search_notes import Dirty
from registry.store.unit_of_work import Store

_SEEN_EVERY: Final = timedelta(hours=1)
_BATCH: Final = 500
_BATCHES: Final = 200
"""Per pass; under steady change the pass ends and the next one goes on."""


@dataclass(frozen=True, slots=True)
class Carried:
    notes: int
    written: int
    deleted: int


def feeding(store: Store, backend: Backend) -> AbstractAsyncContextManager[Hold | None]:
    """The right to feed this index; None while another process has it."""
    return hold_target(store.engine, backend.target)


async def enrol(store: Store, backend: Backend, *, now: datetime) -> None:
    """Make sure that changes are noted for this index, and forget the indexes that nobody feeds any more.

    An index that comes back after it was forgotten may show services that are gone: what it holds is noted as well.
    """
    async with store.begin() as uow:
        seen = await uow.search.seen_at(backend.target)
    if seen is not None and now - seen < _SEEN_EVERY:
        return
    is_ready = (await backend.health()).state is IndexState.READY
    held = [host async for host, _ in backend.hashes()] if seen is None and is_ready else []
    async with store.begin() as uow:
        if await uow.search.register(backend.target, now=now):
            await uow.search.note(backend.target, [(registrable_domain(host), host) for host in held], now=now)
        await uow.search.forget(unseen_since=now - TARGET_UNFED)


async def carry(store: Store, backend: Backend, hold: Hold, embedder: Embedder | None = None) -> Carried:
    """Tell the index what was noted. Raises WriterBusy, SearchUnavailable, StoreUnavailable; notes then stay."""
    notes = written = deleted = 0
    for _ in range(_BATCHES):
        told, listings = await _changes(store, backend.target)
        if not told:
            break
        await still_held(hold)
        deleted += await backend.delete([one.host for one in told if one.host not in listings])
        written += await backend.upsert(await documents(list(listings.values()), embedder))
        await still_held(hold)
        await backend.commit()
        async with store.begin() as uow:
            notes += await uow.search.done(backend.target, told)
    return Carried(notes, written, deleted)


async def _changes(store: Store, target: str) -> tuple[list[Dirty], dict[str, Listing]]:
    """First the notes, then the listings as they are now: what changes in between is noted again."""
    async with store.begin() as uow:
        told = await uow.search.dirty(target, limit=_BATCH)
        return told, await uow.search.listings([(one.domain, one.host) for one in told])


async def documents(listings: Sequence[Listing], embedder: Embedder | None = None) -> list[SearchDocument]:
    """Reading hundreds of texts takes tens of milliseconds: not on the event loop."""
    return await asyncio.to_thread(make_documents, listings, embedder)


async def still_held(hold: Hold) -> None:
    """One that lost its lock could put an old document after a newer one."""
    if not await hold.is_alive():
        raise StoreUnavailable("the lock of the search target was lost")
