"""Repository of domains: due ones, leases, and domains set aside because no lease was completed.

Names are loaded into the frontier in bulk: COPY into a temporary table, then a few statements for all rows. Every
writer of the frontier keeps this order, so that writers cannot deadlock: domains are inserted in the byte order of
their names, then existing ones are locked in the same order, and only then hosts are written. A writer that waits for
an insert holds no lock on an existing row; a writer that waits for a lock does not wait for an insert.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert

from registry.core.reading.plain_text import line
from registry.store.engine import StoreUnavailable, listed
from registry.store.primary import is_settled
from registry.store.records import DomainRecord
from registry.store.repository import Repository
from registry.store.tables import DomainRow

MAX_ATTEMPTS: Final = 3
"""Uncompleted leases in a row after which a domain is set aside, because it may kill its workers."""

SUSPECT_FOR: Final = timedelta(minutes=1)
"""First delay of a domain set aside. Short, because most were only in flight when their worker was killed."""

UNSTORABLE_FOR: Final = timedelta(days=1)
"""Delay of a domain whose answers cannot be stored, a quarter of it at first. Long, because the failure is certain."""

LEASE_LOCKS: Final = 0x77617901
"""First key of the advisory locks that workers hold while they live; the second key is `lease_holder`."""

# guard: one-lease
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

# A domain with repeatedly expired leases waits `step`, then twice as long, at most 30 days, then gets another try. The
# query is unordered, so that the small index of leases is used, not the index of all due domains.
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
UPDATE domains SET next_visit_at = least(next_visit_at, :due)
WHERE domain = ANY(:domains) AND attempts < :most AND (lease_token IS NULL OR next_visit_at <= :now)
""")

# The same for added hosts, but no sooner than they are due: seeding a list again makes a domain due only if one of its
# hosts is.
_FROM_HOSTS = text("""
UPDATE domains d SET next_visit_at = h.due
FROM (SELECT domain, min(next_visit_at) AS due FROM hosts WHERE domain = ANY(:domains) GROUP BY domain) h
WHERE d.domain = h.domain AND d.attempts < :most AND (d.lease_token IS NULL OR d.next_visit_at <= :now)
  AND h.due < coalesce(d.next_visit_at, 'infinity')
""")

# guard: lease-held
_HOLD = """
SELECT d.domain, d.lease_token FROM domains d
JOIN unnest(string_to_array(%(domains)s, ' '), string_to_array(%(tokens)s, ' ')::uuid[]) AS leased (domain, token)
  ON d.domain = leased.domain AND d.lease_token = leased.token
ORDER BY d.domain FOR UPDATE OF d
"""

_FENCED = """
SELECT domain FROM domains
WHERE lease_holder = %(holder)s AND lease_token IS NOT NULL
  AND lease_token <> ALL (string_to_array(%(tokens)s, ' ')::uuid[])
"""

# Computed from the hosts, so that a host submitted meanwhile counts.
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


REFERRER_CHARS: Final = 500

_CREATE = text("CREATE TEMPORARY TABLE loaded (domain text, host text, ordinal bigint, referrer text) ON COMMIT DROP")

# Opt-outs come first: if a host is blocked too, the reason is the wish of its site.
_OPTED_OUT = text("""
DELETE FROM loaded l USING opt_outs o
WHERE l.domain = o.domain AND (l.host = o.host OR right(l.host, length(o.host) + 1) = '.' || o.host)
RETURNING l.host, l.referrer, 'opted_out'
""")
_BLOCKED = text("""
DELETE FROM loaded l USING listing_holds h
WHERE h.kind = 'blocked' AND l.domain = h.domain
  AND (l.host = h.host OR right(l.host, length(h.host) + 1) = '.' || h.host)
RETURNING l.host, l.referrer, 'blocked'
""")

# Drop known hosts from the load first, so that loading a list again locks and writes nothing.
_KNOWN = text("DELETE FROM loaded l USING hosts h WHERE h.domain = l.domain AND h.host = l.host")

_DOMAINS = text("""
INSERT INTO domains (domain, source, created_at, next_visit_at)
SELECT domain, :source, :now, :due + min(ordinal) * interval '1 microsecond'
FROM loaded GROUP BY domain ORDER BY domain COLLATE "C"
ON CONFLICT DO NOTHING
""")
_DISTINCT = text("SELECT count(DISTINCT domain) FROM loaded")
_LOCK_LOADED = text("""
SELECT count(*) FROM (
    SELECT FROM domains WHERE domain IN (SELECT domain FROM loaded) ORDER BY domain FOR UPDATE) locked
""")
_HOSTS = text("""
INSERT INTO hosts (domain, host, source, referrer, created_at, next_visit_at)
SELECT domain, host, :source, referrer, :now, :due + ordinal * interval '1 microsecond' FROM loaded
ORDER BY domain COLLATE "C", host COLLATE "C"
ON CONFLICT DO NOTHING
""")

# Only if it makes the domain due sooner. Running leases and domains set aside are left unchanged.
_LOADED_SOONER = text("""
UPDATE domains d SET next_visit_at = l.due
FROM (SELECT domain, :due + min(ordinal) * interval '1 microsecond' AS due FROM loaded GROUP BY domain) l
WHERE d.domain = l.domain AND d.attempts < :most AND (d.lease_token IS NULL OR d.next_visit_at <= :now)
  AND l.due < coalesce(d.next_visit_at, 'infinity')
""")


class WrongClock(StoreUnavailable):
    """The clock of this machine, or of the database's, is wrong. The message says by how much they differ."""


class NamedHost(NamedTuple):
    """A canonical host with its domain. `ordinal`: number of hosts of the same load that are visited before it."""

    domain: str
    host: str
    ordinal: int
    referrer: str | None


class LoadCounts(NamedTuple):
    """Numbers of new domains, new hosts and known hosts; and the hosts that must not be visited, with their referrers
    and the reason: `opted_out`, `blocked`."""

    domains: int
    hosts: int
    known: int
    closed: list[tuple[str, str | None, str]]


class Domains(Repository):
    """Domains and their leases: see `take`, `lock_leased`, `end_lease` and `set_aside`."""

    async def add(self, domains: Collection[str], *, source: str, now: datetime, due: datetime | None) -> int:
        """Insert new domains and return their number. `due`: None leaves them unscheduled. They are sorted, so that two
        seeders cannot deadlock."""
        rows = [
            {"domain": domain, "source": source, "created_at": now, "next_visit_at": due} for domain in sorted(domains)
        ]
        return await self._many(insert(DomainRow).on_conflict_do_nothing(), rows)

    async def lock(self, domains: Collection[str]) -> None:
        """Lock domains against other writers. Every writer locks in the order of names."""
        statement = select(DomainRow.domain).where(DomainRow.domain.in_(list(domains)))
        await self._execute(statement.order_by(DomainRow.domain).with_for_update())

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
        """Lease at most `limit` due domains (of `only`), the longest overdue first; skip locked rows. Domains with
        repeatedly expired leases are set aside instead."""
        # guard: expired-leases
        if expired := await self._driver.rows(_EXPIRED_TOO_OFTEN, {"now": now, "most": MAX_ATTEMPTS}):
            await self.set_aside([domain for (domain,) in expired], now=now, step=SUSPECT_FOR)
        bound = {"now": now, "most": MAX_ATTEMPTS, "limit": limit, "until": until, "token": token, "holder": holder}
        bound["only"] = None if only is None else listed(only)
        return sorted(domain for (domain,) in await self._driver.rows(_TAKE, bound))

    async def check_clock(self, clock: Callable[[], datetime], most: timedelta) -> None:
        """Raise WrongClock if the clock and the database's differ by more than `most`."""
        before = clock()
        [(at,)] = await self._driver.rows("SELECT clock_timestamp()")
        ahead = (before - at if before > at else min(clock() - at, timedelta())).total_seconds()
        if abs(ahead) > most.total_seconds():
            raise WrongClock(f"this machine's clock is {ahead:+.0f} s from the database's: set them by NTP")

    async def due_by(self, domains: Collection[str], *, due: datetime, now: datetime) -> None:
        """Make domains due at `due` at the latest. Running leases and domains set aside are left unchanged."""
        bound = {"domains": list(domains), "due": due, "now": now, "most": MAX_ATTEMPTS}
        await self._execute(_SOONER, bound)

    async def due_with_hosts(self, domains: Collection[str], *, now: datetime) -> None:
        """Make domains due no later than their earliest host; leave running leases and domains set aside unchanged."""
        await self._execute(_FROM_HOSTS, {"domains": list(domains), "now": now, "most": MAX_ATTEMPTS})

    async def lock_leased(self, leased: Collection[tuple[UUID, str]]) -> dict[str, UUID]:
        """Lock the domains whose lease still has its token; return these tokens. A missing domain lost its lease."""
        bound = {"domains": listed(domain for _, domain in leased), "tokens": listed(str(token) for token, _ in leased)}
        return dict(await self._driver.rows(_HOLD, bound))

    async def fenced(self, holder: int, tokens: Collection[UUID]) -> list[str]:
        """Return the domains leased by a holder under none of these tokens, because `forget` replaced the token."""
        rows = await self._driver.rows(_FENCED, {"holder": holder, "tokens": listed(map(str, tokens))})
        return [domain for (domain,) in rows]

    async def leased(self, token: UUID) -> list[str]:
        return await self._scalars(select(DomainRow.domain).where(DomainRow.lease_token == token))

    async def end_lease(
        self, domains: Collection[str], *, forgiven: int = 1_000, not_before: datetime | None = None
    ) -> None:
        """End the lease of locked domains; they are due with their earliest host. `forgiven`: number of attempts to
        take back: all for a completed visit, 1 for a visit never begun."""
        if domains:
            bound = {"held": listed(domains), "forgiven": forgiven, "not_before": not_before}
            await self._driver.run(_GIVE_BACK, bound)

    async def reset_attempts(self, domains: Collection[str]) -> None:
        """Reset the attempts of domains, so that those set aside count as new."""
        await self._execute(_FORGIVE, {"domains": list(domains)})

    async def set_aside(self, domains: Collection[str], *, now: datetime, step: timedelta) -> None:
        """End the lease of locked domains. They wait `step`, doubled per attempt above MAX_ATTEMPTS, else halved."""
        bound = {"domains": list(domains), "now": now, "most": MAX_ATTEMPTS, "step": step}
        await self._execute(_SET_ASIDE, bound)

    async def orphans(self) -> list[tuple[str, int]]:
        """Lock and return (domain, attempts) of leases whose holder's advisory lock, and so its process, has gone. None
        right after a promotion: the new primary has no locks yet, and the holders may still visit."""
        if not is_settled():
            return []
        return [(domain, number) for domain, number in await self._execute(_ORPHANS, {"locks": LEASE_LOCKS})]

    async def next_due(self) -> datetime | None:
        """Return when the next unleased domain is due, possibly in the past; None if nothing is scheduled."""
        statement = select(func.min(DomainRow.next_visit_at)).where(DomainRow.lease_token.is_(None))
        return (await self._execute(statement)).scalar()

    async def get(self, domain: str) -> DomainRecord | None:
        row = DomainRow
        is_leased = row.lease_token.is_not(None)
        statement = select(row.domain, row.source, row.created_at, row.next_visit_at, is_leased, row.attempts)
        return await self._first(DomainRecord, statement.where(row.domain == domain))

    async def earliest(self, *, after: datetime, until: datetime) -> datetime | None:
        """Return the earliest time after `after` and up to `until` at which an unleased domain is due."""
        due, row = func.min(DomainRow.next_visit_at), DomainRow
        statement = select(due).where(row.next_visit_at > after, row.next_visit_at <= until, row.lease_token.is_(None))
        return (await self._execute(statement)).scalar()

    async def counts(self, now: datetime) -> dict[str, int]:
        """Return the number of domains by state: "due", "leased", "waiting", "never"."""
        running = DomainRow.lease_token.is_not(None) & (DomainRow.next_visit_at > now)
        waiting = DomainRow.lease_token.is_(None) & (DomainRow.next_visit_at > now)
        states = (DomainRow.next_visit_at <= now, running, waiting, DomainRow.next_visit_at.is_(None))
        row = (await self._execute(select(*(func.count().filter(state) for state in states)))).one()
        return dict(zip(("due", "leased", "waiting", "never"), row, strict=True))

    async def load(self, entries: Iterable[NamedHost], *, source: str, now: datetime, due: datetime) -> LoadCounts:
        """Add new domains and hosts, due at `due` plus `ordinal` microseconds: once per transaction, no host twice. The
        rows form one block for COPY: the caller has them in memory anyway."""
        bound = {"source": source, "now": now, "due": due}
        lines = [f"{entry.domain}\t{entry.host}\t{entry.ordinal}\t{_field(entry.referrer)}\n" for entry in entries]
        rows = len(lines)
        await self._execute(_CREATE)
        await self._driver.copy_text("loaded", "".join(lines))
        closed = [
            (host, referrer, why)
            for statement in (_OPTED_OUT, _BLOCKED)  # guard: hold-blocked-seeds
            for host, referrer, why in await self._execute(statement)
        ]
        remaining = rows - len(closed) - await self._touched(_KNOWN)
        if not remaining:
            return LoadCounts(0, 0, rows - len(closed), closed)
        domains = await self._touched(_DOMAINS, bound)
        has_known_domains = domains < await self._number(_DISTINCT)
        if has_known_domains:
            await self._execute(_LOCK_LOADED)
        hosts = await self._touched(_HOSTS, bound)
        if has_known_domains:
            await self._execute(_LOADED_SOONER, {"due": due, "now": now, "most": MAX_ATTEMPTS})
        return LoadCounts(domains, hosts, rows - len(closed) - hosts, closed)


def _field(value: str | None) -> str:
    r"""Return text from outside in the text format of COPY: on one line, `\N` for None, backslashes doubled."""
    return r"\N" if value is None else line(value, REFERRER_CHARS).replace("\\", r"\\")
