"""What a worker does beside crawling: feed the index, order the change feed, judge services again when another host
changed, turn candidates into hosts, free leases of dead workers, erase which client submitted what.

The actions of a crawler: hold the lock of its leases, lease domains, record the results.

Puts the reference data that `refresh` has stored in force in this process.

It does so at the start, and within a minute of later changes: a process with an older suffix list than the others
would not find hosts under their new domains.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from registry.actions.frontier import lease as leasing
from registry.actions.maintenance.prune import checked_data
from registry.actions.recording import record as recording
from registry.core.names.addresses import RegistryRow, set_extra_refused
from registry.core.names.domains import use_suffixes
from registry.core.names.suffixes import SHIPPED, BadReference, SuffixList
from registry.core.visiting.visits import Lease
from registry.store.engine import StoreUnavailable
from registry.store.holder import HeldLock, hold_leases
from registry.store.unit_of_work import Store
from registry.tasks import running_beside
from registry.wiring import NOT_READY, Waypost
from registry.wiring.clock import utc_now

DRAIN_SECONDS = 0.5
SEQUENCE_SECONDS = 0.5
REJUDGE_SECONDS = 1.0
FOLD_SECONDS = 2.0
RECOVER_SECONDS = 10.0
ERASE_SECONDS = 60.0

LAST_DRAIN_SECONDS = 1.5

_BACK_OFF_SECONDS = 5.0

log = structlog.get_logger(__name__)


@contextlib.asynccontextmanager
async def upkeep(waypost: Waypost, *, crawls: bool = True) -> AsyncIterator[None]:
    """Run the chores while the block runs. With `crawls` False, only those of a process that does not crawl."""

    async def drain() -> None:
        await waypost.search.drain()  # opens the search engine, which may fail and is retried

    chores: list[tuple[Callable[[], Awaitable[object]], float]] = [
        (drain, DRAIN_SECONDS),
        (waypost.feed.sequence, SEQUENCE_SECONDS),
        (waypost.maintenance.rejudge, REJUDGE_SECONDS),
    ]
    if crawls:
        chores += [
            (waypost.frontier.fold_candidates, FOLD_SECONDS),
            (waypost.crawl.recover, RECOVER_SECONDS),
            (waypost.frontier.erase_clients, ERASE_SECONDS),
        ]
    async with running_beside(*(_forever(chore, pause) for chore, pause in chores)):
        yield


async def last_drain(waypost: Waypost) -> None:
    """Drain once before a stop. Changes not indexed within LAST_DRAIN_SECONDS stay noted for the next process."""
    try:
        async with asyncio.timeout(LAST_DRAIN_SECONDS):
            await waypost.search.drain()
    except (TimeoutError, *NOT_READY) as error:
        log.warning("drain.incomplete", error=type(error).__name__)


async def _forever(chore: Callable[[], Awaitable[object]], pause: float) -> None:
    """Repeat a chore. A failure (database restarting, disk full) is logged and retried; it never ends the worker."""
    while True:
        try:
            await chore()
            await asyncio.sleep(pause)
        except Exception as error:
            reason = {"reason": str(error)} if isinstance(error, NOT_READY) else {}  # those texts are our own
            log.warning("upkeep.failed", chore=getattr(chore, "__name__", ""), error=type(error).__name__, **reason)
            await asyncio.sleep(_BACK_OFF_SECONDS)


class CrawlActions:
    def __init__(self, store: Store, lease_for: timedelta) -> None:
        self._store = store
        self._lease_for = lease_for

    def hold(self) -> contextlib.AbstractAsyncContextManager[HeldLock]:
        return hold_leases(self._store.engine)

    async def lease(self, *, limit: int, holder: int, only: Collection[str] | None = None) -> Lease | None:
        return await leasing.acquire(
            self._store, limit=limit, now=utc_now(), lease_for=self._lease_for, holder=holder, only=only
        )

    async def release(
        self, token: UUID, domains: Sequence[str] | None = None, *, later: timedelta | None = None
    ) -> int:
        return await leasing.release(self._store, token, domains, now=utc_now(), later=later)

    async def lost_leases(self, holder: int, tokens: Collection[UUID]) -> Sequence[str]:
        return await leasing.lost(self._store, holder, tokens)

    async def recover(self) -> int:
        return await leasing.recover(self._store, now=utc_now())

    async def next_due(self) -> datetime | None:
        return await leasing.next_due(self._store)

    async def record_all(self, finished: Sequence[recording.Leased]) -> recording.RecordCounts:
        return await recording.record_all(self._store, finished, now=utc_now())

    async def spend(self, requests: Mapping[str, int], blocks: Collection[str]) -> Mapping[str, int]:
        return await leasing.count_requests(self._store, requests, blocks, now=utc_now())


LOOK_SECONDS: Final = 60.0


class Reference:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._versions: dict[str, bytes] | None = None

    async def adopt(self) -> bool:
        """Adopt stored data; return whether it changed. Refused data (older than the shipped, say) is not adopted."""
        async with self._store.begin() as uow:
            versions = await uow.references.versions()
            if versions == self._versions:
                return False
            stored = {name: await uow.references.get(name) for name in versions}
        suffixes, rows = SHIPPED, list[RegistryRow]()
        for name, record in stored.items():
            if record is None:
                continue
            try:
                data = await asyncio.to_thread(checked_data, name, record.body)
            except BadReference as error:
                log.warning("reference.rejected", name=name, reason=str(error))
                continue
            if isinstance(data, SuffixList):
                suffixes = data
            else:
                rows += data
        use_suffixes(suffixes)
        set_extra_refused(rows)
        self._versions = versions
        if versions:
            log.info("reference.adopted", suffixes=suffixes.version, also_refused=[row.prefix for row in rows])
        return True


@contextlib.asynccontextmanager
async def reference_in_force(store: Store) -> AsyncIterator[Reference]:
    """Keep stored data in force while the block runs; then restore the shipped data. Raise StoreUnavailable."""
    reference = Reference(store)
    await reference.adopt()
    try:
        async with running_beside(_poll(reference)):
            yield reference
    finally:
        use_suffixes(SHIPPED)
        set_extra_refused(())


async def _poll(reference: Reference) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        with contextlib.suppress(StoreUnavailable):
            await reference.adopt()
