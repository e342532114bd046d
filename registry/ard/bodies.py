"""Bodies of requests (ARD v0.91, section 5.3). The envelopes are closed: an unknown member is an error."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from registry.ard.errors import invalid
from registry.edge.routing import read_body

PAGE_SIZE: Final = 10
LIST_PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100
TOKEN_CHARS: Final = 4_000
MAX_FACETS: Final = 10
FACET_VALUES: Final = 20
MAX_FACET_VALUES: Final = 100
_NAMED: Final = 20

Federation = Literal["auto", "referrals", "none"]
Filter = Annotated[
    dict[str, Any],
    Field(
        description="Term path -> a text or an array of texts: any of them, and all keys.",
        json_schema_extra={
            "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
        },
    ),
]
Context = Annotated[
    dict[str, Any] | list[Any] | str | None,
    Field(alias="@context", description="Terms and prefixes of the keys of `filter`. Nothing is fetched."),
]


class _ClosedModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)


class SearchQuery(_ClosedModel):
    text: Annotated[str, Field(description="What is needed, in plain words. Cut to 400 characters.")]
    filter: Filter = {}
    context: Context = None


class SearchRequest(_ClosedModel):
    query: SearchQuery
    federation: Annotated[
        Federation,
        Field(description="`referrals` adds registries that this one knows. No other registry is ever asked."),
    ] = "auto"
    pageSize: Annotated[int, Field(ge=1, description=f"Entries to return; larger values count as {MAX_PAGE_SIZE}.")] = (
        PAGE_SIZE
    )
    pageToken: Annotated[
        str | None, Field(max_length=TOKEN_CHARS, description="`pageToken` of the page before, for the same query.")
    ] = None


class ExploreQuery(_ClosedModel):
    text: str = ""
    filter: Filter = {}
    context: Context = None


class FacetRequest(_ClosedModel):
    field: Annotated[str, Field(description="Path of a term, as the keys of `filter`.", examples=["type"])]
    limit: Annotated[int, Field(ge=1, description=f"Larger values count as {MAX_FACET_VALUES}.")] = FACET_VALUES
    minCount: Annotated[int, Field(ge=0)] = 1


class FacetsRequest(_ClosedModel):
    facets: Annotated[list[FacetRequest], Field(min_length=1, max_length=MAX_FACETS)]


class ExploreRequest(_ClosedModel):
    query: ExploreQuery = ExploreQuery()
    resultType: FacetsRequest


Body = TypeVar("Body", bound=_ClosedModel)


async def read(request: Request, kind: type[Body]) -> Body:
    """Return the body of a request. Raise Problem, which names places and rules and repeats no part of the body."""
    value = await read_body(request)
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        faults = [f"{_place(fault['loc'], fault['type'])}: {_rule(fault)}" for fault in error.errors()[:_NAMED]]
        problem = invalid("; ".join(dict.fromkeys(faults)))
        problem.members["errors"] = faults
        raise problem from None


_MEMBERS: Final = frozenset(
    name
    for model in (SearchRequest, SearchQuery, ExploreRequest, ExploreQuery, FacetsRequest, FacetRequest)
    for name, field in model.model_fields.items()
) | {"@context"}


def _place(location: Sequence[int | str], kind: str) -> str:
    """Return the path of members that this API defines; invented members are not repeated."""
    known = [str(part) for part in location if isinstance(part, int) or part in _MEMBERS]
    if kind == "extra_forbidden" and location and isinstance(location[-1], str) and location[-1] in _MEMBERS:
        known = known[:-1]  # a member of another object
    return ".".join(known) or "the body"


def _rule(fault: Any) -> str:
    context = fault.get("ctx", {})
    match fault["type"]:
        case "missing":
            return "is required"
        case "extra_forbidden":
            return "has a member that the specification does not define here"
        case "string_type":
            return "must be a text"
        case "int_type":
            return "must be a whole number"
        case "dict_type" | "model_type":
            return "must be an object"
        case "list_type":
            return "must be an array"
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "string_too_long":
            return f"must have at most {context['max_length']} characters"
        case "too_short":
            return f"must have at least {context['min_length']} items"
        case "too_long":
            return f"must have at most {context['max_length']} items"
        case "literal_error":
            return f"must be {context['expected']}"
    return "is invalid"
