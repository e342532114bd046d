"""Prove that an index holds what the database says: both sides as (host, hash), at one moment.

Nobody feeds the index meanwhile, by the lock of its target, and the database is read in one snapshot together with the
notes of what the index has not been told. A change is committed with its note, so whatever that snapshot has no note of
must be in the index exactly as it is there; what it has a note of is pending and proves nothing.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from registry.actions.indexing.feeding import enrol, feeding
from registry.core.domains import registrable_domain
from registry.core.ranking import index_hash
from registry.search.backend import Backend, WriterBusy
from registry.store.unit_of_work import Store, UnitOfWork

_PAGE: Final = 1_000
_TRIES: Final = 60
_WAIT_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Verified:
    """`services` are those of the database, `pending` the notes of what the index was not told yet.

    Hosts: `missing` are in the database alone, `extra` in the index alone, `different` in both.
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


async def verify(store: Store, backend: Backend, *, now: datetime, model: str = "", repair: bool = False) -> Verified:
    """Compare; with `repair`, what is wrong is noted, so that the next drain mends it. `model`: the embedder's id.

    Raises SearchUnavailable without an index to read, WriterBusy when another process keeps feeding it for half a
    minute, StoreUnavailable.
    """
    await enrol(store, backend, now=now)
    for _ in range(_TRIES):
        async with feeding(store, backend) as hold:
            if hold is not None:
                return await _compared(store, backend, now, model, repair=repair)
        await asyncio.sleep(_WAIT_SECONDS)
    raise WriterBusy("another process keeps feeding this index")


async def _compared(store: Store, backend: Backend, now: datetime, model: str, *, repair: bool) -> Verified:
    extra = dict([pair async for pair in backend.hashes()])
    missing: list[str] = []
    different: list[str] = []
    services = 0
    snapshot = Store(store.engine.execution_options(isolation_level="REPEATABLE READ"))
    async with snapshot.begin() as uow:
        pending = await uow.search.noted(backend.target)
        async for host, expected in _expected(uow, model):
            services += 1
            held = extra.pop(host, None)
            if held != expected and host not in pending:
                (missing if held is None else different).append(host)
    alone = sorted(extra.keys() - pending)
    found = Verified(services, len(pending), tuple(sorted(missing)), tuple(alone), tuple(sorted(different)))
    if not (repair and found.wrong):
        return found
    async with store.begin() as uow:
        keys = [(registrable_domain(host), host) for host in found.wrong]
        await uow.search.note(backend.target, keys, now=now)
    return replace(found, repaired=True)


async def _expected(uow: UnitOfWork, model: str) -> AsyncIterator[tuple[str, bytes]]:
    """What the index should hold, page by page."""
    after = ("", "")
    while page := await uow.search.all_listings(after, limit=_PAGE):
        hashes = await asyncio.to_thread(lambda listed: [index_hash(one, model) for one in listed], page)
        for listing, expected in zip(page, hashes, strict=True):
            yield listing.host, expected
        after = (page[-1].domain, page[-1].host)
