"""Locks and the log of runs of the recurring jobs (`registry.wiring.schedule`)."""

import contextlib
from dataclasses import dataclass

from registry.actions import Clock, call_of
from registry.core.scheduling.jobs import RunOutcome
from registry.store.holder import LEAD, HeldLock, hold_job
from registry.store.jobs import RunRecord
from registry.store.unit_of_work import Store


@dataclass(eq=False)
class JobActions:
    """`begin`, `settle` and `end` are for the process that holds the job's lock."""

    _store: Store
    _clock: Clock

    last_runs = call_of(lambda uow: uow.jobs.last)
    end = call_of(lambda uow: uow.jobs.end)
    crawlers = call_of(lambda uow: uow.jobs.crawlers)

    def hold(self, job: str, *, patient: bool = False) -> contextlib.AbstractAsyncContextManager[HeldLock | None]:
        """Hold the job's lock; yield None while another process has it. `patient`: wait for it."""
        return hold_job(self._store.engine, job, patient=patient)

    async def is_led(self) -> bool:
        """Return whether a process runs the schedule. A leader that starts at this moment tries again in a second."""
        async with self.hold(LEAD) as hold:
            return hold is None

    async def set_maintenance(self, message: str | None) -> None:
        """Begin or change the maintenance of the whole registry; end it with None. Processes follow in seconds."""
        async with self._store.begin() as uow:
            await uow.jobs.set_maintenance(message, now=self._clock())

    async def begin(self, job: str) -> RunRecord:
        """Log a run that begins now."""
        now = self._clock()
        async with self._store.begin() as uow:
            await uow.jobs.begin(job, now=now)
        return RunRecord(job, now, None, RunOutcome.RUNNING)

    async def settle(self, job: str) -> int:
        """Mark runs as lost whose process died while they were running. Return their number."""
        async with self._store.begin() as uow:
            return await uow.jobs.settle(job, now=self._clock())
