"""Rebuilds the search index beside the one in use, then swaps them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from registry.actions.indexing.feeding import apply_notes, documents, feeding, register_target, still_held
from registry.core.ranking import Embedder
from registry.search.backend import Backend, WriterBusy
from registry.store.holder import Hold
from registry.store.unit_of_work import Store

Progress = Callable[[int, int], None]
"""Called with (services done, services in all)."""

_PAGE: Final = 1_000
_TRIES: Final = 60
_WAIT_SECONDS: Final = 0.5
"""Pause between tries. A drain pass is short; another rebuild may take longer than all tries."""


@dataclass(frozen=True, slots=True)
class Reindexed:
    services: int
    generation: str | None


async def reindex(
    store: Store,
    backend: Backend,
    *,
    now: datetime,
    progress: Progress | None = None,
    embedder: Embedder | None = None,
) -> Reindexed:
    """Rebuild the whole index from the database; the old one answers until the swap.

    Raise WriterBusy when another process keeps feeding or rebuilding this index for half a minute.
    """
    await register_target(store, backend, now=now)
    for _ in range(_TRIES):
        async with feeding(store, backend) as hold:
            if hold is not None:
                services = await rebuild(store, backend, hold, progress, embedder)
                await _catch_up(store, backend, hold, embedder)
                return Reindexed(services, (await backend.health()).generation)
        await asyncio.sleep(_WAIT_SECONDS)
    raise WriterBusy("another process keeps feeding this index")


async def rebuild(
    store: Store, backend: Backend, hold: Hold, progress: Progress | None = None, embedder: Embedder | None = None
) -> int:
    """Write a consistent snapshot of all listings to a new index and swap it in; return the number of services.

    The caller has enrolled the target and holds the right to feed it. So every change after the snapshot is noted, no
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


async def _catch_up(store: Store, backend: Backend, hold: Hold, embedder: Embedder | None) -> None:
    """Apply changes made meanwhile, unless another process writes this index and so applies them itself."""
    try:
        await apply_notes(store, backend, hold, embedder)
    except WriterBusy:
        return
