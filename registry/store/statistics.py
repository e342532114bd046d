"""Counts over the whole registry, and of waiting work, with the domains and hosts that operators look at.

The counts over the registry, the hosts that fail, and the seeded lists read every row of a table, so they must be rare.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert

from registry.core.model.documents import ABSENCE
from registry.core.names.seeds import OWN_LISTS
from registry.store.claims import IDENTITY
from registry.store.engine import decode
from registry.store.repository import Repository, selected
from registry.store.submissions import SubmissionCount
from registry.store.tables import DailyFiguresRow, HostRow

SCORE_BINS: Final = 10
SIZE_BINS: Final = 13
"""Bin n counts documents of 2^(n+8) bytes up to twice that: the first all below 512 bytes, the last all from 1 MiB."""

_SERVICES = text(f"""
WITH shown AS MATERIALIZED (
    SELECT auth_type, pricing_type, trust_level, category, score, cap_count, formats, seen_at,
        {IDENTITY.format(services="services")} AS identity
    FROM services WHERE NOT hidden)
SELECT 'auth_type', auth_type, count(*) FROM shown GROUP BY 2
UNION ALL SELECT 'pricing_type', pricing_type, count(*) FROM shown GROUP BY 2
UNION ALL SELECT 'trust_level', trust_level, count(*) FROM shown GROUP BY 2
UNION ALL SELECT 'identity', identity, count(*) FROM shown GROUP BY 2
UNION ALL SELECT 'category', category, count(*) FROM shown WHERE category IS NOT NULL GROUP BY 2
UNION ALL SELECT 'score', CAST(least(score / 10, 9) AS text), count(*) FROM shown GROUP BY 2
UNION ALL SELECT 'format', slug, count(*) FROM shown, unnest(formats) AS slug GROUP BY 2
UNION ALL SELECT 'points', '', coalesce(sum(score), 0) FROM shown
UNION ALL SELECT 'capabilities', '', coalesce(sum(cap_count), 0) FROM shown
UNION ALL SELECT 'seen', '', count(*) FROM shown WHERE seen_at >= :seen_since
""")  # noqa: S608  # our own text

_SIZES = text("""
SELECT least(greatest(floor(log(2, greatest(d.size, 1))) - 8, 0), 12), count(*)
FROM documents d JOIN services s ON s.domain = d.domain AND s.host = d.host AND NOT s.hidden
WHERE d.outcome = 'found' AND d.alias_of IS NULL GROUP BY 1
""")


_SUBMITTED = text("""
SELECT count(*), min(h.submitted_at) FROM domains d JOIN hosts h ON h.domain = d.domain
WHERE d.next_visit_at <= :due_before AND h.submitted_at IS NOT NULL AND h.next_visit_at <= :now
  AND (h.last_visit_at IS NULL OR h.submitted_at > h.last_visit_at)
""")

# Counts the clients' submissions of the last day, which have an index, to avoid reading all hosts.
_POSTPONED = text("""
SELECT count(DISTINCT (s.domain, s.host)) FROM submissions s
JOIN hosts h ON h.domain = s.domain AND h.host = s.host
WHERE s.resolved IS NULL AND h.next_visit_why = 'asked' AND h.next_visit_at > :now
""")

_BY_CLIENT = text("""
SELECT count(DISTINCT (domain, host)) AS number FROM submissions WHERE asked_at > :since AND resolved IS NULL
GROUP BY client ORDER BY number DESC LIMIT :most
""")

# The reason is of the host that is due for longest.
_DUE = text("""
SELECT d.domain, d.next_visit_at, d.source, d.attempts, coalesce(h.number, 0), h.host, h.why
FROM (SELECT * FROM domains
      WHERE next_visit_at <= :now AND lease_token IS NULL AND (next_visit_at, domain) > (:at, :domain)
      ORDER BY next_visit_at, domain LIMIT :limit) d
LEFT JOIN LATERAL (
    SELECT count(*) AS number, (array_agg(host ORDER BY next_visit_at, host))[1] AS host,
        (array_agg(next_visit_why ORDER BY next_visit_at, host))[1] AS why
    FROM hosts WHERE domain = d.domain AND next_visit_at <= :now) h ON true
ORDER BY d.next_visit_at, d.domain
""")
_LEASED = text("""
SELECT domain, next_visit_at, source, attempts, 0, NULL, NULL FROM domains
WHERE lease_token IS NOT NULL AND domain > :domain ORDER BY domain LIMIT :limit
""")
_FAILING = text("""
SELECT host, outcome, reason, soft_failures, first_failure_at, last_visit_at, next_visit_at FROM hosts
WHERE soft_failures > 0 ORDER BY soft_failures DESC, first_failure_at, host LIMIT :limit
""")
_SEEDED = text("""
SELECT source, CASE WHEN source = ANY(:own_lists) THEN referrer END AS list, count(*),
    count(*) FILTER (WHERE outcome IS NULL AND next_visit_at IS NOT NULL),
    count(*) FILTER (WHERE outcome = 'found'), count(*) FILTER (WHERE outcome = ANY(:absence)),
    count(*) FILTER (WHERE outcome <> 'found' AND NOT outcome = ANY(:absence)),
    count(*) FILTER (WHERE outcome IS NULL AND next_visit_at IS NULL), min(created_at), max(created_at)
FROM hosts GROUP BY 1, 2 ORDER BY max(created_at) DESC, 1, 2 LIMIT :limit
""")

_OPT_OUT_REQUESTS = text("SELECT count(*), min(asked_at) FROM opt_out_requests WHERE checked_at IS NULL")


@dataclass(frozen=True, slots=True)
class ServiceCounts:
    """Counts of the shown services by the values of a column. `capabilities`: over all services. `points`: the sum of
    all scores. `seen`: services seen lately."""

    auth_types: Mapping[str, int]
    pricing_types: Mapping[str, int]
    trust_levels: Mapping[str, int]
    identities: Mapping[str, int]
    categories: Mapping[str, int]
    formats: Mapping[str, int]
    scores: tuple[int, ...]
    points: int
    capabilities: int
    seen: int


@dataclass(frozen=True, slots=True)
class DayRecord:
    """The figures of a day, counted at `at`."""

    day: date
    at: datetime
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class QueuedDomain:
    """A domain that is due or leased. `until`: since when it is due, or when its lease ends. `attempts`: leases since
    the last completed one. `hosts`: how many of its hosts are due; `host`, `why`: the first of them."""

    domain: str
    until: datetime
    source: str
    attempts: int
    hosts: int
    host: str | None
    why: str | None


@dataclass(frozen=True, slots=True)
class FailingHost:
    """A host whose last visits failed. `failures`: in a row, since `since`."""

    host: str
    outcome: str | None
    reason: str
    failures: int
    since: datetime | None
    last_visit_at: datetime | None
    next_visit_at: datetime | None


@dataclass(frozen=True, slots=True)
class SeededList:
    """What became of the hosts of a source. `list`: name of the operator's list, None for sources without. `waiting`:
    not visited yet; `closed`: not visited because the site opted out or is blocked; the others by their last visit."""

    source: str
    list: str | None
    hosts: int
    waiting: int
    found: int
    absent: int
    failed: int
    closed: int
    first_at: datetime
    last_at: datetime


_DAY: Final = selected(DailyFiguresRow, DayRecord)


class StatisticsQueries(Repository):
    async def services(self, *, seen_since: datetime) -> ServiceCounts:
        """Return counts of the shown services. `scores`: SCORE_BINS numbers, for 0 to 9 points, and so on to 100."""
        counts: dict[str, dict[str, int]] = {}
        for column, value, number in await self._execute(_SERVICES, {"seen_since": seen_since}):
            counts.setdefault(column, {})[value] = number
        scores = counts.get("score", {})
        return ServiceCounts(
            auth_types=counts.get("auth_type", {}),
            pricing_types=counts.get("pricing_type", {}),
            trust_levels=counts.get("trust_level", {}),
            identities=counts.get("identity", {}),
            categories=counts.get("category", {}),
            formats=counts.get("format", {}),
            scores=tuple(scores.get(str(index), 0) for index in range(SCORE_BINS)),
            points=int(counts["points"][""]),
            capabilities=int(counts["capabilities"][""]),
            seen=counts["seen"][""],
        )

    async def document_sizes(self) -> tuple[int, ...]:
        """Return the numbers of found documents of shown services, by size: SIZE_BINS numbers."""
        found = {int(size): number for size, number in await self._execute(_SIZES)}
        return tuple(found.get(index, 0) for index in range(SIZE_BINS))

    async def hosts(self) -> int:
        return await self._number(select(func.count()).select_from(HostRow))

    async def days(self, *, until: date | None, most: int) -> list[DayRecord]:
        """Return the latest days, up to and including `until`, the latest first."""
        statement = select(*_DAY).order_by(DailyFiguresRow.day.desc()).limit(most)
        rows = await self._execute(statement if until is None else statement.where(DailyFiguresRow.day <= until))
        return [DayRecord(day, at, decode(figures)) for day, at, figures in rows]

    async def first_count(self) -> datetime | None:
        """Return when the figures of the first day were counted."""
        first = select(DailyFiguresRow.at).order_by(DailyFiguresRow.day).limit(1)
        return (await self._execute(first)).scalar()

    async def put_day(self, record: DayRecord) -> None:
        """Store the figures of a day, unless later ones of that day are stored."""
        values = {name: getattr(record, name) for name in record.__dataclass_fields__}
        statement = insert(DailyFiguresRow).values(values)
        is_older = DailyFiguresRow.at < record.at
        await self._execute(statement.on_conflict_do_update(index_elements=["day"], set_=values, where=is_older))

    async def last_visit(self) -> datetime | None:
        return (await self._execute(select(func.max(HostRow.last_visit_at)))).scalar_one()

    async def hosts_visited(self, since: datetime) -> dict[str, int]:
        """Return the number of hosts whose last visit was since then, by its outcome."""
        row = HostRow
        is_visited = (row.last_visit_at >= since, row.outcome.is_not(None))
        statement = select(row.outcome, func.count()).where(*is_visited).group_by(row.outcome)
        return {outcome: number for outcome, number in await self._execute(statement) if outcome}

    async def due_domains(self, after: tuple[datetime, str], *, now: datetime, limit: int) -> list[QueuedDomain]:
        """Return due domains after this time and name, in the order in which they are visited."""
        bound = {"at": after[0], "domain": after[1], "now": now, "limit": limit}
        return await self._list(QueuedDomain, _DUE, bound)

    async def leased_domains(self, after: str, *, limit: int) -> list[QueuedDomain]:
        """Return the domains that are being visited, after this name, in the order of their names."""
        return await self._list(QueuedDomain, _LEASED, {"domain": after, "limit": limit})

    async def failing_hosts(self, *, limit: int) -> list[FailingHost]:
        """Return the hosts with the most failed visits in a row."""
        return await self._list(FailingHost, _FAILING, {"limit": limit})

    async def seeded(self, *, limit: int) -> list[SeededList]:
        """Return what became of the hosts of each source and list, the last added first."""
        bound = {"own_lists": sorted(OWN_LISTS), "absence": sorted(ABSENCE), "limit": limit}
        return await self._list(SeededList, _SEEDED, bound)

    async def submitted(self, *, now: datetime, due_before: datetime) -> SubmissionCount:
        """Count the submitted hosts that are due, of domains that are due before `due_before`."""
        return await self._one(SubmissionCount, _SUBMITTED, {"now": now, "due_before": due_before})

    async def postponed(self, *, now: datetime) -> int:
        return await self._number(_POSTPONED, {"now": now})

    async def by_client(self, *, since: datetime, most: int) -> tuple[int, ...]:
        """Return the number of waiting hosts per client that submitted them, the largest first."""
        return tuple(await self._scalars(_BY_CLIENT, {"since": since, "most": most}))

    async def opt_out_requests(self) -> SubmissionCount:
        """Count the open requests to check an opt-out."""
        return await self._one(SubmissionCount, _OPT_OUT_REQUESTS)
