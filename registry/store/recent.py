"""Reads the change feed backwards: the latest events first."""

from collections.abc import Collection
from typing import Final

from sqlalchemy import RowMapping, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.engine import decode
from registry.store.feed import FeedEvent

WINDOW: Final = 50_000
"""Places that are looked at for events of a kind, whatever host they are of, so that a rare kind costs little."""

_EVENTS = "seq, event_id, domain, host, kind, at, data"
_KINDS = "(CAST(:kinds AS text[]) IS NULL OR kind = ANY(CAST(:kinds AS text[])))"

_OF_ALL = text(f"""
SELECT {_EVENTS} FROM changes
WHERE seq < :before AND seq >= :before - :window AND {_KINDS}
ORDER BY seq DESC LIMIT :limit
""")  # noqa: S608  (only our own text)

# By the index of hosts: without MATERIALIZED the planner may walk through the whole feed to find those of a quiet host.
# Only the places are sorted: a domain may have very many events, and each may have kilobytes of data.
_OF_HOSTS = text(f"""
WITH theirs AS MATERIALIZED (
    SELECT seq FROM changes
    WHERE domain = ANY(:domains) AND seq < :before AND {_KINDS}
      AND EXISTS (
        SELECT FROM unnest(CAST(:hosts AS text[])) AS named
        WHERE host = named OR (:below AND right(host, length(named) + 1) = '.' || named))
), latest AS MATERIALIZED (SELECT seq FROM theirs ORDER BY seq DESC LIMIT :limit)
SELECT {_EVENTS} FROM latest JOIN changes USING (seq) ORDER BY seq DESC
""")  # noqa: S608  (only our own text)


class RecentEvents:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def of_all(self, before: int, kinds: Collection[str] | None, *, limit: int) -> list[FeedEvent]:
        """Return the events before a place, the latest first. At most WINDOW places are looked at."""
        bound = {"before": before, "window": WINDOW, "kinds": _listed(kinds), "limit": limit}
        return [_event(row) for row in (await self._connection.execute(_OF_ALL, bound)).mappings()]

    async def of_hosts(
        self,
        before: int,
        kinds: Collection[str] | None,
        domains: Collection[str],
        hosts: Collection[str],
        *,
        below: bool,
        limit: int,
    ) -> list[FeedEvent]:
        """Return the events of these hosts before a place, the latest first; with `below` also of all hosts below them.
        `domains`: the registrable domains of the hosts."""
        bound = {
            "before": before, "kinds": _listed(kinds), "domains": list(domains), "hosts": list(hosts), "below": below,
            "limit": limit,
        }  # fmt: skip
        return [_event(row) for row in (await self._connection.execute(_OF_HOSTS, bound)).mappings()]


def _listed(kinds: Collection[str] | None) -> list[str] | None:
    return None if kinds is None else sorted(kinds)


def _event(row: RowMapping) -> FeedEvent:
    return FeedEvent(**{**row, "data": decode(row["data"])})
