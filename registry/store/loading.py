"""Many names into the frontier at once: COPY into a table of the transaction's own, then a few statements for all.

What every writer of the frontier keeps, so that none waits for another in a circle: domains are inserted in the order
of names (byte order), then those that were there are locked, in order too, and only then hosts are written. Who waits
for a row that somebody is inserting holds no row that was there; who waits for a lock waits for nobody who inserts.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple

import psycopg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.core.plain_text import line
from registry.store.domains import MAX_ATTEMPTS

REFERRER_CHARS: Final = 500

_CREATE = text("CREATE TEMPORARY TABLE loaded (domain text, host text, place bigint, referrer text) ON COMMIT DROP")
_COPY = "COPY loaded FROM STDIN"

_OPTED_OUT = text("""
DELETE FROM loaded l USING opt_outs o
WHERE l.domain = o.domain AND (l.host = o.host OR right(l.host, length(o.host) + 1) = '.' || o.host)
RETURNING l.host, l.referrer
""")

# What is known is left alone at once: a list that is loaded again locks and writes nothing.
_KNOWN = text("DELETE FROM loaded l USING hosts h WHERE h.domain = l.domain AND h.host = l.host")

_DOMAINS = text("""
INSERT INTO domains (domain, source, created_at, next_visit_at)
SELECT domain, :source, :now, :due + min(place) * interval '1 microsecond'
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
SELECT domain, host, :source, referrer, :now, :due + place * interval '1 microsecond' FROM loaded
ORDER BY domain COLLATE "C", host COLLATE "C"
ON CONFLICT DO NOTHING
""")

# Only where it makes the domain due sooner; a running lease and a domain set aside are left alone.
_SOONER = text("""
UPDATE domains d SET next_visit_at = l.due
FROM (SELECT domain, :due + min(place) * interval '1 microsecond' AS due FROM loaded GROUP BY domain) l
WHERE d.domain = l.domain AND d.attempts < :most AND (d.lease_token IS NULL OR d.next_visit_at <= :now)
  AND l.due < coalesce(d.next_visit_at, 'infinity')
""")


class Named(NamedTuple):
    """A canonical host with its domain. `place`: how many of the same load are to be visited before it."""

    domain: str
    host: str
    place: int
    referrer: str | None


class Loaded(NamedTuple):
    """New domains and hosts, hosts known before, and those of whom their sites want no visits, with their referrers."""

    domains: int
    hosts: int
    known: int
    opted_out: list[tuple[str, str | None]]


class Loading:
    """The bulk way into `domains` and `hosts`; one call in a transaction."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def load(self, named: Iterable[Named], *, source: str, now: datetime, due: datetime) -> Loaded:
        """Adds what is new. The first place is due at `due`, each further one a microsecond later. No host twice."""
        bound = {"source": source, "now": now, "due": due}
        rows = await self._copy(named)
        opted_out = [(host, referrer) for host, referrer in await self._connection.execute(_OPTED_OUT)]
        left = rows - len(opted_out) - await self._touched(_KNOWN)
        if not left:
            return Loaded(0, 0, rows - len(opted_out), opted_out)
        domains = await self._touched(_DOMAINS, **bound)
        others = domains < (await self._connection.execute(_DISTINCT)).scalar_one()
        if others:
            await self._connection.execute(_LOCK)
        hosts = await self._touched(_HOSTS, **bound)
        if others:
            await self._connection.execute(_SOONER, {"due": due, "now": now, "most": MAX_ATTEMPTS})
        return Loaded(domains, hosts, rows - len(opted_out) - hosts, opted_out)

    async def _touched(self, statement: Any, **bound: Any) -> int:
        return int((await self._connection.execute(statement, bound)).rowcount)

    async def _copy(self, named: Iterable[Named]) -> int:
        """Gives the number of rows. One block: its size is what the caller has in memory anyway."""
        lines = [f"{one.domain}\t{one.host}\t{one.place}\t{_field(one.referrer)}\n" for one in named]
        await self._connection.execute(_CREATE)
        raw = await self._connection.get_raw_connection()
        driver = raw.driver_connection
        assert isinstance(driver, psycopg.AsyncConnection)  # noqa: S101  (make_engine knows no other driver)
        async with driver.cursor() as cursor, cursor.copy(_COPY) as copying:
            await copying.write("".join(lines))
        return len(lines)


def _field(value: str | None) -> str:
    r"""A text of strangers in the text format of COPY: on one line, `\N` for none, backslashes doubled."""
    return r"\N" if value is None else line(value, REFERRER_CHARS).replace("\\", r"\\")
