"""The partitions of `visits`: months of visits come and go as a whole, so that age costs neither deletions nor vacuum.

- `visits_YYYY_MM`: a month (UTC) of `visits_by_month`. Made ahead; when it is old, dropped or detached for the
  operator's archive. `visits_before_YYYY_MM` is the table of before the migration 6f2d8b4c1e97.
- `visits_other`: all other times (a clock a year ahead, restored rows), so that no insert ever fails.
- `visits_kept`: the latest visits of hosts that are visited rarely, moved there before their month goes.

Names are for people: bounds are read from the catalogue.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from registry.core.scheduling.jobs import Horizon
from registry.store.repository import Repository

MONTHS_AHEAD: Final = 3  # the schedule may pause for as long
LOCK_SECONDS: Final = 2  # everything that needs the ledger waits behind a lock that waits
MAX_MOVED: Final = 100_000  # visits that are moved from `visits_other` into their month, under a lock
_LOCK_NOT_AVAILABLE: Final = "55P03"

# The text of a bound is in the session's time zone, as is its cast.
_MONTHS = text("""
SELECT name, since, until FROM (
    SELECT inhrelid::regclass::text AS name,
        substring(bound FROM $$FROM \\('([^']+)'\\)$$)::timestamptz AS since,
        substring(bound FROM $$TO \\('([^']+)'\\)$$)::timestamptz AS until
    FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid, pg_get_expr(c.relpartbound, c.oid) AS bound
    WHERE inhparent = 'visits_by_month'::regclass) AS partition
WHERE until IS NOT NULL ORDER BY until
""")

_WANTED = text("""
SELECT (first + make_interval(months => n)) AT TIME ZONE 'UTC',
    (first + make_interval(months => n + 1)) AT TIME ZONE 'UTC'
FROM date_trunc('month', CAST(:now AS timestamptz) AT TIME ZONE 'UTC') AS first, generate_series(0, :ahead) AS n
""")

# Visits of some domains in a month that are among the latest of their host.
_LATEST = """
FROM (
    SELECT domain, host, started_at, row_number() OVER (PARTITION BY domain, host ORDER BY started_at DESC) AS place
    FROM {month} WHERE domain = ANY(:domains)) AS old
WHERE place <= :visits_per_host AND NOT EXISTS (
    SELECT FROM visits v WHERE v.domain = old.domain AND v.host = old.host AND v.started_at > old.started_at
    OFFSET :visits_per_host - 1)
"""

# The changed partition key moves the rows. With the bounds only the month is looked at.
_KEEP = """
UPDATE visits v SET kept = true FROM (SELECT domain, host, started_at {latest} LIMIT :most) AS l
WHERE NOT v.kept AND v.started_at >= coalesce(CAST(:since AS timestamptz), '-infinity') AND v.started_at < :until
    AND v.domain = l.domain AND v.host = l.host AND v.started_at = l.started_at
"""


@dataclass(frozen=True, slots=True)
class Month:
    """A partition: the visits from `since` (None: the beginning) until before `until`."""

    name: str
    since: datetime | None
    until: datetime


class VisitMonths(Repository):
    async def all(self) -> list[Month]:
        """Return all months, the oldest first."""
        return await self._list(Month, _MONTHS)

    async def make(self, *, now: datetime) -> None:
        """Make the current month and the next MONTHS_AHEAD, unless they exist or the lock is not to be had: until then
        their visits go to `visits_other`."""
        months = await self.all()
        for since, until in await self._execute(_WANTED, {"now": now, "ahead": MONTHS_AHEAD}):
            if not any((month.since is None or month.since <= since) and since < month.until for month in months):
                await self._make(f"visits_{since.astimezone(UTC):%Y_%m}", since, until)

    async def with_latest(self, month: Month, domains: Collection[str], horizon: Horizon) -> list[str]:
        """Return the domains whose visits in the month must be kept."""
        statement = text(f"SELECT DISTINCT domain {_LATEST.format(month=month.name)} ORDER BY 1")
        return await self._scalars(statement, _bound(domains, horizon))

    async def keep(self, month: Month, domains: Collection[str], horizon: Horizon, *, most: int) -> int:
        """Move at most `most` visits of locked domains out of the month; return their number."""
        statement = text(_KEEP.format(latest=_LATEST.format(month=month.name)))
        bound = _bound(domains, horizon) | {"since": month.since, "until": month.until, "most": most}
        return await self._touched(statement, bound)

    async def remove(self, month: Month, *, archive: bool) -> int | None:
        """Drop the month, or detach it as the table `<name>_archived`. Return the number of its visits; None: the lock
        is not to be had."""
        number = await self._number(text(f"SELECT count(*) FROM {month.name}"))  # noqa: S608  (only our own names)
        if not await self._lock("visits_by_month"):
            return None
        if archive:
            await self._execute(text(f"ALTER TABLE visits_by_month DETACH PARTITION {month.name}"))
            await self._execute(text(f"ALTER TABLE {month.name} RENAME TO {month.name}_archived"))
        else:
            await self._execute(text(f"DROP TABLE {month.name}"))
        return number

    async def _make(self, name: str, since: datetime, until: datetime) -> None:
        bounds = {"since": since, "until": until}
        in_month = "FROM visits_other WHERE started_at >= :since AND started_at < :until"
        count = f"SELECT count(*) FROM (SELECT {in_month} LIMIT {MAX_MOVED + 1}) AS found"  # noqa: S608  (see above)
        if await self._number(text(count), bounds) > MAX_MOVED or not await self._lock("visits_other"):
            return
        for statement in (
            f"CREATE TABLE {name} (LIKE visits INCLUDING DEFAULTS, PRIMARY KEY (domain, host, started_at))",
            f"WITH moved AS (DELETE {in_month} RETURNING *) INSERT INTO {name} SELECT * FROM moved",  # noqa: S608
            f"ALTER TABLE visits_by_month ATTACH PARTITION {name}"
            f" FOR VALUES FROM ('{since.isoformat()}') TO ('{until.isoformat()}')",
        ):
            await self._execute(text(statement), bounds if ":since" in statement else None)

    async def _lock(self, table: str) -> bool:
        """Lock a table against everything; return False if it is not to be had in LOCK_SECONDS."""
        try:
            async with self._connection.begin_nested():
                await self._execute(text(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"))
                await self._execute(text(f"LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE"))
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
                raise
            return False
        return True


def _bound(domains: Collection[str], horizon: Horizon) -> dict[str, Any]:
    return {"domains": list(domains), "visits_per_host": horizon.visits_per_host}
