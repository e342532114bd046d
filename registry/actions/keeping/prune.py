"""Forgets what is too old, and what belongs to nothing any more: in short transactions, beside running workers.

A batch of domains at a time and a bounded number of rows per transaction. It may be ended at any moment and run again:
nothing depends on how far the last run came. What no verdict needs any more is listed in `core/retention.py`.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from registry.core.retention import TARGET_UNFED, Horizon, Retention
from registry.store.jobs import LAST_RUNS
from registry.store.pruning import MOST, OF_DOMAINS
from registry.store.unit_of_work import Store, UnitOfWork

BATCH: Final = 200
"""Domains in one transaction."""

LOCKED: Final = 20
"""Domains locked at once: a worker that wants to record one of them waits for so long."""


async def prune(
    store: Store, retention: Retention, *, now: datetime, progress: Callable[[int], None] | None = None
) -> Mapping[str, int]:
    """Deleted rows by table. `progress` is called with the domains done. Raises StoreUnavailable; can be repeated."""
    pruner = _Pruner(store, retention.horizon(now))
    after, done = "", 0
    while True:
        async with store.begin() as uow:
            domains = await uow.jobs.domains(after, limit=BATCH)
        if not domains:
            break
        await pruner.of_domains(domains)
        after, done = domains[-1], done + len(domains)
        if progress is not None:
            progress(done)
    await pruner.of_all(now - TARGET_UNFED)
    return {table: number for table, number in pruner.deleted.items() if number}


class _Pruner:
    def __init__(self, store: Store, horizon: Horizon) -> None:
        self._store = store
        self._horizon = horizon
        self.deleted: Counter[str] = Counter()

    async def of_domains(self, domains: Sequence[str]) -> None:
        for table in OF_DOMAINS:
            await self._until_done(table, lambda uow, table: uow.pruning.old(table, domains, self._horizon))
        async with self._store.begin() as uow:
            suspects = await uow.pruning.with_idle_rows(domains, self._horizon)
        for table, named in suspects.items():
            for start in range(0, len(named), LOCKED):
                await self._idle(table, named[start : start + LOCKED])

    async def of_all(self, unseen_since: datetime) -> None:
        """What belongs to no domain."""
        horizon = self._horizon
        await self._until_done("changes", lambda uow, _: uow.pruning.changes(horizon.changes))
        await self._until_done("job_runs", lambda uow, _: uow.pruning.job_runs(horizon.job_runs, keep=LAST_RUNS))
        async with self._store.begin() as uow:
            self.deleted["search_target"] += len(await uow.search.forget(unseen_since=unseen_since))

    async def _idle(self, table: str, domains: Sequence[str]) -> None:
        """Under the lock that every writer of these domains takes first.

        A visit that is being recorded may be about to refer to a body that lies there unused: it finds the row, and
        so does not write it again.
        """

        async def delete(uow: UnitOfWork, table: str) -> int:
            await uow.domains.lock(domains)
            return await uow.pruning.idle(table, domains, self._horizon)

        await self._until_done(table, delete)

    async def _until_done(self, table: str, delete: Callable[[UnitOfWork, str], Awaitable[int]]) -> None:
        """A transaction for every MOST rows."""
        number = MOST
        while number >= MOST:
            async with self._store.begin() as uow:
                number = await delete(uow, table)
            self.deleted[table] += number
