"""Request parameters, parsed strictly; the OpenAPI document takes their descriptions from here.

`int()` accepts `1_0`, ` 10` and Arabic digits; these parsers accept only what they document. Limits above the maximum
are reduced to it, as in ADP registries; every other invalid value is refused with a message that says what is allowed.
"""

from datetime import datetime
from inspect import Parameter, Signature
from typing import Annotated, Any, Final, TypeVar, Union, get_args
from uuid import UUID

from fastapi import Path, Query
from pydantic import BeforeValidator, WithJsonSchema

from registry.actions.feed import MAX_LIMIT
from registry.core.model.listing import Filters, SortBy
from registry.core.names.domains import InvalidName, host_syntax
from registry.core.search_filters import COUNTED, FILTERS, LIST_COUNTED, Choice, SearchFilter, Texts, make_filters
from registry.core.wording.text import QUERY_CHARS
from registry.edge import parsers
from registry.edge.problems import INVALID_PARAMETER, UNKNOWN_SERVICE, Problem, ProblemType
from registry.wiring import utc_now

T = TypeVar("T")

MAX_DISCOVER: Final = 50
MAX_LIST: Final = 100
MAX_OFFSET: Final = 100_000
MAX_WAIT: Final = 20
MAX_FEED: Final = MAX_LIMIT
_SORTS: Final[tuple[SortBy, ...]] = get_args(SortBy)

Limit = Annotated[
    int, *parsers.limited(MAX_DISCOVER), Query(description="Rows to return; 0 returns none.", examples=[10])
]
ListLimit = Annotated[
    int, *parsers.limited(MAX_LIST), Query(description="Rows to return; 0 returns none.", examples=[50])
]
Offset = Annotated[
    int, *parsers.within(MAX_OFFSET), Query(description=f"Rows to skip, at most {MAX_OFFSET}.", examples=[0])
]
Wait = Annotated[
    int | None,
    *parsers.limited(MAX_WAIT),
    Query(description="Seconds to wait for the visit; 0 answers at once.", examples=[8]),
]
FeedLimit = Annotated[int, *parsers.limited(MAX_FEED, least=1), Query(description="Events to return.", examples=[100])]
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
Flag = Annotated[bool, BeforeValidator(lambda value: value == "true"), *parsers.one_of("true", "false")]
"""A flag that only this registry has, so that no client relies on other texts."""
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
    *parsers.any_of(*COUNTED),
    Query(alias="facets", description="Filters whose values are counted, comma separated."),
]
ListFacetNames = Annotated[
    tuple[str, ...],
    *parsers.any_of(*LIST_COUNTED),
    Query(
        alias="facets",
        description="Filters whose values are counted over all pages, at most once a minute, comma separated. The "
        "values of a filter that is set are counted as if it were not. `min_score`: services with at least 90, 75 and "
        "50 points.",
    ),
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
SubmittedLimit = Annotated[int, *parsers.limited(50, least=1), Query(description="Hosts to return.", examples=[20])]
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


async def filters(include_unverified: bool = False, **given: Any) -> Filters:
    """Return the filters that discover and list share. Async, because FastAPI runs a plain function in a thread."""
    return make_filters(given, include_unverified=include_unverified, today=utc_now().date())


def _parameter(row: SearchFilter) -> Parameter:
    is_list = isinstance(row.kind, Choice | Texts)
    one: Any = Union[tuple(dict.fromkeys(map(type, row.kind.values)))] if isinstance(row.kind, Choice) else str  # noqa: UP007
    kind: Any = tuple[one, ...] if is_list else Any
    annotation = Annotated[kind, *parsers.of_filter(row.kind), Query(description=row.says)]
    return Parameter(row.name, Parameter.KEYWORD_ONLY, annotation=annotation, default=() if is_list else None)


filters.__signature__ = Signature(  # type: ignore[attr-defined]  # FastAPI reads the parameters from it
    [
        Parameter("include_unverified", Parameter.KEYWORD_ONLY, annotation=OnlyTrue, default=False),
        *map(_parameter, FILTERS),
    ]
)


def existing(
    found: T | None, kind: ProblemType = UNKNOWN_SERVICE, detail: str = "No service is listed under this host."
) -> T:
    """Return `found`. Raise Problem if it is None."""
    if found is None:
        raise Problem(kind, detail)
    return found


def uuid_in(path: str) -> UUID | None:
    """Return the UUID of a path segment; None for another text."""
    try:
        return UUID(path)
    except ValueError:
        return None


def host_in(path: str) -> str:
    """Return the canonical host of a path segment. Raise Problem (unknown service) for an invalid name."""
    try:
        return host_syntax(path)
    except InvalidName:
        raise Problem(UNKNOWN_SERVICE, "No service is listed under this host.") from None
