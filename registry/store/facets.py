"""Counts of the values that services have, by facet, for the answer to a question."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, LiteralString

from sqlalchemy import ARRAY, ColumnElement, Text, case, func, type_coerce
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB, JSONPATH
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from registry.store.cards import Key
from registry.store.engine import decode
from registry.store.lane import QueryPool, bound_keys
from registry.store.tables import ServiceRow

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


class FacetCounts:
    """Counts without transactions: each query sees what is committed when it runs. Hidden services do not count.

    Raises StoreUnavailable.
    """

    def __init__(self, pool: QueryPool) -> None:
        self._pool = pool

    async def of(self, keys: Sequence[Key], facets: Sequence[str]) -> tuple[int, dict[str, dict[str, int]]]:
        """Return how many of the services are shown, and the numbers of these by facet and value, most frequent
        first."""
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
