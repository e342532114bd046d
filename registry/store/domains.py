"""The lease: which domains are due, who holds them, and since when nobody has completed them."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.bulk import many
from registry.store.driver import Driver, listed
from registry.store.records import DomainRecord
from registry.store.tables import DomainRow

MAX_ATTEMPTS: Final = 3
"""Leases in a row that nobody completed: the domain may be what kills its workers, and is set aside."""

SUSPECT_FOR: Final = timedelta(minutes=1)
"""The first time. Short, because most suspects were only in flight when somebody else's worker was killed."""

UNSTORABLE_FOR: Final = timedelta(days=1)
"""What is served cannot be kept, which is certain: a quarter of this at first."""

LEASE_LOCKS: Final = 0x77617901
"""First key of the advisory locks that workers hold while they live; the second is their `lease_holder`."""

_TAKE = """
WITH due AS (
    SELECT domain FROM domains
    WHERE next_visit_at <= %(now)s AND (lease_token IS NULL OR attempts < %(most)s)
      AND (%(only)s::text IS NULL OR domain = ANY(string_to_array(%(only)s, ' ')))
    ORDER BY next_visit_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
UPDATE domains d
SET next_visit_at = %(until)s, lease_token = %(token)s, lease_holder = %(holder)s,
    attempts = least(d.attempts + 1, 1000)
FROM due WHERE d.domain = due.domain RETURNING d.domain
"""

# Who dies with a lease again and again waits `step`, then twice as long, at most a month; then it gets one more try.
# In no order: by the index of leases, of which there are few, and not by that of everything that is due.
_EXPIRED_TOO_OFTEN = """
SELECT domain FROM domains
WHERE next_visit_at <= %(now)s AND lease_token IS NOT NULL AND attempts >= %(most)s
LIMIT 1000 FOR UPDATE SKIP LOCKED
"""
_SET_ASIDE = text("""
UPDATE domains SET lease_token = NULL, lease_holder = NULL,
    next_visit_at = CAST(:now AS timestamptz)
                    + least(power(2, least(attempts - :most, 20)) * CAST(:step AS interval), interval '30 days')
WHERE domain = ANY(:domains)
""")

_FORGIVE = text("UPDATE domains SET attempts = 0 WHERE domain = ANY(:domains)")

_SOONER = text("""
UPDATE domains SET next_visit_at = least(next_visit_at, :soon)
WHERE domain = ANY(:domains) AND attempts < :most AND (lease_token IS NULL OR next_visit_at <= :now)
""")

# The same for hosts that were added: no sooner than they are due themselves, so that seeding a list again, none of
# whose hosts is due, makes no domain due.
_FROM_HOSTS = text("""
UPDATE domains d SET next_visit_at = h.due
FROM (SELECT domain, min(next_visit_at) AS due FROM hosts WHERE domain = ANY(:domains) GROUP BY domain) h
WHERE d.domain = h.domain AND d.attempts < :most AND (d.lease_token IS NULL OR d.next_visit_at <= :now)
  AND h.due < coalesce(d.next_visit_at, 'infinity')
""")

_HOLD = """
SELECT d.domain, d.lease_token FROM domains d
JOIN unnest(string_to_array(%(domains)s, ' '), string_to_array(%(tokens)s, ' ')::uuid[]) AS leased (domain, token)
  ON d.domain = leased.domain AND d.lease_token = leased.token
ORDER BY d.domain FOR UPDATE OF d
"""

# From the hosts, so that a host submitted meanwhile counts.
_GIVE_BACK = """
UPDATE domains d SET lease_token = NULL, lease_holder = NULL, attempts = greatest(0, d.attempts - %(forgiven)s),
    next_visit_at = greatest(%(not_before)s::timestamptz,
                             (SELECT min(next_visit_at) FROM hosts h WHERE h.domain = d.domain))
WHERE d.domain = ANY(string_to_array(%(held)s, ' '))
"""

_ORPHANS = text("""
SELECT domain, attempts FROM domains d
WHERE lease_token IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = CAST(:locks AS oid)
      AND l.objid = CAST(CAST(d.lease_holder AS bigint) AS oid)
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
ORDER BY domain FOR UPDATE SKIP LOCKED
""")


class Domains:
    """The lease. Statements as measured in the notes of the frontier table; see `take`, `hold`, `give_back`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._driver = Driver(connection)

    async def add(self, domains: Collection[str], *, source: str, now: datetime, due: datetime) -> int:
        """New ones only; gives their number. Sorted, so that two seeders cannot deadlock."""
        rows = [
            {"domain": domain, "source": source, "created_at": now, "next_visit_at": due} for domain in sorted(domains)
        ]
        return await many(self._connection, insert(DomainRow).on_conflict_do_nothing(), rows)

    async def lock(self, domains: Collection[str]) -> None:
        """Serialises writers of these domains; every writer locks in the order of names."""
        statement = select(DomainRow.domain).where(DomainRow.domain.in_(list(domains)))
        await self._connection.execute(statement.order_by(DomainRow.domain).with_for_update())

    async def take(
        self,
        *,
        limit: int,
        now: datetime,
        until: datetime,
        token: UUID,
        holder: int,
        only: Collection[str] | None = None,
    ) -> list[str]:
        """Leases at most `limit` due domains (of `only`), the longest overdue first; nobody else's rows are waited for.

        Those whose leases expired again and again are set aside instead.
        """
        if hopeless := await self._driver.rows(_EXPIRED_TOO_OFTEN, {"now": now, "most": MAX_ATTEMPTS}):
            await self.set_aside([domain for (domain,) in hopeless], now=now, step=SUSPECT_FOR)
        bound = {"now": now, "most": MAX_ATTEMPTS, "limit": limit, "until": until, "token": token, "holder": holder}
        bound["only"] = None if only is None else listed(only)
        return sorted(domain for (domain,) in await self._driver.rows(_TAKE, bound))

    async def sooner(self, domains: Collection[str], *, soon: datetime, now: datetime) -> None:
        """Makes them due at `soon` at the latest; a running lease and a domain set aside are left alone."""
        bound = {"domains": list(domains), "soon": soon, "now": now, "most": MAX_ATTEMPTS}
        await self._connection.execute(_SOONER, bound)

    async def from_hosts(self, domains: Collection[str], *, now: datetime) -> None:
        """Makes domains due as soon as their earliest host is; a running lease and those set aside are left alone."""
        await self._connection.execute(_FROM_HOSTS, {"domains": list(domains), "now": now, "most": MAX_ATTEMPTS})

    async def hold(self, leased: Collection[tuple[UUID, str]]) -> dict[str, UUID]:
        """Locks those domains that their lease still owns. What is missing was taken by somebody else."""
        bound = {"domains": listed(domain for _, domain in leased), "tokens": listed(str(token) for token, _ in leased)}
        return dict(await self._driver.rows(_HOLD, bound))

    async def leased(self, token: UUID) -> list[str]:
        found = await self._connection.execute(select(DomainRow.domain).where(DomainRow.lease_token == token))
        return list(found.scalars())

    async def give_back(
        self, held: Collection[str], *, forgiven: int = 1_000, not_before: datetime | None = None
    ) -> None:
        """Ends the lease of locked domains; the next visit is that of their earliest host.

        `forgiven`: how many attempts are taken back: all of them for a completed visit, 1 for one never begun.
        """
        if held:
            bound = {"held": listed(held), "forgiven": forgiven, "not_before": not_before}
            await self._driver.run(_GIVE_BACK, bound)

    async def forgive(self, domains: Collection[str]) -> None:
        """Those set aside, or about to be, are like any other again: an operator wants to see what happens."""
        await self._connection.execute(_FORGIVE, {"domains": list(domains)})

    async def set_aside(self, domains: Collection[str], *, now: datetime, step: timedelta) -> None:
        """Ends the lease of locked domains; `step` is doubled with every attempt above MAX_ATTEMPTS, halved below."""
        bound = {"domains": list(domains), "now": now, "most": MAX_ATTEMPTS, "step": step}
        await self._connection.execute(_SET_ASIDE, bound)

    async def orphans(self) -> list[tuple[str, int]]:
        """Locked: domains with their attempts whose lease holder's advisory lock is gone, with its process."""
        found = await self._connection.execute(_ORPHANS, {"locks": LEASE_LOCKS})
        return [(domain, attempts) for domain, attempts in found]

    async def next_due(self) -> datetime | None:
        """When the next domain that nobody holds is due."""
        free = select(func.min(DomainRow.next_visit_at)).where(DomainRow.lease_token.is_(None))
        return (await self._connection.execute(free)).scalar()

    async def get(self, domain: str) -> DomainRecord | None:
        row = DomainRow
        leased = row.lease_token.is_not(None)
        wanted = select(row.domain, row.source, row.created_at, row.next_visit_at, leased, row.attempts)
        found = (await self._connection.execute(wanted.where(row.domain == domain))).one_or_none()
        return None if found is None else DomainRecord(*found)

    async def earliest(self, *, after: datetime, until: datetime) -> datetime | None:
        """The earliest moment at which a domain that nobody holds is due, between two moments."""
        due, row = func.min(DomainRow.next_visit_at), DomainRow
        free = select(due).where(row.next_visit_at > after, row.next_visit_at <= until, row.lease_token.is_(None))
        return (await self._connection.execute(free)).scalar()

    async def counts(self, now: datetime) -> dict[str, int]:
        """Domains by state: "due", "leased", "waiting", "never"."""
        running = DomainRow.lease_token.is_not(None) & (DomainRow.next_visit_at > now)
        waiting = DomainRow.lease_token.is_(None) & (DomainRow.next_visit_at > now)
        row = (
            await self._connection.execute(
                select(
                    func.count().filter(DomainRow.next_visit_at <= now),
                    func.count().filter(running),
                    func.count().filter(waiting),
                    func.count().filter(DomainRow.next_visit_at.is_(None)),
                )
            )
        ).one()
        return dict(zip(("due", "leased", "waiting", "never"), row, strict=True))
