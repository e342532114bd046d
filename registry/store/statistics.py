"""Counts over the whole registry, of waiting work, and of facet values for the answer to a question.

The counts over the registry read every row of a table, so they must be rare.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, LiteralString

from sqlalchemy import ARRAY, ColumnElement, Text, case, func, select, text, type_coerce
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB, JSONPATH
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.cards import Key
from registry.store.engine import decode
from registry.store.lane import QueryPool, bound_keys
from registry.store.submissions import SubmissionCount
from registry.store.tables import HostRow, ServiceRow

SCORE_BINS: Final = 10
SIZE_BINS: Final = 13
"""Bin n counts documents of 2^(n+8) bytes up to twice that: the first all below 512 bytes, the last all from 1 MiB."""

_SERVICES = text("""
WITH shown AS MATERIALIZED (
    SELECT auth_type, pricing_type, trust_level, category, score, cap_count, formats, seen_at
    FROM services WHERE NOT hidden)
SELECT 'auth_type', auth_type, count(*) FROM shown GROUP BY 2
UNION ALL SELECT 'pricing_type', pricing_type, count(*) FROM shown GROUP BY 2
UNION ALL SELECT 'trust_level', trust_level, count(*) FROM shown GROUP BY 2
UNION ALL SELECT 'category', category, count(*) FROM shown WHERE category IS NOT NULL GROUP BY 2
UNION ALL SELECT 'score', CAST(least(score / 10, 9) AS text), count(*) FROM shown GROUP BY 2
UNION ALL SELECT 'format', slug, count(*) FROM shown, unnest(formats) AS slug GROUP BY 2
UNION ALL SELECT 'capabilities', '', coalesce(sum(cap_count), 0) FROM shown
UNION ALL SELECT 'seen', '', count(*) FROM shown WHERE seen_at >= :seen_since
""")

_SIZES = text("""
SELECT least(greatest(floor(log(2, greatest(d.size, 1))) - 8, 0), 12), count(*)
FROM documents d JOIN services s ON s.domain = d.domain AND s.host = d.host AND NOT s.hidden
WHERE d.outcome = 'found' AND d.alias_of IS NULL GROUP BY 1
""")


@dataclass(frozen=True, slots=True)
class ServiceCounts:
    """Counts of the shown services by the values of a column. `capabilities`: over all services. `seen`: services seen
    lately."""

    auth_types: Mapping[str, int]
    pricing_types: Mapping[str, int]
    trust_levels: Mapping[str, int]
    categories: Mapping[str, int]
    formats: Mapping[str, int]
    scores: tuple[int, ...]
    capabilities: int
    seen: int


class StatisticsQueries:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def services(self, *, seen_since: datetime) -> ServiceCounts:
        """Return counts of the shown services. `scores`: SCORE_BINS numbers, for 0 to 9 points, and so on to 100."""
        counts: dict[str, dict[str, int]] = {}
        for column, value, number in await self._connection.execute(_SERVICES, {"seen_since": seen_since}):
            counts.setdefault(column, {})[value] = number
        scores = counts.get("score", {})
        return ServiceCounts(
            auth_types=counts.get("auth_type", {}),
            pricing_types=counts.get("pricing_type", {}),
            trust_levels=counts.get("trust_level", {}),
            categories=counts.get("category", {}),
            formats=counts.get("format", {}),
            scores=tuple(scores.get(str(index), 0) for index in range(SCORE_BINS)),
            capabilities=int(counts["capabilities"][""]),
            seen=counts["seen"][""],
        )

    async def document_sizes(self) -> tuple[int, ...]:
        """Return the numbers of found documents of shown services, by size: SIZE_BINS numbers."""
        found = {int(size): number for size, number in await self._connection.execute(_SIZES)}
        return tuple(found.get(index, 0) for index in range(SIZE_BINS))

    async def last_visit(self) -> datetime | None:
        return (await self._connection.execute(select(func.max(HostRow.last_visit_at)))).scalar_one()

    async def hosts_visited(self, since: datetime) -> dict[str, int]:
        """Return the number of hosts whose last visit was since then, by its outcome."""
        row = HostRow
        statement = (
            select(row.outcome, func.count())
            .where(row.last_visit_at >= since, row.outcome.is_not(None))
            .group_by(row.outcome)
        )
        return {outcome: number for outcome, number in await self._connection.execute(statement) if outcome}


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

_OPT_OUT_REQUESTS = text("SELECT count(*), min(asked_at) FROM opt_out_requests WHERE checked_at IS NULL")


class WorkloadCounts:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def submitted(self, *, now: datetime, due_before: datetime) -> SubmissionCount:
        """Count the submitted hosts that are due, of domains that are due before `due_before`."""
        bound = {"now": now, "due_before": due_before}
        return SubmissionCount(*(await self._connection.execute(_SUBMITTED, bound)).one())

    async def postponed(self, *, now: datetime) -> int:
        return int((await self._connection.execute(_POSTPONED, {"now": now})).scalar_one())

    async def by_client(self, *, since: datetime, most: int) -> tuple[int, ...]:
        """Return the number of waiting hosts per client that submitted them, the largest first."""
        return tuple((await self._connection.execute(_BY_CLIENT, {"since": since, "most": most})).scalars())

    async def opt_out_requests(self) -> SubmissionCount:
        """Count the open requests to check an opt-out."""
        return SubmissionCount(*(await self._connection.execute(_OPT_OUT_REQUESTS)).one())


FACET_VALUES: Final = 50
"""Maximum number of values of one facet in an answer."""


def _all_at(path: str) -> ColumnElement[Any]:
    return func.jsonb_path_query_array(ServiceRow.listing, sql_cast(path, JSONPATH), type_=JSONB)


def _is_at(path: str) -> ColumnElement[bool]:
    return func.jsonb_path_exists(ServiceRow.listing, sql_cast(path, JSONPATH))


FACET_COLUMNS: Final[dict[str, ColumnElement[Any]]] = {
    "format": type_coerce(ServiceRow.formats, ARRAY(Text)),
    "auth": type_coerce(ServiceRow.auth_type, Text),
    "pricing": type_coerce(ServiceRow.pricing_type, Text),
    "trust": type_coerce(ServiceRow.trust_level, Text),
    "protocol": type_coerce(ServiceRow.protocols, ARRAY(Text)),
    "domain": type_coerce(ServiceRow.domain, Text),
    "tld": func.substring(ServiceRow.host, "[^.]*$"),
    "language": ServiceRow.listing["languages"],
    "category": type_coerce(ServiceRow.category, Text),
    "semantic": _all_at("$.capabilities[*].semantic_types[*]"),
    "effects": _all_at("$.capabilities[*].side_effects").op("||")(
        case(
            (_is_at("$.capabilities[*] ? (!exists(@.side_effects))"), func.jsonb_build_array("unknown", type_=JSONB)),
            else_=func.jsonb_build_array(type_=JSONB),
        )
    ),
}
"""The column of each facet's values; the facets are those of the search engines (registry/search/facets.py)."""


class FacetQueries:
    """Counts without transactions: each query sees what is committed when it runs. Hidden services do not count.

    Raises StoreUnavailable.
    """

    def __init__(self, pool: QueryPool) -> None:
        self._pool = pool

    async def of(self, keys: Sequence[Key], facets: Sequence[str]) -> tuple[int, dict[str, dict[str, int]]]:
        """Return how many of the services are shown, and their numbers by facet and value, the most frequent first."""
        rows = await self._pool.rows(_statement(tuple(facets)), bound_keys(keys))
        counts = {
            name: Counter(value for row in rows for value in _values(row[place])) for place, name in enumerate(facets)
        }
        return len(rows), {
            name: dict(sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))[:FACET_VALUES])
            for name, numbers in counts.items()
        }


@lru_cache(maxsize=64)
def _statement(facets: tuple[str, ...]) -> LiteralString:
    columns = ", ".join(_as_text(FACET_COLUMNS[name]) for name in facets)
    statement = f"""
    SELECT {columns} FROM unnest(%(domains)s::text[], %(hosts)s::text[]) AS k(domain, host)
    JOIN services ON services.domain = k.domain AND services.host = k.host WHERE NOT services.hidden
    """  # noqa: S608  (only our own columns)
    return statement


def _as_text(column: ColumnElement[Any]) -> str:
    dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
    return str(column.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


def _values(value: Any) -> set[str]:
    if isinstance(value, bytes):
        value = decode(value)
    items = value if isinstance(value, list) else [] if value is None else [value]
    return {("true" if item else "false") if isinstance(item, bool) else str(item) for item in items}
