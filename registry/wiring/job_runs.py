"""Locks and the log of runs of the recurring jobs (`registry.wiring.schedule`)."""

import contextlib

from registry.core.scheduling import jobs
from registry.store.holder import HeldLock, hold_job
from registry.store.jobs import RunRecord
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now


class JobActions:
    """`begin`, `settle` and `end` are for the process that holds the job's lock."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def hold(self, job: str, *, patient: bool = False) -> contextlib.AbstractAsyncContextManager[HeldLock | None]:
        return hold_job(self._store.engine, job, patient=patient)

    async def last_runs(self, job: str) -> list[RunRecord]:
        async with self._store.begin() as uow:
            return await uow.jobs.last(job)

    async def begin(self, job: str) -> RunRecord:
        now = utc_now()
        async with self._store.begin() as uow:
            await uow.jobs.begin(job, now=now)
        return RunRecord(job, now, None, jobs.RunOutcome.RUNNING)

    async def settle(self, job: str) -> int:
        """Mark runs as lost whose process died while they were running. Return their number."""
        async with self._store.begin() as uow:
            return await uow.jobs.settle(job, now=utc_now())

    async def end(self, run: RunRecord) -> None:
        async with self._store.begin() as uow:
            await uow.jobs.end(run)
