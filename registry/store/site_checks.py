"""Repository of checks of sites on request: waiting ones, and results until they expire."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from registry.store.repository import Repository, selected
from registry.store.tables import SiteCheckRow

_SERIALIZE = text("SELECT pg_advisory_xact_lock(hashtextextended('site check ' || :name, 0))")

# One check of a domain at a time, and none while its hosts are visited: the pauses between requests hold for both.
_TAKE = text("""
WITH waiting AS (
    SELECT domain, host, id, row_number() OVER (PARTITION BY domain ORDER BY created_at) AS place,
        row_number() OVER (PARTITION BY client ORDER BY created_at) AS turn, created_at
    FROM site_checks s
    WHERE checked_at IS NULL AND expires_at > :now AND coalesce(claimed_until, '-infinity') <= :now
      AND NOT EXISTS (SELECT FROM site_checks r WHERE r.domain = s.domain AND r.checked_at IS NULL
                      AND r.claimed_until > :now)
      AND NOT EXISTS (SELECT FROM domains d WHERE d.domain = s.domain AND d.lease_token IS NOT NULL
                      AND d.next_visit_at > :now)),
picked AS (
    SELECT s.domain, s.host, s.id FROM site_checks s
    JOIN waiting w ON (s.domain, s.host, s.id) = (w.domain, w.host, w.id)
    WHERE w.place = 1 AND s.checked_at IS NULL AND coalesce(s.claimed_until, '-infinity') <= :now
    ORDER BY w.turn, w.created_at LIMIT :limit FOR UPDATE OF s SKIP LOCKED)
UPDATE site_checks s SET claimed_until = :until FROM picked p
WHERE (s.domain, s.host, s.id) = (p.domain, p.host, p.id) RETURNING s.id
""")

# A due visit of the domain waits until the check has ended. A lease keeps its own time.
_POSTPONE = text("""
UPDATE domains SET next_visit_at = :until
WHERE domain = ANY(:domains) AND next_visit_at < :until AND lease_token IS NULL
""")


@dataclass(frozen=True, slots=True)
class SiteCheckRecord:
    """A row of `site_checks`, without its client. `url`: None for a visit of the whole host. `result`: JSON."""

    domain: str
    host: str
    id: str
    digest: bytes
    url: str | None
    created_at: datetime
    expires_at: datetime
    claimed_until: datetime | None = None
    checked_at: datetime | None = None
    sent: int = 0
    result: bytes | None = None


class CheckCount(NamedTuple):
    """`since`: when the first of them was requested; None without any."""

    number: int
    since: datetime | None


class SiteChecks(Repository):
    async def serialize(self, name: str) -> None:
        """Wait until no other transaction holds this name: a client or a domain."""
        await self._execute(_SERIALIZE, {"name": name})

    async def add(self, record: SiteCheckRecord, *, client: str) -> None:
        values = {name: getattr(record, name) for name in record.__dataclass_fields__}
        await self._execute(insert(SiteCheckRow).values(values | {"client": client}))

    async def get(self, check: str) -> SiteCheckRecord | None:
        """Return a check by the id in its token."""
        return await self._first(SiteCheckRecord, select(*_COLUMNS).where(SiteCheckRow.id == check).limit(1))

    async def count(
        self, *, since: datetime, client: str | None = None, domain: str | None = None, host: str | None = None
    ) -> CheckCount:
        """Return how many checks were requested since then: by the client, of the domain and of the host given."""
        row = SiteCheckRow
        given = ((row.client, client), (row.domain, domain), (row.host, host))
        matches = [column == value for column, value in given if value is not None]
        statement = select(func.count(), func.min(row.created_at)).where(row.created_at > since, *matches)
        return await self._one(CheckCount, statement)

    async def waiting(self) -> int:
        """Return how many checks were not made yet."""
        return await self._number(select(func.count()).where(SiteCheckRow.checked_at.is_(None)))

    async def take(self, *, limit: int, now: datetime, until: datetime) -> list[SiteCheckRecord]:
        """Take at most `limit` checks for the caller until then; other visits of their domains wait as long."""
        ids = await self._scalars(_TAKE, {"limit": limit, "now": now, "until": until})
        taken = await self._list(SiteCheckRecord, select(*_COLUMNS).where(SiteCheckRow.id.in_(ids))) if ids else []
        if taken:
            await self._execute(_POSTPONE, {"domains": sorted({one.domain for one in taken}), "until": until})
        return taken

    async def settle(self, check: str, result: bytes, *, sent: int, now: datetime) -> None:
        """Store the result of a check that has none yet."""
        row = SiteCheckRow
        values = {"result": result, "sent": sent, "checked_at": now, "claimed_until": None}
        await self._execute(update(row).where(row.id == check, row.checked_at.is_(None)).values(values))

    async def remove_expired(self, *, now: datetime) -> int:
        """Delete expired checks, with their results; return their number."""
        return await self._touched(delete(SiteCheckRow).where(SiteCheckRow.expires_at <= now))


_COLUMNS: Final = selected(SiteCheckRow, SiteCheckRecord)
