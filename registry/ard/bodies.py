"""Bodies of requests (ARD v0.91, section 5.3). The envelopes are closed: an unknown member is an error."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

PAGE_SIZE: Final = 10
LIST_PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100
TOKEN_CHARS: Final = 4_000
MAX_FACETS: Final = 10
FACET_VALUES: Final = 20
MAX_FACET_VALUES: Final = 100

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
