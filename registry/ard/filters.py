"""Filters of ARD as filters of the search, in every spelling that clients use, and the terms that their keys mean.

A filter that the search cannot apply is refused: applied afterwards, it would make totals and pages wrong. A key is a
path whose first segment is resolved to an IRI through the base context and the query's `@context`; the rest is a
literal path into a member that is not expanded, such as `metadata` (ARD v0.91, section 5.3.1). Contexts are never
fetched: the only text accepted is the address of the base context.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, NamedTuple

from pydantic.alias_generators import to_camel

from registry.actions.queries.entries import EntryOrder, ListConditions
from registry.ard.description import invalid, refused
from registry.core.format_support.artifact_types import formats_of_type
from registry.core.model.listing import Filters
from registry.core.names.air import parse_air_urn, publisher_of, repaired
from registry.core.search_filters import COUNTED, FILTERS, Choice, DateValue, SearchFilter, Texts
from registry.edge import parsers

NAMESPACE: Final = "https://agenticresourcediscovery.org/ns#"
BASE_CONTEXT: Final = "https://agenticresourcediscovery.org/context/v1"
_BASE_CONTEXTS: Final = frozenset({BASE_CONTEXT, BASE_CONTEXT.replace("https:", "http:"), BASE_CONTEXT + "/"})
_MAX_TERMS: Final = 50
_MAX_CHARS: Final = 300
_PREFIXED: Final = re.compile(r"(?P<prefix>[^:/?#]+):(?P<rest>(?!//).+)", re.DOTALL)

Context = Mapping[str, str]
"""Term or prefix -> IRI, fully expanded; `@vocab` too."""


def read_context(value: Any) -> Context:
    """Return the terms that a query's `@context` adds to the base context. Raise Problem."""
    terms: dict[str, str] = {}
    for part in value if isinstance(value, list) else [value]:
        if part is None:
            continue
        if isinstance(part, str):
            if part not in _BASE_CONTEXTS:
                raise invalid(f"query.@context: other contexts are not fetched; write {BASE_CONTEXT} or an object")
            continue
        if not isinstance(part, dict):
            raise invalid("query.@context: must be an object or the address of the base context")
        terms |= {name: _iri(definition) for name, definition in part.items() if name != "@version"}
    if len(terms) > _MAX_TERMS:
        raise invalid(f"query.@context: at most {_MAX_TERMS} terms")
    return {
        name: _expanded(iri, {key: other for key, other in terms.items() if key != name}) for name, iri in terms.items()
    }


def resolve(key: str, context: Context) -> str | None:
    """Return the path of a key in our spelling, such as `metadata.waypost:category`; None for unknown terms."""
    if key.startswith(NAMESPACE):
        return key.removeprefix(NAMESPACE) or None
    first, _, rest = (key, "", "") if key in context else key.partition(".")
    iri = _expanded(context.get(first, first), context)
    if iri == first and ":" not in first:  # a plain term that the query does not define
        iri = (NAMESPACE if first in _CORE else context.get("@vocab", NAMESPACE)) + first
    if not iri.startswith(NAMESPACE):
        return None
    name = iri.removeprefix(NAMESPACE)
    return f"{name}.{rest}" if rest else name


_CORE: Final = frozenset(
    ("identifier", "displayName", "type", "url", "data", "description", "tags", "version", "updatedAt", "metadata",
     "capabilities", "representativeQueries", "trustManifest", "publisher")
)  # fmt: skip
"""Terms of the base context, which `@vocab` of a query does not redefine."""


def _iri(definition: Any) -> str:
    iri = definition.get("@id") if isinstance(definition, dict) else definition
    if not isinstance(iri, str) or not iri or len(iri) > _MAX_CHARS:
        raise invalid("query.@context: each term must be an IRI, or an object with @id")
    return iri


def _expanded(iri: str, context: Context) -> str:
    """Return a compact IRI (`prefix:rest`) in full, anything else unchanged. Prefixes of prefixes are followed once."""
    for _ in range(2):
        match = _PREFIXED.fullmatch(iri)
        if match is None or match["prefix"] not in context:
            break
        iri = context[match["prefix"]] + match["rest"]
    return iri


MAX_VALUES: Final = 50
MAX_KEYS: Final = 20
MAX_CHARS: Final = 500

Values = frozenset[str]
Constraint = Mapping[str, Values | datetime]
"""Field of Filters -> values; a service must have one of them. An empty set matches nothing. A time is the earliest."""


class Term(NamedTuple):
    """A term by which entries can be filtered or counted."""

    facet: str | None  # name of the facet that counts it; None: it cannot be counted
    constrain: Callable[[Values], Constraint]


def _each(field_name: str, normalise: Callable[[str], Iterable[str]]) -> Callable[[Values], Constraint]:
    return lambda values: {field_name: frozenset(one for value in values for one in normalise(value))}


def _identifiers(values: Values) -> Constraint:
    """Return the hosts and formats of identifiers. Raise Problem when these would match further entries."""
    names = {name for value in values if (name := parse_air_urn(repaired(value))) is not None}
    hosts, slugs = {name.host for name in names}, {name.slug for name in names}
    if len(names) != len(hosts) * len(slugs):
        raise invalid("query.filter: identifiers must all be of one publisher, or all of one type; ask one by one")
    return {"hosts": frozenset(hosts), "formats": frozenset(slugs)}


def _optional(normalise: Callable[[str], str | None]) -> Callable[[str], Iterable[str]]:
    return lambda value: filter(None, (normalise(value),))


def _term(row: SearchFilter) -> Term:
    """Return the term of a filter that other interfaces have, too."""
    facet, field_name = COUNTED.get(row.name), row.field
    match row.kind:
        case Choice(allowed):
            by_text = {str(value): value for value in allowed}
            return Term(facet, _each(field_name, _optional(lambda text: by_text.get(text.strip().lower()))))
        case Texts(parse):
            return Term(facet, _each(field_name, _optional(parse)))
        case DateValue():
            return Term(facet, lambda values: {field_name: min(map(_earliest, values))})
    raise TypeError(f"{row.name}: numbers are not terms")


def _earliest(text: str) -> datetime:
    try:
        return parsers.read_day_or_time(text)
    except ValueError as error:
        raise invalid(f"query.filter: a time {error}") from None


OWN: Final = "metadata.waypost:"
TERMS: Final[Mapping[str, Term]] = {
    "type": Term("format", _each("formats", formats_of_type)),
    "publisher": Term("host", _each("hosts", _optional(publisher_of))),
    "identifier": Term(None, _identifiers),
    **{OWN + to_camel(row.name): _term(row) for row in FILTERS if row.in_ard},
}
"""Path of a term -> its meaning, with the keys that `metadata` of our entries has, and `waypost:updatedAfter`."""

_COUNTABLE: Final = ", ".join(name for name, term in TERMS.items() if term.facet)


def read_filter(value: Mapping[str, Any], context: Context) -> Filters | None:
    """Return the filters: all keys must hold, each by any value. None: no entry can match. Raise Problem."""
    if len(value) > MAX_KEYS:
        raise invalid(f"query.filter: at most {MAX_KEYS} keys")
    return combined(term_of(key, context).constrain(_values(given)) for key, given in value.items())


def term_of(key: str, context: Context) -> Term:
    """Return the term of a filter key. Raise Problem."""
    term = TERMS.get(resolve(key, context) or "") if len(key) <= MAX_CHARS else None
    if term is None:
        raise invalid(f"query.filter: a key names a term that is not indexed here; indexed are {', '.join(TERMS)}")
    return term


def facet_of(key: str, context: Context) -> tuple[str, bool]:
    """Return the facet that counts a term, and whether to show its slugs as media types. Raise Problem."""
    path = resolve(key, context) if len(key) <= MAX_CHARS else None
    term = TERMS.get(path or "")
    if term is None or term.facet is None:
        raise invalid(f"resultType.facets: a field is not counted here; counted are {_COUNTABLE}")
    return term.facet, path == "type"


def combined(constraints: Iterable[Constraint]) -> Filters | None:
    """Return filters for all constraints together; None when nothing can satisfy them."""
    together: dict[str, Any] = {}
    for constraint in constraints:
        for name, values in constraint.items():
            known = together.get(name, values)
            together[name] = max(known, values) if isinstance(values, datetime) else known & values
    if not all(together.values()):
        return None
    fields: dict[str, Any] = {
        name: value if isinstance(value, datetime) else tuple(sorted(value)) for name, value in together.items()
    }
    return Filters(**fields)


def _values(given: Any) -> Values:
    values = [given] if isinstance(given, str) else given
    if not isinstance(values, list) or not values or len(values) > MAX_VALUES:
        raise invalid(f"query.filter: a value must be a text, or an array of 1 to {MAX_VALUES} texts")
    if not all(isinstance(value, str) and len(value) <= MAX_CHARS for value in values):
        raise invalid(f"query.filter: values must be texts of at most {MAX_CHARS} characters")
    return frozenset(values)


# --- the list ---------------------------------------------------------------------------------------------------------

_CLAUSE: Final = re.compile(
    r"\s*(?P<field>displayName|type|publisherId|publisher|createdAfter|updatedAfter)\s*(?P<sign>=|>)\s*'(?P<value>[^']*)'\s*"
)
_JOINT: Final = re.compile(r"AND\b", re.IGNORECASE)
_EARLIEST: Final = 1970
_LATEST: Final = datetime(9_999, 1, 1, tzinfo=UTC)
_ORDERS: Final[Mapping[str, EntryOrder]] = {
    "displayname": "name", "displayname asc": "name", "name": "name", "updatedat desc": "updated",
    "updated_at desc": "updated",
}  # fmt: skip


def read_list_filter(text: str | None) -> tuple[Filters | None, ListConditions]:
    """Return the conditions of a list expression (ARD v0.91, appendix A), such as `type = 'a/b' AND createdAfter >
    '2026-01-01'`. Commas separate alternatives of `type` and `publisherId`. None: no entry can match. Raise Problem.
    """
    constraints: list[Constraint] = []
    once: dict[str, Any] = {}
    for field_name, sign, value in _clauses(text or ""):
        is_time = field_name.endswith("After")
        if sign == ">" and not is_time:
            raise refused("filter: `>` belongs to createdAfter and updatedAfter only")
        if is_time or field_name == "displayName":
            if field_name in once:
                raise refused("filter: displayName, createdAfter and updatedAfter may be given once")
            once[field_name] = _moment(value) if is_time else value
        else:
            term = TERMS["type" if field_name == "type" else "publisher"]
            constraints.append(term.constrain(frozenset(_alternatives(value))))
    if (after := once.get("updatedAfter")) is not None:  # the filter includes its time, the expression does not
        constraints.append({"updated_after": min(after, _LATEST) + timedelta(microseconds=1)})
    return combined(constraints), ListConditions(once.get("displayName"), once.get("createdAfter"))


def read_order(text: str | None) -> EntryOrder:
    """Return the order of a list. Raise Problem."""
    if text is None:
        return "host"
    order = _ORDERS.get(" ".join(text.lower().split()))
    if order is None:
        raise refused("orderBy: must be displayName or updatedAt DESC")
    return order


def _clauses(text: str) -> Iterable[tuple[str, str, str]]:
    position, is_first = 0, True
    while text.strip() and position < len(text):
        if not is_first:
            joint = _JOINT.match(text, position)
            if joint is None:
                raise refused("filter: conditions are joined by AND")
            position = joint.end()
        clause = _CLAUSE.match(text, position)
        if clause is None:
            raise refused(
                "filter: a condition is displayName, type, publisherId, createdAfter or updatedAfter, then = or >, "
                "then a text in single quotes"
            )
        yield clause["field"], clause["sign"], clause["value"]
        position, is_first = clause.end(), False


def _alternatives(value: str) -> list[str]:
    """Return the alternatives of a list separated by commas; commas inside double quotes do not separate."""
    found = re.findall(r'(?:[^,"]|"[^"]*"?)+', value)[: MAX_VALUES + 1]
    if len(found) > MAX_VALUES:
        raise refused(f"filter: at most {MAX_VALUES} alternatives")
    return [one.strip() for one in found]


def _moment(value: str) -> datetime:
    """Return a day (its beginning in UTC) or a time with its zone. Raise Problem."""
    at: datetime | None
    try:
        if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            at = datetime.combine(date.fromisoformat(value), time(), UTC)
        else:
            at = datetime.fromisoformat(value)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or at.year < _EARLIEST:
        raise refused("filter: a time is a date such as 2026-01-31, or ISO 8601 with a zone, from 1970 on")
    return at
