"""The actions of a crawler: hold the lock of its leases, lease domains, record the results."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from registry.actions.frontier import lease as leasing
from registry.actions.recording import record as recording
from registry.core.visiting.visits import Lease
from registry.store.holder import HeldLock, hold_leases
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now


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
