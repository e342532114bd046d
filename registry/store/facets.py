"""The filters of core/search_filters.py as conditions in SQL, and counts of the values of facets."""

from functools import lru_cache
from typing import Any, Final, LiteralString

from sqlalchemy import ARRAY, ColumnElement, Text, case, exists, func, literal_column, or_, tuple_
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB, JSONPATH, array
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from registry.core.model.listing import Filters, IdentityState
from registry.core.names.domains import registrable_domain
from registry.core.search_filters import FACETS, facet_filters, limit_of, number_filters
from registry.store.claims import IDENTITY
from registry.store.engine import decode
from registry.store.tables import CapabilityRow, ServiceRow

FACET_VALUES: Final = 50  # maximum number of values of one facet in an answer


def _values_at(path: str) -> ColumnElement[Any]:
    return func.jsonb_path_query_array(ServiceRow.listing, sql_cast(path, JSONPATH), type_=JSONB)


def _values_of_each(member: str) -> ColumnElement[Any]:
    """Return the values of a member of the capabilities, with `unknown` if one of them lacks it."""
    path = f"$.capabilities[*] ? (!exists(@.{member}))"
    has_unknown = func.jsonb_path_exists(ServiceRow.listing, sql_cast(path, JSONPATH))
    unknown, nothing = func.jsonb_build_array("unknown", type_=JSONB), func.jsonb_build_array(type_=JSONB)
    values: ColumnElement[Any] = _values_at(f"$.capabilities[*].{member}")
    return values.op("||")(case((has_unknown, unknown), else_=nothing))


_COLUMNS: Final = ServiceRow.__table__.c
_IDENTITY: Final[ColumnElement[str]] = sql_cast(literal_column(IDENTITY.format(services="services")), Text)
FACET_COLUMNS: Final[dict[str, ColumnElement[Any]]] = {
    name: _COLUMNS[facet.column] for name, facet in FACETS.items() if facet.column
} | {
    "identity": _IDENTITY,
    "tld": func.substring(ServiceRow.host, "[^.]*$"),
    "language": ServiceRow.listing["languages"],
    "semantic": _values_at("$.capabilities[*].semantic_types[*]"),
    "effects": _values_of_each("side_effects"),
    "callable": _values_of_each("callability"),
}
"""The column, or an expression, that has the values of each facet."""


def service_conditions(filters: Filters) -> list[ColumnElement[bool]]:
    """Return conditions that mean the same as in the search engines: any value of each filter, all filters."""
    conditions = [~ServiceRow.hidden]
    for name, values in facet_filters(filters).items():
        if name == "host":
            keys = [(registrable_domain(host), host) for host in values]
            conditions.append(tuple_(ServiceRow.domain, ServiceRow.host).in_(keys))
        elif name == "trust":  # the level has an index, the identity has none
            words = [word for word in values if word in list(IdentityState)]
            levels = [word for word in values if word not in words]
            wanted = [ServiceRow.trust_level.in_(levels)] if levels else []
            conditions.append(or_(*wanted, *([_IDENTITY.in_(words)] if words else [])))
        elif name not in ("semantic", "effects", "callable"):  # of one capability, below
            column = FACET_COLUMNS[name]
            if isinstance(column.type, ARRAY):
                conditions.append(column.overlap(list(values)))
            else:
                is_json = isinstance(column.type, JSONB)
                conditions.append(column.has_any(array(values)) if is_json else column.in_(values))
    for number, bound, value in number_filters(filters):
        column, limit = _COLUMNS[number.column], limit_of(value)
        conditions.append(column >= limit if bound == "least" else column <= limit)
    if filters.narrows_capabilities:
        row = CapabilityRow
        same_service = (row.domain == ServiceRow.domain) & (row.host == ServiceRow.host)
        conditions.append(exists().where(same_service, *capability_conditions(filters)))
    return conditions


def capability_conditions(filters: Filters) -> list[ColumnElement[bool]]:
    data = CapabilityRow.data
    conditions: list[ColumnElement[bool]] = []
    if filters.side_effects:
        stated = func.coalesce(data["side_effects"].as_string(), "unknown")
        conditions.append(stated.in_(filters.side_effects))
    if filters.callability:
        known = func.coalesce(CapabilityRow.reach["callable"].as_string(), "unknown")
        conditions.append(known.in_(filters.callability))
    if filters.semantic_types:
        conditions.append(data["tags"].has_any(array(filters.semantic_types)))
    return conditions


@lru_cache(maxsize=64)
def facet_statement(facets: tuple[str, ...]) -> LiteralString:
    """Return the query for the values of facets of the services with `lane.bound_keys`."""
    dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
    compiled = [FACET_COLUMNS[name].compile(dialect=dialect, compile_kwargs={"literal_binds": True}) for name in facets]
    statement = f"""
    SELECT {", ".join(map(str, compiled))} FROM unnest(%(domains)s::text[], %(hosts)s::text[]) AS k(domain, host)
    JOIN services ON services.domain = k.domain AND services.host = k.host WHERE NOT services.hidden
    """  # noqa: S608  (only our own columns)
    return statement


def facet_values(value: Any) -> set[str]:
    if isinstance(value, bytes):
        value = decode(value)
    items = value if isinstance(value, list) else [] if value is None else [value]
    return {("true" if item else "false") if isinstance(item, bool) else str(item) for item in items}
