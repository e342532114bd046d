"""Build the search index anew beside the one that answers, then swap."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from registry.actions.indexing.feeding import carry, documents, enrol, feeding, still_held
from registry.core.ranking import Embedder
from registry.search.backend import Backend, WriterBusy
from registry.store.holder import Hold
from registry.store.unit_of_work import Store

Progress = Callable[[int, int], None]
"""Called with (services done, services in all)."""

_PAGE: Final = 1_000
_TRIES: Final = 60
_WAIT_SECONDS: Final = 0.5
"""A pass of the drainer is short; another rebuild may take longer than we wait."""


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

    Raises WriterBusy when another process keeps feeding or rebuilding this index for half a minute.
    """
    await enrol(store, backend, now=now)
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
    """One consistent snapshot of all listings into a new index, and the swap; gives the number of services.

    The caller has enrolled the target and holds the right to feed it: so every change after the snapshot is noted,
    nobody drops a note meanwhile, and the next `carry` brings the new index up to date.
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
    """What changed meanwhile; where another process is the writer of this index, it carries that over itself."""
    try:
        await carry(store, backend, hold, embedder)
    except WriterBusy:
        return
