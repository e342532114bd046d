"""Delete old and orphaned rows.

Pruning runs beside workers, in short transactions of bounded size, and may be interrupted and repeated;
`core/scheduling/jobs.py` decides what is too old.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from registry.actions.feed import sequence
from registry.core.scheduling.jobs import CLIENTS_FORGOTTEN_AFTER, INDEX_FORGOTTEN_AFTER, Horizon, Retention
from registry.store.jobs import LAST_RUNS
from registry.store.pruning import MAX_ROWS, OF_DOMAINS
from registry.store.unit_of_work import Store, UnitOfWork

BATCH: Final = 200
"""Domains per transaction."""

LOCKED: Final = 20
"""Domains locked at once: a worker that records one of them has to wait."""


async def prune(
    store: Store, retention: Retention, *, now: datetime, progress: Callable[[int], None] | None = None
) -> Mapping[str, int]:
    """Delete; return the deleted rows by table. `progress` gets the domains done. Safe to repeat. Raise
    StoreUnavailable."""
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
    await pruner.of_all(now - INDEX_FORGOTTEN_AFTER)
    async with store.begin() as uow:
        # guard: opt-out-clients
        await uow.opt_out_requests.erase_clients(before=now - CLIENTS_FORGOTTEN_AFTER)
    return {table: number for table, number in pruner.deleted.items() if number}


class _Pruner:
    def __init__(self, store: Store, horizon: Horizon) -> None:
        self._store = store
        self._horizon = horizon
        self.deleted: Counter[str] = Counter()

    async def of_domains(self, domains: Sequence[str]) -> None:
        for table in OF_DOMAINS:
            await self._delete_all(table, lambda uow, table: uow.pruning.old(table, domains, self._horizon))
        async with self._store.begin() as uow:
            suspects = await uow.pruning.with_orphans(domains, self._horizon)
        for table, table_domains in suspects.items():
            for start in range(0, len(table_domains), LOCKED):
                await self._delete_orphans(table, table_domains[start : start + LOCKED])

    async def of_all(self, unseen_since: datetime) -> None:
        """Prune the tables that are not keyed by domain."""
        horizon = self._horizon
        await sequence(self._store)  # only events with a place are deleted, in its order
        await self._delete_all("changes", lambda uow, _: uow.feed.prune(horizon.changes, most=MAX_ROWS))
        await self._delete_all("mcp_servers", lambda uow, _: uow.mcp_servers.prune(horizon.changes, most=MAX_ROWS))
        await self._delete_all(
            "claims", lambda uow, _: uow.claims.prune(expired=unseen_since, ended=horizon.changes, most=MAX_ROWS)
        )
        await self._delete_all("job_runs", lambda uow, _: uow.pruning.job_runs(horizon.job_runs, keep=LAST_RUNS))
        async with self._store.begin() as uow:
            self.deleted["search_target"] += len(await uow.search.forget(unseen_since=unseen_since))

    async def _delete_orphans(self, table: str, domains: Sequence[str]) -> None:
        """Delete orphaned rows under the lock that every writer of these domains takes first.

        A visit being recorded may refer to an unused body that it found and therefore does not write again.
        """

        async def delete(uow: UnitOfWork, table: str) -> int:
            await uow.domains.lock(domains)
            return await uow.pruning.idle(table, domains, self._horizon)

        await self._delete_all(table, delete)

    async def _delete_all(self, table: str, delete: Callable[[UnitOfWork, str], Awaitable[int]]) -> None:
        """Delete in transactions of MAX_ROWS rows until no row is left."""
        deleted = MAX_ROWS
        while deleted >= MAX_ROWS:
            async with self._store.begin() as uow:
                deleted = await delete(uow, table)
            self.deleted[table] += deleted


_log = logging.getLogger(__name__)
