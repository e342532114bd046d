"""Bulk loading of names into the frontier: COPY into a temporary table, then a few statements for all rows.

Every writer of the frontier keeps this order, so that writers cannot deadlock: domains are inserted in the byte order
of their names, then existing ones are locked in the same order, and only then hosts are written. A writer that waits
for an insert holds no lock on an existing row; a writer that waits for a lock does not wait for an insert.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import text

from registry.core.reading.plain_text import line
from registry.store.domains import MAX_ATTEMPTS
from registry.store.repository import Repository

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
_LOCK = text("""
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
_SOONER = text("""
UPDATE domains d SET next_visit_at = l.due
FROM (SELECT domain, :due + min(ordinal) * interval '1 microsecond' AS due FROM loaded GROUP BY domain) l
WHERE d.domain = l.domain AND d.attempts < :most AND (d.lease_token IS NULL OR d.next_visit_at <= :now)
  AND l.due < coalesce(d.next_visit_at, 'infinity')
""")


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


class Loading(Repository):
    """Bulk inserts into `domains` and `hosts`; one call per transaction."""

    async def load(self, entries: Iterable[NamedHost], *, source: str, now: datetime, due: datetime) -> LoadCounts:
        """Add new domains and hosts, due at `due` plus `ordinal` microseconds. No host may occur twice."""
        bound = {"source": source, "now": now, "due": due}
        rows = await self._copy(entries)
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
            await self._execute(_LOCK)
        hosts = await self._touched(_HOSTS, bound)
        if has_known_domains:
            await self._execute(_SOONER, {"due": due, "now": now, "most": MAX_ATTEMPTS})
        return LoadCounts(domains, hosts, rows - len(closed) - hosts, closed)

    async def _copy(self, entries: Iterable[NamedHost]) -> int:
        """Copy the rows and return their number. They form one block: the caller has them in memory anyway."""
        lines = [f"{entry.domain}\t{entry.host}\t{entry.ordinal}\t{_field(entry.referrer)}\n" for entry in entries]
        await self._execute(_CREATE)
        await self._driver.copy_text("loaded", "".join(lines))
        return len(lines)


def _field(value: str | None) -> str:
    r"""Return text from outside in the text format of COPY: on one line, `\N` for None, backslashes doubled."""
    return r"\N" if value is None else line(value, REFERRER_CHARS).replace("\\", r"\\")
