"""Repository of the runs of recurring jobs, and what the schedule needs to know of the crawl that it looks after."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.core.jobs import Outcome, Run
from registry.store.domains import LEASE_LOCKS, MAX_ATTEMPTS
from registry.store.engine import decode
from registry.store.tables import JobRunRow
from registry.store.values import REASON_CHARS, clean_json, clean_or_none

LAST_RUNS: Final = 20
"""More failures in a row than this make no difference to the next try."""

_CRAWLERS = text("""
SELECT count(DISTINCT objid) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = CAST(:locks AS oid)
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
""")

_PAGE = text("SELECT domain FROM domains WHERE domain > :after ORDER BY domain LIMIT :limit")

# A host that has been due for long, below a domain that nobody will visit for its sake. Not those that were set aside,
# nor those that a crawler wants to leave alone for a while (their hosts have not been due for long).
_FORGOTTEN = text("""
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
    """A row of `job_runs`. `figures`: what the run did, by name; `error`: why it ended badly."""

    job: str
    started_at: datetime
    finished_at: datetime | None
    outcome: Outcome
    figures: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None

    @property
    def run(self) -> Run:
        return Run(self.started_at, self.finished_at, self.outcome)


class Jobs:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def last(self, job: str, *, limit: int = LAST_RUNS) -> list[RunRecord]:
        """The latest runs of a job, the newest first."""
        row = JobRunRow
        statement = select(row.__table__).where(row.job == job).order_by(row.started_at.desc()).limit(limit)
        found = (await self._connection.execute(statement)).mappings()
        return [
            RunRecord(**{**one, "outcome": Outcome(one["outcome"]), "figures": decode(one["figures"])}) for one in found
        ]

    async def begin(self, job: str, *, now: datetime) -> None:
        """A run has begun; `now` names it. Only for who holds the job's lock."""
        row = {"job": job, "started_at": now, "outcome": Outcome.RUNNING.value, "figures": {}}
        again = insert(JobRunRow).on_conflict_do_update(index_elements=["job", "started_at"], set_=row)
        await self._connection.execute(again, row)

    async def end(self, run: RunRecord) -> None:
        """How the run that began at `run.started_at` ended."""
        row = JobRunRow
        statement = update(row).where(row.job == run.job, row.started_at == run.started_at)
        await self._connection.execute(
            statement.values(
                finished_at=run.finished_at,
                outcome=run.outcome.value,
                figures=clean_json(run.figures),
                error=clean_or_none(run.error, REASON_CHARS),
            )
        )

    async def settle(self, job: str, *, now: datetime) -> int:
        """Runs that are still marked as running have died: only for who holds the job's lock. Gives their number."""
        row = JobRunRow
        lost = update(row).where(row.job == job, row.outcome == Outcome.RUNNING.value)
        result = await self._connection.execute(
            lost.values(outcome=Outcome.LOST.value, finished_at=now).returning(row.started_at)
        )
        return len(result.all())

    async def crawlers(self) -> int:
        """Processes that hold the lock by which leases are vouched for: those that crawl at this moment."""
        return int((await self._connection.execute(_CRAWLERS, {"locks": LEASE_LOCKS})).scalar_one())

    async def domains(self, after: str, *, limit: int) -> list[str]:
        """Names of domains behind `after`, in their order; "" to begin with."""
        return list((await self._connection.execute(_PAGE, {"after": after, "limit": limit})).scalars())

    async def bring(self, domains: Collection[str], *, before: datetime, now: datetime) -> int:
        """Makes domains due whose hosts have been due since `before` and that are not; gives their number."""
        bound = {"domains": list(domains), "before": before, "now": now, "most": MAX_ATTEMPTS}
        return (await self._connection.execute(_FORGOTTEN, bound)).rowcount

    async def shown_all_the_same(self, *, limit: int) -> list[tuple[str, str]]:
        """(domain, host) of opt-outs that cover a service which is not hidden: rows that came from a backup."""
        found = await self._connection.execute(_SHOWN_ALL_THE_SAME, {"limit": limit})
        return [(domain, host) for domain, host in found]
