"""Verifies that an index holds what the database says: compares (host, hash) of both at one moment.

The lock of the target keeps the index unchanged meanwhile. The database is read in one snapshot, together with the
notes of changes not yet indexed. A change is committed with its note, so every service without a note must be in the
index exactly as in the snapshot; a service with a note is pending and proves nothing.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from registry.actions.indexing.feeding import feeding, register_target
from registry.core.names.domains import registrable_domain
from registry.core.ranking import index_hash
from registry.search.backend import Backend, WriterBusy
from registry.store.unit_of_work import Store, UnitOfWork

_PAGE: Final = 1_000
_TRIES: Final = 60
_WAIT_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Verified:
    """`services` counts those of the database, `pending` the notes of changes not yet indexed.

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
    """Compare; with `repair`, note wrong hosts, so that the next drain repairs them. `model`: the embedder's id.

    Raise SearchUnavailable without a readable index, WriterBusy when another process keeps feeding it for half a
    minute, StoreUnavailable.
    """
    await register_target(store, backend, now=now)
    for _ in range(_TRIES):
        async with feeding(store, backend) as hold:
            if hold is not None:
                return await _compare(store, backend, now, model, repair=repair)
        await asyncio.sleep(_WAIT_SECONDS)
    raise WriterBusy("another process keeps feeding this index")


async def _compare(store: Store, backend: Backend, now: datetime, model: str, *, repair: bool) -> Verified:
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
    verified = Verified(services, len(pending), tuple(sorted(missing)), tuple(index_only), tuple(sorted(different)))
    if not (repair and verified.wrong):
        return verified
    async with store.begin() as uow:
        keys = [(registrable_domain(host), host) for host in verified.wrong]
        await uow.search.note(backend.target, keys, now=now)
    return replace(verified, repaired=True)


async def _expected(uow: UnitOfWork, model: str) -> AsyncIterator[tuple[str, bytes]]:
    """Yield what the index should hold as (host, hash), read page by page."""
    after = ("", "")
    while page := await uow.search.all_listings(after, limit=_PAGE):
        hashes = await asyncio.to_thread(lambda listings: [index_hash(item, model) for item in listings], page)
        for listing, expected in zip(page, hashes, strict=True):
            yield listing.host, expected
        after = (page[-1].domain, page[-1].host)
