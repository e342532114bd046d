"""Request parameters, parsed strictly; the OpenAPI document takes their descriptions from here.

`int()` accepts `1_0`, ` 10` and Arabic digits; these parsers accept only what they document. Limits above the maximum
are reduced to it, as in ADP registries; every other invalid value is refused with a message that says what is allowed.
"""

from datetime import date, datetime, timedelta
from typing import Annotated, Final, get_args

from fastapi import Path, Query
from pydantic import BeforeValidator, WithJsonSchema

from registry.actions.feed import MAX_LIMIT
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.merging.categories import CATEGORIES
from registry.core.model.listing import AuthKind, Filters, PricingKind, SideEffects, SortBy, TrustLevel
from registry.core.model.services import is_semantic_type
from registry.core.names.domains import InvalidName, host_syntax
from registry.core.wording.text import QUERY_CHARS
from registry.edge import parsers
from registry.edge.problems import INVALID_PARAMETER, UNKNOWN_SERVICE, Problem
from registry.wiring import utc_now

MAX_DISCOVER: Final = 50
MAX_LIST: Final = 100
MAX_OFFSET: Final = 100_000
MAX_WAIT: Final = 20
MAX_FEED: Final = MAX_LIMIT
ALL: Final = "all"
"""The category that ADP clients send for no filter."""

_MAX_DAYS: Final = 36_500
_AUTH_KINDS: Final[tuple[AuthKind, ...]] = get_args(AuthKind)
_PRICING_KINDS: Final[tuple[PricingKind, ...]] = get_args(PricingKind)
_SIDE_EFFECTS: Final[tuple[SideEffects, ...]] = get_args(SideEffects)
_TRUST_LEVELS: Final = tuple(level.value for level in TrustLevel)
_SORTS: Final[tuple[SortBy, ...]] = get_args(SortBy)
FACETS: Final = {
    "format": "format", "auth_type": "auth", "pricing_type": "pricing", "trust_level": "trust", "protocol": "protocol",
    "semantic_type": "semantic", "side_effects": "effects", "domain": "domain", "tld": "tld", "language": "language",
    "category": "category",
}  # fmt: skip
"""Filter whose values can be counted -> name of its facet in the search engines."""

FILTER_NAMES: Final = (
    *FACETS, "min_score", "max_score", "seen_since", "seen_within_days",
)  # fmt: skip


FORMAT_SLUGS: Final = tuple(sorted(FORMAT_BY_SLUG))

Limit = Annotated[
    int,
    *parsers.limited(MAX_DISCOVER),
    Query(description="Rows to return; 0 returns none.", examples=[10]),
]
ListLimit = Annotated[
    int,
    *parsers.limited(MAX_LIST),
    Query(description="Rows to return; 0 returns none.", examples=[50]),
]
Offset = Annotated[
    int,
    *parsers.within(MAX_OFFSET),
    Query(description=f"Rows to skip, at most {MAX_OFFSET}.", examples=[0]),
]
Wait = Annotated[
    int | None,
    *parsers.limited(MAX_WAIT),
    Query(description="Seconds to wait for the visit; 0 answers at once.", examples=[8]),
]
FeedLimit = Annotated[
    int,
    *parsers.limited(MAX_FEED, least=1),
    Query(description="Events to return.", examples=[100]),
]
FeedWait = Annotated[
    int,
    *parsers.limited(MAX_WAIT),
    Query(
        description="With `cursor`: seconds to wait when no event follows it yet. It answers as soon as one comes.",
        examples=[0],
    ),
]
Days = Annotated[int, *parsers.limited(30), Query(description="How far back the history goes.", examples=[7])]
UptimeDays = Annotated[
    int, *parsers.limited(90, least=1), Query(description="Days of the series, today included.", examples=[90])
]
HistoryLimit = Annotated[int, *parsers.limited(50, least=1), Query(description="Versions to return.", examples=[20])]
AsOf = Annotated[
    datetime | None,
    *parsers.moment(),
    Query(
        description="The service as its documents said it at this time (RFC 3339), read by the rules of today.",
        examples=["2026-11-20T00:00:00Z"],
    ),
]
OnlyTrue = Annotated[
    bool,
    BeforeValidator(lambda text: text is True or text == "true"),
    WithJsonSchema({"type": "string"}),
    Query(description="Only the exact text `true` counts; every other text means no, as in ADP registries."),
]
Flag = Annotated[
    bool,
    BeforeValidator(lambda value: value == "true"),
    *parsers.one_of("true", "false"),
]
"""A flag that only this registry has, so that no client relies on other texts."""
Formats = Annotated[
    tuple[str, ...],
    *parsers.any_of(*FORMAT_SLUGS),
    Query(alias="format", description="Only hosts that serve one of these formats, comma separated."),
]
AuthTypes = Annotated[
    tuple[AuthKind, ...],
    *parsers.any_of(*_AUTH_KINDS),
    Query(
        alias="auth_type",
        description="Only services with one of these kinds of authentication, comma separated. `none`: a document says "
        "that no credential is needed; `unknown`: no document says anything about it. Compared with `auth.type` of a "
        "row, not with its `auth_type`.",
    ),
]
PricingTypes = Annotated[
    tuple[PricingKind, ...],
    *parsers.any_of(*_PRICING_KINDS),
    Query(
        alias="pricing_type",
        description="Only services with one of these kinds of pricing, comma separated. `free`: a document says so; "
        "`unknown`: no document names a price. Compared with `pricing.type` of a row, not with its `pricing_type`.",
    ),
]
Protocols = Annotated[
    tuple[str, ...],
    *parsers.each(
        parsers.protocol,
        "protocol names (lower-case letters, digits, dots, hyphens)",
        "^[a-z0-9][a-z0-9._-]{0,63}$",
    ),
    Query(
        alias="protocol", description="Only services with one of these protocols (`mcp`, `a2a` ...), comma separated."
    ),
]
MinScore = Annotated[
    int | None,
    *parsers.within(100),
    Query(description="Minimum score."),
]
MaxScore = Annotated[
    int | None,
    *parsers.within(100),
    Query(description="Maximum score."),
]
TrustLevels = Annotated[
    tuple[TrustLevel, ...],
    *parsers.any_of(*_TRUST_LEVELS),
    Query(alias="trust_level", description="Only these trust levels, comma separated; may include `unverified`."),
]
Effects = Annotated[
    tuple[SideEffects, ...],
    *parsers.any_of(*_SIDE_EFFECTS),
    Query(
        alias="side_effects",
        description="Only services with a capability that is documented to have side effects (`true`), documented to "
        "have none (`false`), or whose documents do not say (`unknown`), comma separated; other capabilities are not "
        "shown. What is only inferred, for instance from the HTTP method, counts as `unknown`.",
    ),
]
SemanticTypes = Annotated[
    tuple[str, ...],
    *parsers.each(
        lambda value: value if is_semantic_type(value) else None,
        "semantic types (`namespace:type`)",
        "^[a-z]+:[a-z0-9-]+$",
    ),
    Query(
        alias="semantic_type",
        description="Only services with a capability of one of these semantic types, comma separated; other "
        "capabilities are not shown.",
    ),
]
Domains = Annotated[
    tuple[str, ...],
    *parsers.each(parsers.domain, "domain names"),
    Query(
        alias="domain",
        description="Only hosts of these registrable domains, comma separated; a host means its domain.",
    ),
]
TopLevels = Annotated[
    tuple[str, ...],
    *parsers.each(parsers.top_level, "top level domains"),
    Query(alias="tld", description="Only hosts below these top level domains (`com`, `xn--p1ai`), comma separated."),
]
Languages = Annotated[
    tuple[str, ...],
    *parsers.each(parsers.language, "language tags (`en`, `de-AT`)", "^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$"),
    Query(
        alias="language",
        description="Only services whose documents are served in one of these languages (Content-Language), comma "
        "separated. Most do not say.",
    ),
]
Categories = Annotated[
    tuple[str, ...],
    *parsers.any_of(ALL, *CATEGORIES),
    Query(
        alias="category",
        description="Only services of one of these categories, comma separated; `all` does not filter. The category "
        "is derived from the words of name, tags, first sentence and capabilities; `other` where none fits clearly.",
    ),
]
SeenSince = Annotated[
    date | None,
    *parsers.day(),
    Query(description="Only services whose documents were seen on this day (UTC) or later.", examples=["2026-11-20"]),
]
SeenWithin = Annotated[
    int | None,
    *parsers.limited(_MAX_DAYS),
    Query(description="Only services whose documents were seen in this many last days; 0 is today."),
]
SortOrder = Annotated[
    SortBy,
    *parsers.one_of(*_SORTS),
    Query(
        description="`relevance`; with `score` or `freshness`, confident answers are sorted by it, the rest follow by "
        "relevance."
    ),
]
Unique = Annotated[
    Flag,
    Query(
        description="`false`: copies get rows of their own. Otherwise, of services with the same name, description and "
        "capabilities, only the best proven one has a row, and the oldest one if that is another; `alike` names the "
        "rest. A host that `q` names always has a row. Near-duplicates of one owner are folded in either case."
    ),
]
FacetNames = Annotated[
    tuple[str, ...],
    *parsers.any_of(*FACETS),
    Query(alias="facets", description="Filters whose values are counted, comma separated."),
]
DomainPath = Annotated[
    str, Path(description="The host, percent-encoded; any spelling of it.", examples=["api.pigeonpost.example"])
]
SubmissionPath = Annotated[
    str,
    Path(
        description="The id of the list, from the answer to its submission. It cannot be guessed.",
        examples=["5f0c2f0e-8d52-4a4e-9c0a-3b8f6f1f4d11"],
    ),
]
ReportPath = Annotated[
    str,
    Path(
        description="The secret token of the report, as the answer to it has it.",
        examples=["wp_report_0b8f4e9a6f0e4a51_3yMZ0QhPpJcVtq1vQ5nD2bYk8sWxUaL7oRfGhJiKlMn"],
    ),
]
ListOffset = Annotated[
    int,
    *parsers.within(1_000),
    Query(description="Place in the list of the first host that is shown, from 0.", examples=[0]),
]
SubmittedLimit = Annotated[
    int,
    *parsers.limited(50, least=1),
    Query(description="Hosts to return.", examples=[20]),
]
CapabilityPath = Annotated[
    str, Path(description="The name, percent-encoded; slashes need no encoding.", examples=["create_parcel"])
]


def question(text: str) -> str:
    """Return `q` as it is searched and echoed: trimmed, at most QUERY_CHARS characters. Raise Problem when blank.

    The query is plain text: tags and operators are ordinary words.
    """
    trimmed = text.strip()[:QUERY_CHARS].strip()
    if not trimmed:
        raise Problem(INVALID_PARAMETER, "q: is required and must not be blank", errors=["q: must not be blank"])
    return trimmed


async def filters(
    include_unverified: OnlyTrue = False,
    formats: Formats = (),
    auth_types: AuthTypes = (),
    pricing_types: PricingTypes = (),
    protocols: Protocols = (),
    min_score: MinScore = None,
    max_score: MaxScore = None,
    trust_levels: TrustLevels = (),
    side_effects: Effects = (),
    semantic_types: SemanticTypes = (),
    domains: Domains = (),
    tlds: TopLevels = (),
    languages: Languages = (),
    categories: Categories = (),
    seen_since: SeenSince = None,
    seen_within_days: SeenWithin = None,
) -> Filters:
    """Return the filters that discover and list share. Async, because FastAPI runs a plain function in a thread."""
    earliest_day = None if seen_within_days is None else utc_now().date() - timedelta(days=seen_within_days)
    return Filters(
        include_unverified=include_unverified,
        formats=formats,
        auth_types=auth_types,
        pricing_types=pricing_types,
        protocols=protocols,
        min_score=min_score,
        max_score=max_score,
        trust_levels=tuple(map(TrustLevel, trust_levels)),
        side_effects=side_effects,
        semantic_types=semantic_types,
        domains=domains,
        tlds=tlds,
        languages=languages,
        categories=() if ALL in categories else categories,
        seen_since=max(filter(None, (seen_since, earliest_day)), default=None),
    )


def host_in(path: str) -> str:
    """Return the canonical host of a path segment. Raise Problem (unknown service) for an invalid name."""
    try:
        return host_syntax(path)
    except InvalidName:
        raise Problem(UNKNOWN_SERVICE, "No service is listed under this host.") from None
