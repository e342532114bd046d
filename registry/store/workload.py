"""Counts of what waits, for the registry's operators."""

from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.submissions import Counted

_SUBMITTED = text("""
SELECT count(*), min(h.submitted_at) FROM domains d JOIN hosts h ON h.domain = d.domain
WHERE d.next_visit_at <= :due_before AND h.submitted_at IS NOT NULL AND h.next_visit_at <= :now
  AND (h.last_visit_at IS NULL OR h.submitted_at > h.last_visit_at)
""")

# Of the clients' submissions of the last day, which have an index, so that not all hosts are read.
_POSTPONED = text("""
SELECT count(DISTINCT (s.domain, s.host)) FROM submissions s
JOIN hosts h ON h.domain = s.domain AND h.host = s.host
WHERE s.resolved IS NULL AND h.next_visit_why = 'asked' AND h.next_visit_at > :now
""")

_BY_CLIENT = text("""
SELECT count(DISTINCT (domain, host)) AS number FROM submissions WHERE asked_at > :since AND resolved IS NULL
GROUP BY client ORDER BY number DESC LIMIT :most
""")

_OPT_OUT_REQUESTS = text("SELECT count(*), min(asked_at) FROM opt_out_requests WHERE checked_at IS NULL")


class WorkloadCounts:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def submitted(self, *, now: datetime, due_before: datetime) -> Counted:
        """Count the submitted hosts that are due, of domains that are due before `due_before`."""
        bound = {"now": now, "due_before": due_before}
        return Counted(*(await self._connection.execute(_SUBMITTED, bound)).one())

    async def postponed(self, *, now: datetime) -> int:
        return int((await self._connection.execute(_POSTPONED, {"now": now})).scalar_one())

    async def by_client(self, *, since: datetime, most: int) -> tuple[int, ...]:
        """Return the numbers of hosts that clients submitted and that wait for a visit, the largest first."""
        return tuple((await self._connection.execute(_BY_CLIENT, {"since": since, "most": most})).scalars())

    async def opt_out_requests(self) -> Counted:
        """Count the open requests to check an opt-out."""
        return Counted(*(await self._connection.execute(_OPT_OUT_REQUESTS)).one())
