"""Repository of visits and of the change feed. Both are appended; later visits never update them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from sqlalchemy import RowMapping, select, text
from sqlalchemy.dialects.postgresql import insert

from registry.core.evidence import DOWN, NOT_MEASURED
from registry.core.model.documents import Outcome
from registry.core.visiting.shares import Spent, Standing
from registry.store.engine import decode, listed
from registry.store.records import ChangeRecord, VisitRecord
from registry.store.repository import Repository, selected
from registry.store.tables import ARRIVALS, ChangeRow, VisitRow
from registry.store.values import REASON_CHARS, clean, ordered_id

CHECKED: Final = Standing.SUBMITTED
"""The standing that pays for checks of sites, which strangers ask for."""

# Exact, and as cheap for a host with a thousand visits as for a new one: only hosts visited since then are looked up,
# each by the primary key. Rows of programs that did not count sent requests count the planned requests against the
# whole budget.
# guard: spent-sent
_SPENT = """
SELECT h.domain, v.standing, sum(v.sent), sum(v.look_ups) FROM hosts h
CROSS JOIN LATERAL (
    SELECT coalesce(standing, 0) AS standing, sum(coalesce(sent, requests)) AS sent,
        count(*) FILTER (WHERE sent = 0 AND requests > 0) AS look_ups FROM visits
    WHERE domain = h.domain AND host = h.host AND started_at >= %(since)s AND NOT kept GROUP BY 1) v
WHERE h.domain = ANY(string_to_array(%(domains)s, ' '))
  AND (h.last_visit_at >= %(since)s OR h.last_visit_at IS NULL)  -- a forgotten host is new, its requests are not
GROUP BY h.domain, v.standing
UNION ALL
SELECT domain, %(checks)s, sum(sent), 0 FROM site_checks
WHERE domain = ANY(string_to_array(%(domains)s, ' ')) AND checked_at >= %(since)s GROUP BY domain
"""
_CHECKS = text("""
SELECT v.host, count(*), count(*) FILTER (WHERE v.outcome = ANY(:down))
FROM unnest(CAST(:domains AS text[]), CAST(:hosts AS text[])) AS k (domain, host)
JOIN visits v ON v.domain = k.domain AND v.host = k.host
WHERE v.started_at >= :since AND v.outcome <> ALL(:not_measured) GROUP BY v.host
""")


RECORDED = "waypost_recorded"
"""The channel on which recording announces each host that was written."""

_ANNOUNCE = text("SELECT pg_notify(:channel, host) FROM unnest(CAST(:hosts AS text[])) AS host")
_CHANGE = selected(ChangeRow, ChangeRecord)


class Ledger(Repository):
    async def add_visits(self, visits: Collection[VisitRecord]) -> None:
        """Insert visits without a check for duplicates: the fencing token of a lease prevents a second write."""
        if visits:
            await self._driver.copy("visits", _COLUMNS, map(_values, visits))

    async def visits(self, domain: str, host: str, *, limit: int) -> list[VisitRecord]:
        """Return visits of the host, latest first."""
        row = VisitRow
        statement = select(*_SELECTED).where(row.domain == domain, row.host == host)
        rows = await self._execute(statement.order_by(row.started_at.desc()).limit(limit))
        return [_record(values) for values in rows.mappings()]

    async def spent(self, domains: Collection[str], *, since: datetime) -> dict[str, dict[Standing, Spent]]:
        """Return the requests sent to each domain since then, over all its hosts; leave out domains without visits."""
        spent: dict[str, dict[Standing, Spent]] = {}
        bound = {"domains": listed(domains), "since": since, "checks": int(CHECKED)}
        for domain, standing, sent, look_ups in await self._driver.rows(_SPENT, bound):
            of_domain, key = spent.setdefault(domain, {}), Standing(standing)
            before = of_domain.get(key, Spent(0, 0))
            of_domain[key] = Spent(before.requests + int(sent), before.look_ups + int(look_ups))
        return spent

    async def checks(self, keys: Sequence[tuple[str, str]], *, since: datetime) -> dict[str, tuple[int, int]]:
        """Return by host the numbers of its measurements since then and of those in which it was down."""
        bound = {
            "domains": [domain for domain, _ in keys], "hosts": [host for _, host in keys], "since": since,
            "down": [outcome.value for outcome in DOWN], "not_measured": [outcome.value for outcome in NOT_MEASURED],
        }  # fmt: skip
        return {host: (made, down) for host, made, down in await self._execute(_CHECKS, bound)}

    async def add_changes(self, changes: Iterable[ChangeRecord]) -> None:
        """Insert events under the locks of their domains; `feed.sequence` gives them their places after the commit."""
        rows = [asdict(change) | {"id": ordered_id(change.at)} for change in changes]
        await self._many(insert(ChangeRow).values(arrival=ARRIVALS.next_value()), rows)

    async def changes(self, domain: str, host: str) -> list[ChangeRecord]:
        """Return all changes of a host, oldest first."""
        row = ChangeRow
        statement = select(*_CHANGE).where(row.domain == domain, row.host == host).order_by(row.arrival, row.id)
        rows = await self._execute(statement)
        return [ChangeRecord(domain, host, kind, at, decode(data)) for _, _, kind, at, data in rows]

    async def announce(self, hosts: Collection[str]) -> None:
        """Notify listeners, when the transaction commits, that these hosts were recorded. Only for hosts that a caller
        waits for: transactions that notify commit one after the other."""
        if hosts:
            await self._execute(_ANNOUNCE, {"channel": RECORDED, "hosts": sorted(hosts)})


def _values(visit: VisitRecord) -> Sequence[Any]:
    return (
        visit.domain, visit.host, visit.started_at, visit.finished_at, visit.outcome.value,
        clean(visit.reason, REASON_CHARS), visit.whole_plan, visit.requests, visit.address, visit.packed, visit.sent,
        visit.standing,
    )  # fmt: skip


def _record(row: RowMapping) -> VisitRecord:
    values = {"packed" if key == "vector" else key: value for key, value in row.items()}
    standing = None if row["standing"] is None else Standing(row["standing"])
    return VisitRecord(**{**values, "outcome": Outcome(row["outcome"]), "standing": standing})


_COLUMNS = tuple("vector" if name == "packed" else name for name in VisitRecord.__dataclass_fields__)
_SELECTED = tuple(getattr(VisitRow, name) for name in _COLUMNS)
