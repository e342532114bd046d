"""The answers of `/api/discover` and `/api/services`: ranked and listed services."""

from collections.abc import Mapping, Sequence
from typing import Annotated, NotRequired

from pydantic import Field

from registry.api.schemas.base import (
    Confirmation,
    InjectionFlags,
    Shape,
    Succeeded,
    Summary,
    Timestamp,
    UntrustedText,
)


class FoundService(Summary):
    cap_count: Annotated[int, Field(description="All capabilities of the service.", examples=[4])]


class TextSegment(Shape):
    """A piece of plain text. Markup in it has no meaning."""

    text: Annotated[str, Field(examples=["parcel"])]
    match: Annotated[bool, Field(description="A word of the query.", examples=[True])]


class CapabilityMatchReason(Shape):
    matched_terms: Annotated[Sequence[str], Field(description="Words of the query found here.", examples=[["parcel"]])]
    score: Annotated[
        float | None, Field(description="Share of the query's weight that these words carry.", examples=[0.71])
    ]
    similarity: Annotated[
        float, Field(description="Similarity in meaning: the cosine of the vectors, 0 to 1.", examples=[0.64])
    ]


class RankingReason(Shape):
    parts: Annotated[
        Mapping[str, float],
        Field(
            description="The parts of the relevance; they add up to it.",
            examples=[{"words": 0.2, "topic": 0.24, "need": 0.18, "together": 0.31}],
        ),
    ]
    cover: Annotated[
        float,
        Field(description="Share of the query's weight that this service's words carry, 0 to 1.", examples=[0.71]),
    ]
    similarity: Annotated[
        float, Field(description="Similarity in meaning: the cosine of the vectors, 0 to 1.", examples=[0.58])
    ]
    confidence: Annotated[
        float,
        Field(description="Words and meaning in one number, 0 to 1; decides `confident`.", examples=[0.64]),
    ]


class Highlights(Shape):
    name: Annotated[list[TextSegment], Field(description="Empty if no word of the query is in it.")]
    description: Annotated[
        list[TextSegment], Field(description="The part around the words of the query; empty if no word of it occurs.")
    ]


class MatchingCapability(Shape):
    name: Annotated[str, Field(examples=["create_parcel"])]
    description: Annotated[str, Field(examples=["Creates a parcel and returns its label."])]
    detail_url: Annotated[
        str,
        Field(
            description="Absolute: the site's own document if it has one, otherwise this registry's.",
            examples=["https://api.pigeonpost.example/v2/caps/create_parcel"],
        ),
    ]
    side_effects: Annotated[bool | None, Field(description="null: the documents do not say.", examples=[True])]
    confirmation: Annotated[Confirmation | None, Field(description="null: the documents do not say.", examples=[None])]
    why: CapabilityMatchReason
    injection_flags: InjectionFlags
    untrusted_text: UntrustedText
    highlights: NotRequired[
        Annotated[list[TextSegment], Field(description="Of the description; with `highlights=true`.")]
    ]


class DiscoverRow(Shape):
    service: FoundService
    matching_capabilities: list[MatchingCapability]
    relevance: Annotated[float, Field(description="Comparable within one answer only.", examples=[0.93])]
    matched_terms: Annotated[Sequence[str], Field(examples=[["parcel"]])]
    confident: Annotated[
        bool, Field(description="Words and meaning are close enough to count as an answer.", examples=[True])
    ]
    why: RankingReason
    alike: Annotated[
        Sequence[str],
        Field(
            description="Hosts folded into this row, at most five: hosts for which its owner lets it stand, copies by "
            "any owner, and near-duplicates of the same owner.",
            examples=[[]],
        ),
    ]
    alike_of_others: Annotated[
        Sequence[str], Field(description="Hosts in `alike` that belong to another registrable domain.", examples=[[]])
    ]
    alike_total: Annotated[
        int, Field(description="How many hosts are folded into this row, those in `alike` included.", examples=[0])
    ]
    untrusted_text: UntrustedText
    highlights: NotRequired[Annotated[Highlights, Field(description="With `highlights=true`.")]]


class FacetCounts(Shape):
    services: Annotated[int, Field(description="How many services were counted; equal to `total`.")]
    counts: Annotated[
        Mapping[str, Mapping[str, int]], Field(description="Filter -> value -> services, at most 50 values each.")
    ]


class Suggested(Shape):
    known_words: Annotated[Sequence[str], Field(description="Words of the query that occur in some service.")]
    spelling: Annotated[
        Mapping[str, Sequence[str]], Field(description="Unknown word -> known words with a similar spelling.")
    ]
    without_filters: Annotated[list[str], Field(description="Filters without which there is a confident answer.")]


class Discovered(Succeeded):
    query: Annotated[
        str,
        Field(description="The query as it was searched: trimmed, at most 400 characters.", examples=["send a parcel"]),
    ]
    result_count: Annotated[int, Field(description="Rows in this answer.", examples=[1])]
    data: list[DiscoverRow]
    total: Annotated[int, Field(description="Services that answer the query: all rows of all pages.", examples=[1])]
    next_cursor: Annotated[
        str | None,
        Field(description="The cursor for the next rows of the same query; null at the end.", examples=[None]),
    ]
    generation: Annotated[str, Field(description="The state of the index that answered.", examples=["5f0e1c2d9a47.12"])]
    confident: Annotated[
        bool,
        Field(description="Of the first row. false: it does not answer the query well.", examples=[True]),
    ]
    corrected: Annotated[
        Mapping[str, str],
        Field(description="Misspelt word of the query -> the word that was searched instead.", examples=[{}]),
    ]
    untrusted_text: UntrustedText
    facets: NotRequired[Annotated[FacetCounts, Field(description="With `facets`.")]]
    suggestions: NotRequired[Annotated[Suggested, Field(description="If the answer is not confident.")]]


class ListedService(Summary):
    capability_count: Annotated[int, Field(examples=[4])]
    created_at: Annotated[Timestamp, Field(examples=["2026-11-02T08:15:30.000Z"])]


class ServiceList(Succeeded):
    data: list[ListedService]
    total: Annotated[int, Field(examples=[31])]
    page: Annotated[int, Field(examples=[1])]
    totalPages: Annotated[int, Field(examples=[31])]
    next_offset: Annotated[int | None, Field(description="`offset` of the next page; null at the end.", examples=[1])]
