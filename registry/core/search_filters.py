"""The filters of services: one row each, from which everything that filters, counts or names filters derives.

These are the parameters of the HTTP API, arguments of MCP, terms of ARD and headings of the web; conditions in SQL; the
fields of the search indexes and the version of their layout. docs/adding-a-filter.md adds a row step by step.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any, Final, Literal, get_args

from registry.core.formats import FORMAT_BY_SLUG
from registry.core.merging.categories import CATEGORIES
from registry.core.merging.trust import identity_of_listing
from registry.core.model.listing import (
    AuthKind,
    Callability,
    Filters,
    IdentityState,
    ListedCapability,
    Listing,
    PricingKind,
    SideEffects,
    TrustLevel,
)
from registry.core.model.services import SEMANTIC_TYPE, is_semantic_type
from registry.core.names.domains import InvalidName, host_syntax, registrable_domain
from registry.core.reading.languages import TAG as LANGUAGE

_PROTOCOL: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Choice:
    """One or more of these values. `no_filter`: a further value, with which nothing is filtered."""

    values: tuple[str, ...]
    no_filter: str | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """One or more texts. `parse` returns the canonical text, None for an invalid one. `says` names valid texts."""

    parse: Callable[[str], str | None]
    says: str
    example: str
    max_chars: int
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class WholeNumber:
    maximum: int


@dataclass(frozen=True, slots=True)
class DaysBack:
    """A number of days before today; larger ones are reduced to the maximum."""

    maximum: int


@dataclass(frozen=True, slots=True)
class DateValue:
    """A date. `or_time`: or a time with its zone."""

    or_time: bool = False


Kind = Choice | Texts | WholeNumber | DaysBack | DateValue


@dataclass(frozen=True, slots=True)
class Facet:
    """Texts of a listing. A filter passes listings with any of its values; values can be counted. `name`: field of the
    search indexes. `column` of `services`; None: the database has to read every row, see registry/store/facets.py.
    `is_derived`: from other columns, without the listing."""

    name: str
    read: Callable[[Listing], Iterable[str]]
    column: str | None = None
    is_derived: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A number or time of a listing, compared with a filter's value. `top`: the largest number in the indexes."""

    name: str
    read: Callable[[Listing], int | date | None]
    column: str
    top: int = 0xFFFF


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """A filter. `field` of Filters holds its values. `on`: what it compares; `bound`: of a number. `says`: the
    description in the HTTP API; `brief`: for models, empty if MCP does not have the filter. `label`: the web's heading.
    `group`: place among the groups of values beside the web's results; 0: shown only while it is set. `steps`: values
    of a number that lists count. `in_ard`: whether ARD has it, as `waypost:<name in camel case>`."""

    name: str
    field: str
    kind: Kind
    on: Facet | Number
    label: str
    says: str
    brief: str = ""
    bound: Literal["least", "most"] = "least"
    group: int = 0
    steps: tuple[int, ...] = ()
    in_ard: bool = False


def _protocol(text: str) -> str | None:
    return text if _PROTOCOL.fullmatch(text) else None


def _language(text: str) -> str | None:
    return text.lower() if LANGUAGE.fullmatch(text.lower()) else None


def _semantic_type(text: str) -> str | None:
    return text if is_semantic_type(text) else None


def _side_effects(stated: bool | None) -> SideEffects:
    """Return the side effects that a capability's documents state, as a value of the filter and the facet."""
    if stated is None:
        return "unknown"
    return "true" if stated else "false"


def _domain(text: str) -> str | None:
    """Return the registrable domain of a host."""
    try:
        return registrable_domain(host_syntax(text))
    except InvalidName:
        return None


def _top_level(text: str) -> str | None:
    """Return the label of a top level domain, with or without a dot before it."""
    try:
        return host_syntax(f"a.{text.removeprefix('.')}").removeprefix("a.") if text.strip(".") else None
    except InvalidName:
        return None


_SCORE: Final = Number("score", lambda listing: listing.score, "score")
_SEEN: Final = Number("seen", lambda listing: listing.seen_on, "seen_at")
_UPDATED: Final = Number("updated", lambda listing: listing.updated_at, "updated_at", top=2**53 - 1)

FILTERS: Final = (
    SearchFilter(
        "format", "formats", Choice(tuple(sorted(FORMAT_BY_SLUG))),
        Facet("format", lambda listing: listing.formats, "formats"),
        label="Format", group=2, in_ard=True,
        says="Only hosts that serve one of these formats, comma separated.",
        brief="Hosts that serve one of these formats.",
    ),
    SearchFilter(
        "auth_type", "auth_types", Choice(get_args(AuthKind)),
        Facet("auth", lambda listing: (listing.auth_type,), "auth_type"),
        label="Authentication", group=4, in_ard=True,
        says="Only services with one of these kinds of authentication, comma separated. `none`: a document says "
        "that no credential is needed; `unknown`: no document says anything about it. Compared with `auth.type` of a "
        "row, not with its `auth_type`.",
        brief="Kinds of credentials; `unknown`: no document says.",
    ),
    SearchFilter(
        "pricing_type", "pricing_types", Choice(get_args(PricingKind)),
        Facet("pricing", lambda listing: (listing.pricing_type,), "pricing_type"),
        label="Price", group=5, in_ard=True,
        says="Only services with one of these kinds of pricing, comma separated. `free`: a document says so; "
        "`unknown`: no document names a price. Compared with `pricing.type` of a row, not with its `pricing_type`.",
        brief="Kinds of pricing; `unknown`: no document says.",
    ),
    SearchFilter(
        "identity", "identities", Choice(tuple(IdentityState)),
        Facet("identity", lambda listing: (identity_of_listing(listing),), is_derived=True),
        label="Identity", group=3, in_ard=True,
        says="Only services with these identities (`trust.identity` of a row), comma separated; may include "
        "`not-checked`.",
        brief="What is known of who serves it; without it, `not-checked` ones are left out.",
    ),
    SearchFilter(
        "trust_level", "trust_levels", Choice((*TrustLevel, *IdentityState)),
        Facet("trust", lambda listing: (listing.trust_level, identity_of_listing(listing)), "trust_level"),
        label="Trust level", in_ard=True,
        says="For ADP clients: only these trust levels, comma separated; may include `unverified`. The words of "
        "`identity` count too.",
        brief="Levels of trust; without it, `unverified` ones are left out.",
    ),
    SearchFilter(
        "protocol", "protocols",
        Texts(
            _protocol, "protocol names (lower-case letters, digits, dots, hyphens)", "mcp", 64,
            f"^{_PROTOCOL.pattern}$",
        ),
        Facet("protocol", lambda listing: listing.protocols, "protocols"),
        label="Protocol", group=7,
        says="Only services with one of these protocols (`mcp`, `a2a` ...), comma separated.",
        brief="Services with one of these protocols.",
    ),
    SearchFilter(
        "semantic_type", "semantic_types",
        Texts(_semantic_type, "semantic types (`namespace:type`)", "schema:order", 100, f"^{SEMANTIC_TYPE.pattern}$"),
        Facet("semantic", lambda listing: chain.from_iterable(one.semantic_types for one in listing.capabilities)),
        label="Semantic type",
        says="Only services with a capability of one of these semantic types, comma separated; other "
        "capabilities are not shown.",
        brief="Services with a capability of one of these types.",
    ),
    SearchFilter(
        "side_effects", "side_effects", Choice(get_args(SideEffects)),
        Facet("effects", lambda listing: (_side_effects(one.side_effects) for one in listing.capabilities)),
        label="Side effects", group=6,
        says="Only services with a capability that is documented to have side effects (`true`), documented to "
        "have none (`false`), or whose documents do not say (`unknown`), comma separated; other capabilities are not "
        "shown. What is only inferred, for instance from the HTTP method, counts as `unknown`.",
        brief="Services with a capability that is documented to have side effects or not.",
    ),
    SearchFilter(
        "callable", "callability", Choice(get_args(Callability)),
        Facet("callable", lambda listing: (one.callability for one in listing.capabilities)),
        label="Can be called", group=9,
        says="Only services with a capability that can be called (`true`), that cannot (`false`), or whose document "
        "is still to be read (`unknown`), comma separated; other capabilities are not shown.",
        brief="Services with a capability that can be called or not.",
    ),
    SearchFilter(
        "domain", "domains", Texts(_domain, "domain names", "pigeonpost.example", 300),
        Facet("domain", lambda listing: (listing.domain,), "domain"),
        label="Domain", in_ard=True,
        says="Only hosts of these registrable domains, comma separated; a host means its domain.",
        brief="Hosts of these registrable domains.",
    ),
    SearchFilter(
        "tld", "tlds", Texts(_top_level, "top level domains", "com", 63),
        Facet("tld", lambda listing: (listing.host.rpartition(".")[2],)),
        label="Top level",
        says="Only hosts below these top level domains (`com`, `xn--p1ai`), comma separated.",
        brief="Hosts below these top level domains.",
    ),
    SearchFilter(
        "language", "languages",
        Texts(_language, "language tags (`en`, `de-AT`)", "en", 35, "^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$"),
        Facet("language", lambda listing: listing.languages),
        label="Language", group=8,
        says="Only services whose documents are served in one of these languages (Content-Language), comma "
        "separated. Most do not say.",
        brief="Services whose documents are in one of these languages.",
    ),
    SearchFilter(
        "category", "categories", Choice(tuple(CATEGORIES), no_filter="all"),
        Facet("category", lambda listing: (listing.category,) if listing.category else (), "category"),
        label="Category", group=1, in_ard=True,
        says="Only services of one of these categories, comma separated; `all` does not filter. The category "
        "is derived from the words of name, tags, first sentence and capabilities; `other` where none fits clearly.",
        brief="Categories, derived from the service's own words.",
    ),
    SearchFilter(
        "min_score", "min_score", WholeNumber(100), _SCORE,
        label="Score at least", group=10, steps=(90, 75, 50), says="Minimum score.", brief="Least quality score.",
    ),
    SearchFilter(
        "max_score", "max_score", WholeNumber(100), _SCORE, bound="most",
        label="Score at most", says="Maximum score.", brief="Highest quality score.",
    ),
    SearchFilter(
        "seen_since", "seen_since", DateValue(), _SEEN,
        label="Seen since", says="Only services whose documents were seen on this day (UTC) or later.",
    ),
    SearchFilter(
        "seen_within_days", "seen_since", DaysBack(36_500), _SEEN,
        label="Seen within days",
        says="Only services whose documents were seen in this many last days; 0 is today.",
        brief="Documents seen in this many last days.",
    ),
    SearchFilter(
        "updated_after", "updated_after", DateValue(or_time=True), _UPDATED,
        label="Updated since", in_ard=True,
        says="Only services whose listing changed at or after this time, or since the beginning of this day (UTC). "
        "Compared with `updated_at`; a visit that finds no change does not count.",
        brief="Services whose listing changed at or after this day or time (ISO 8601).",
    ),
    # docs/adding-a-filter.md: further filters
)  # fmt: skip
"""Parameters, facets and documentation are in this order."""

FACETS: Final = {row.on.name: row.on for row in FILTERS if isinstance(row.on, Facet)}
NUMBERS: Final = {row.on.name: row.on for row in FILTERS if isinstance(row.on, Number)}
COUNTED: Final = {row.name: row.on.name for row in FILTERS if isinstance(row.on, Facet)}
"""Filter whose values can be counted -> its facet."""

LIST_COUNTED: Final = {
    row.name: row
    for row in FILTERS
    if row.steps or (isinstance(row.on, Facet) and (row.on.column is not None or row.on.is_derived))
}
"""Filters whose values a list counts: with a column or derived from columns, and numbers with steps."""

NAMES: Final[Mapping[str, Callable[[Listing], Iterable[str]]]] = {
    "host": lambda listing: (listing.host,),
    "label": lambda listing: (listing.domain.partition(".")[0],),
}
"""What a question may name a listing by, beside the facet `domain`. Not counted; `host` is a filter of ARD."""

_BY_FIELD: Final = {row.field: row for row in FILTERS}


def fields_of_name(name: str) -> tuple[str, ...]:
    """Return the fields that hold a name of a question (core/ranking/naming.py): hosts and domains have a dot."""
    return ("host", "domain") if "." in name else ("label",)


def make_filters(given: Mapping[str, Any], *, include_unverified: bool, today: date) -> Filters:
    """Return the filters for parsed values by name; None and empty values do not filter."""
    values: dict[str, Any] = {}
    for row in FILTERS:
        value = given.get(row.name)
        if value is None or (isinstance(row.kind, Choice) and row.kind.no_filter in value):
            continue
        if isinstance(row.kind, DaysBack):
            value = today - timedelta(days=value)
        values[row.field] = max(value, values.get(row.field, value))  # a day may be given in two ways
    return Filters(include_unverified=include_unverified, **values)


def without(filters: Filters, row: SearchFilter) -> Filters:
    """Return the filters without this one. Without a filter by trust level, all levels pass."""
    removed = replace(filters, **{row.field: getattr(Filters(), row.field)})
    return replace(removed, include_unverified=True) if row.field == "trust_levels" else removed


def facet_filters(filters: Filters) -> Mapping[str, tuple[str, ...]]:
    """Return facet or name -> values; a listing must have at least one of them. Leave out those without a filter."""
    found = {row.on.name: getattr(filters, row.field) for row in FILTERS if isinstance(row.on, Facet)}
    found |= {"trust": filters.shown_levels, "host": filters.hosts}
    return {facet: values for facet, values in found.items() if values}


def number_filters(filters: Filters) -> Iterator[tuple[Number, str, int | date]]:
    """Yield (number, bound, value) of each number with a filter."""
    for field, row in _BY_FIELD.items():
        if isinstance(row.on, Number) and (value := getattr(filters, field)) is not None:
            yield row.on, row.bound, value


def ranges(filters: Filters) -> Mapping[str, tuple[int, int]]:
    """Return number -> (minimum, maximum) as in the indexes, both inclusive; leave out numbers without a filter."""
    found: dict[str, tuple[int, int]] = {}
    for number, bound, value in number_filters(filters):
        minimum, maximum = found.get(number.name, (0, number.top))
        limit = _indexed(value, number.top)
        found[number.name] = (limit, maximum) if bound == "least" else (minimum, limit)
    return found


@lru_cache(maxsize=100)
def make_check(filters: Filters) -> Callable[[object], bool]:
    """Return a function that says whether a row with the columns of `services` passes the filters that have one."""
    named = {name: values for name, values in facet_filters(filters).items() if name in FACETS}
    if _names_identity(filters):  # rows have no column for it
        named.pop("trust")
    wanted = ((FACETS[name].column, values) for name, values in named.items())
    texts = [(column, frozenset(values)) for column, values in wanted if column]
    limits = [(number.column, bound == "least", limit_of(value)) for number, bound, value in number_filters(filters)]

    def passes(row: object) -> bool:
        for column, values in texts:
            held = getattr(row, column)
            if values.isdisjoint((held,) if held is None or isinstance(held, str) else held):
                return False
        return all(
            getattr(row, column) >= limit if is_least else getattr(row, column) <= limit
            for column, is_least, limit in limits
        )

    return passes


def reads_every_row(filters: Filters) -> bool:
    """Return whether the database has to read every service to apply the filters."""
    return _names_identity(filters) or any(
        name in FACETS and FACETS[name].column is None for name in facet_filters(filters)
    )


def _names_identity(filters: Filters) -> bool:
    return any(isinstance(word, IdentityState) for word in filters.trust_levels)


def limit_of(value: int | date) -> int | datetime:
    """Return the limit for a column of the database: a day as its beginning in UTC."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time(), UTC)
    return value


def values_of(listing: Listing) -> Iterator[tuple[str, str]]:
    """Yield (facet, value) for each different value of a listing."""
    for name, facet in FACETS.items():
        for value in dict.fromkeys(facet.read(listing)):
            yield name, value


def numbers_of(listing: Listing) -> Iterator[tuple[str, int]]:
    """Yield (name, number) as the indexes hold it; 0 if unknown."""
    for name, number in NUMBERS.items():
        yield name, _indexed(number.read(listing), number.top)


def _indexed(value: int | date | None, top: int) -> int:
    """Return a number from 0 to `top`: a day in days, a time in microseconds since 1970."""
    if value is None:
        return 0
    if isinstance(value, datetime):
        value = (value - _EPOCH) // timedelta(microseconds=1)
    elif isinstance(value, date):
        value = (value - _EPOCH.date()).days
    return min(top, max(0, value))


EXAMPLE: Final = Listing(
    "example.com", "api.example.com", "Example", "An example", TrustLevel.VERIFIED, 50, ("adp",), "none", "free",
    protocols=("mcp",), capabilities=(ListedCapability("read", "", False, ("schema:order",)),),
    seen_on=date(2026, 11, 20), languages=("en",), category="other",
    updated_at=datetime(2026, 11, 20, 12, 30, 15, 250_000, tzinfo=UTC),
)  # fmt: skip
"""A listing with a value for every filter."""


def _index_fields() -> str:
    fields = [*values_of(EXAMPLE), *numbers_of(EXAMPLE), *((name, number.top) for name, number in NUMBERS.items())]
    fields += [(name, value) for name, read in NAMES.items() for value in read(EXAMPLE)]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:8]


INDEX_FIELDS: Final = _index_fields()
"""Part of the version of an index's layout: a digest of the fields and of their values in an example. An index with
other fields is built again, so that no listing lacks a field that a filter compares."""
