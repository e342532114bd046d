"""Repository of job runs, with repairs of the frontier that the schedule needs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import delete, select, text, update
from sqlalchemy.dialects.postgresql import distinct_on

from registry.core.scheduling.jobs import JobRun, RunOutcome
from registry.store.domains import LEASE_LOCKS, MAX_ATTEMPTS
from registry.store.engine import decode
from registry.store.repository import Repository
from registry.store.tables import JobRunRow, MaintenanceRow
from registry.store.values import REASON_CHARS, clean, clean_json, clean_or_none

LAST_RUNS: Final = 20
"""Number of runs that decide on the next one: more consecutive failures than this do not change its back-off."""

_CRAWLERS = text("""
SELECT count(DISTINCT objid) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = CAST(:locks AS oid)
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
""")

_PAGE = text("SELECT domain FROM domains WHERE domain > :after ORDER BY domain LIMIT :limit")

# Domains that are not due although one of their hosts has been for long. Domains that were set aside, or that a crawler
# has postponed for a while, are not among them (their hosts have not been due for long).
_OVERDUE = text("""
UPDATE domains d SET next_visit_at = h.due
FROM (SELECT domain, min(next_visit_at) AS due FROM hosts WHERE domain = ANY(:domains) GROUP BY domain) h
WHERE d.domain = h.domain AND h.due < :before AND d.lease_token IS NULL AND d.attempts < :most
  AND coalesce(d.next_visit_at, 'infinity') > :now
""")
_SHOWN_ALL_THE_SAME = text("""
SELECT DISTINCT o.domain, o.host FROM opt_outs o JOIN services s ON s.domain = o.domain AND NOT s.hidden
    AND (s.host = o.host OR right(s.host, length(o.host) + 1) = '.' || o.host)
ORDER BY 1, 2 LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A row of `job_runs`. `figures`: counts of the run's results by name. `error`: why it failed."""

    job: str
    started_at: datetime
    finished_at: datetime | None
    outcome: RunOutcome
    figures: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None

    @property
    def run(self) -> JobRun:
        return JobRun(self.started_at, self.finished_at, self.outcome)


class Jobs(Repository):
    async def last(self, job: str, *, limit: int = LAST_RUNS) -> list[RunRecord]:
        """Return the latest runs of a job, newest first."""
        row = JobRunRow
        statement = select(row.__table__).where(row.job == job).order_by(row.started_at.desc()).limit(limit)
        return [_run(values) for values in (await self._execute(statement)).mappings()]

    async def latest(self) -> list[RunRecord]:
        """Return the latest run of each job that ever ran, by name."""
        row = JobRunRow
        statement = select(row.__table__).ext(distinct_on(row.job)).order_by(row.job, row.started_at.desc())
        return [_run(values) for values in (await self._execute(statement)).mappings()]

    async def begin(self, job: str, *, now: datetime) -> None:
        """Record the start of a run; `now` identifies it. Only for the holder of the job's lock."""
        row = {"job": job, "started_at": now, "outcome": RunOutcome.RUNNING.value, "figures": {}}
        await self._replace(JobRunRow, row)

    async def end(self, run: RunRecord) -> None:
        """Record how the run that began at `run.started_at` ended."""
        row, error = JobRunRow, clean_or_none(run.error, REASON_CHARS)
        values = {"finished_at": run.finished_at, "outcome": run.outcome.value, "error": error}
        statement = update(row).where(row.job == run.job, row.started_at == run.started_at)
        await self._execute(statement.values(figures=clean_json(run.figures), **values))

    async def settle(self, job: str, *, now: datetime) -> int:
        """Mark runs still recorded as running as lost; return their number. Only for the holder of the job's lock."""
        row = JobRunRow
        statement = update(row).where(row.job == job, row.outcome == RunOutcome.RUNNING.value)
        return await self._touched(statement.values(outcome=RunOutcome.LOST.value, finished_at=now))

    async def crawlers(self) -> int:
        """Return the number of crawling processes, which hold a lease lock."""
        return await self._number(_CRAWLERS, {"locks": LEASE_LOCKS})

    async def maintenance(self) -> str | None:
        """Return the message of the current maintenance; None without one."""
        return next(iter(await self._scalars(select(MaintenanceRow.message))), None)

    async def set_maintenance(self, message: str | None, *, now: datetime) -> None:
        """Begin or change the maintenance; end it with None."""
        if message is None:
            await self._execute(delete(MaintenanceRow))
        else:
            await self._replace(MaintenanceRow, {"key": 1, "message": clean(message), "since": now})

    async def domains(self, after: str, *, limit: int) -> list[str]:
        """Return the names of domains after `after`, in order; begin with "" as `after`."""
        return await self._scalars(_PAGE, {"after": after, "limit": limit})

    async def bring(self, domains: Collection[str], *, before: datetime, now: datetime) -> int:
        """Make domains due that are not due although a host was due before `before`; return their number."""
        bound = {"domains": list(domains), "before": before, "now": now, "most": MAX_ATTEMPTS}
        return await self._touched(_OVERDUE, bound)

    async def opted_out_but_shown(self, *, limit: int) -> list[tuple[str, str]]:
        """Return (domain, host) of opt-outs over a service that is still shown, in rows restored from a backup."""
        return await self._keys(_SHOWN_ALL_THE_SAME, {"limit": limit})


def _run(values: Mapping[Any, Any]) -> RunRecord:
    return RunRecord(**{**values, "outcome": RunOutcome(values["outcome"]), "figures": decode(values["figures"])})
