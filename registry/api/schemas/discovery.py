"""The answers of `/api/discover` and `/api/services`: ranked and listed services."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, Required

from registry.api.schemas import base
from registry.api.schemas.base import Shape, about, sample
from registry.core.calling.reach import WHY_NOT_CALLABLE
from registry.edge.bodies import ClosedBody

MAX_NEEDS: Final = 10


class FoundService(base.Summary):
    cap_count: Annotated[int, about("All capabilities of the service.", 4)]


class TextSegment(Shape):
    """A piece of plain text. Markup in it has no meaning."""

    text: Annotated[str, sample("parcel")]
    match: Annotated[bool, about("A word of the query.", True)]


class CapabilityMatchReason(Shape):
    matched_terms: Annotated[Sequence[str], about("Words of the query found here.", ["parcel"])]
    score: Annotated[float | None, about("Share of the query's weight that these words carry.", 0.71)]
    similarity: Annotated[float, about("Similarity in meaning: the cosine of the vectors, 0 to 1.", 0.64)]


class RankingReason(Shape):
    parts: Annotated[
        Mapping[str, float],
        about(
            "The parts of the relevance; they add up to it.",
            {"words": 0.2, "topic": 0.24, "need": 0.18, "together": 0.31},
        ),
    ]
    cover: Annotated[float, about("Share of the query's weight that this service's words carry, 0 to 1.", 0.71)]
    similarity: Annotated[float, about("Similarity in meaning: the cosine of the vectors, 0 to 1.", 0.58)]
    confidence: Annotated[float, about("Words and meaning in one number, 0 to 1; decides `confident`.", 0.64)]


class Highlights(Shape):
    name: Annotated[list[TextSegment], about("Empty if no word of the query is in it.")]
    description: Annotated[
        list[TextSegment], about("The part around the words of the query; empty if no word of it occurs.")
    ]


ReadyCall = Annotated[
    dict[str, Any] | None,
    about("With `include=call`: `call` of the record; null: it has none, or it is too large for this answer."),
]


class MatchingCapability(base.Reached):
    name: Annotated[str, sample("create_parcel")]
    description: Annotated[str, sample("Creates a parcel and returns its label.")]
    detail_url: Annotated[
        str,
        about(
            "Absolute: the site's own document if it has one, otherwise this registry's.",
            "https://api.pigeonpost.example/v2/caps/create_parcel",
        ),
    ]
    side_effects: Annotated[bool | None, about("null: the documents do not say.", True)]
    confirmation: Annotated[base.Confirmation | None, about("null: the documents do not say.", None)]
    confident: Annotated[bool, about("This capability by itself answers the query.", True)]
    not_callable: Annotated[
        str | None, about("Why it cannot be called; null: it can.", None, enum=[*WHY_NOT_CALLABLE, None])
    ]
    why: CapabilityMatchReason
    injection_flags: base.InjectionFlags
    untrusted_text: base.UntrustedText
    highlights: NotRequired[Annotated[list[TextSegment], about("Of the description; with `highlights=true`.")]]
    call: NotRequired[ReadyCall]


class DiscoverRow(Shape):
    service: FoundService
    matching_capabilities: list[MatchingCapability]
    relevance: Annotated[float, about("Comparable within one answer only.", 0.93)]
    matched_terms: Annotated[Sequence[str], sample(["parcel"])]
    confident: Annotated[bool, about("Words and meaning are close enough to count as an answer.", True)]
    why: RankingReason
    alike: Annotated[
        Sequence[str],
        about(
            "Hosts folded into this row, at most five: hosts for which its owner lets it stand, copies by any "
            "owner, and near-duplicates of the same owner.",
            [],
        ),
    ]
    alike_of_others: Annotated[Sequence[str], about("Hosts in `alike` that belong to another registrable domain.", [])]
    alike_total: Annotated[int, about("How many hosts are folded into this row, those in `alike` included.", 0)]
    untrusted_text: base.UntrustedText
    highlights: NotRequired[Annotated[Highlights, about("With `highlights=true`.")]]


class FacetCounts(Shape):
    services: Annotated[int, about("How many services were counted.")]
    counts: Annotated[Mapping[str, Mapping[str, int]], about("Filter -> value -> services, at most 50 values each.")]


class Suggested(Shape):
    known_words: Annotated[Sequence[str], about("Words of the query that occur in some service.")]
    spelling: Annotated[Mapping[str, Sequence[str]], about("Unknown word -> known words with a similar spelling.")]
    without_filters: Annotated[list[str], about("Filters without which there is a confident answer.")]


class Discovered(base.Succeeded):
    query: Annotated[str, about("The query as it was searched: trimmed, at most 400 characters.", "send a parcel")]
    result_count: Annotated[int, about("Rows in this answer.", 1)]
    data: list[DiscoverRow]
    total: Annotated[int, about("Services that answer the query: all rows of all pages.", 1)]
    next_cursor: Annotated[str | None, about("The cursor for the next rows of the same query; null at the end.", None)]
    generation: Annotated[str, about("The state of the index that answered.", "5f0e1c2d9a47.12")]
    confident: Annotated[bool, about("Of the first row. false: it does not answer the query well.", True)]
    corrected: Annotated[
        Mapping[str, str], about("Misspelt word of the query -> the word that was searched instead.", {})
    ]
    untrusted_text: base.UntrustedText
    facets: NotRequired[Annotated[FacetCounts, about("With `facets`.")]]
    suggestions: NotRequired[Annotated[Suggested, about("If the answer is not confident.")]]


class BriefCapability(base.Reached, total=False):
    name: Required[Annotated[str, sample("create_parcel")]]
    description: Required[Annotated[str, about("Cut to a sentence or two.", "Creates a parcel and returns its label.")]]
    not_callable: Annotated[str, about("Why it cannot be called.", enum=list(WHY_NOT_CALLABLE))]
    side_effects: Required[Annotated[bool | None, about("null: the documents do not say.", True)]]
    confident: Required[Annotated[bool, about("This capability by itself answers the query.", True)]]
    call: ReadyCall
    injection_flags: base.InjectionFlags


class BriefRow(Shape):
    domain: base.HostName
    name: Annotated[str, sample("Pigeonpost")]
    why: Annotated[str, about("Why the row is here, in a sentence.", "Matches: send, parcel.")]
    trust: base.Trust
    identity: base.IdentityWord
    doubt: NotRequired[base.Doubt]
    confident: Annotated[bool, about("It is close enough to count as an answer.", True)]
    capability: Annotated[BriefCapability | None, about("The best match; null: only the service as a whole.")]
    also: Annotated[Sequence[str], about("Names of further capabilities that fit, at most two.", ["price_parcel"])]
    description: NotRequired[Annotated[str, about("Of the service; only where `capability` is null.")]]
    injection_flags: NotRequired[base.InjectionFlags]


class BriefDiscovered(base.Succeeded):
    """The answer with `view=brief`."""

    query: Annotated[str, about("The query as it was searched.", "send a parcel")]
    confident: Annotated[bool, about("Of the first row. false: it does not answer the query well.", True)]
    nearest: Annotated[bool, about("The rows do not answer the query well; at most three, the nearest.", False)]
    data: list[BriefRow]
    next_cursor: Annotated[str | None, about("The cursor for the next rows of the same query; null at the end.", None)]
    corrected: Annotated[
        Mapping[str, str], about("Misspelt word of the query -> the word that was searched instead.", {})
    ]
    untrusted_text: base.UntrustedText
    facets: NotRequired[Annotated[FacetCounts, about("With `facets`.")]]
    suggestions: NotRequired[Annotated[Suggested, about("If the answer is not confident.")]]


class ListedService(base.Summary):
    capability_count: Annotated[int, sample(4)]
    created_at: Annotated[base.Timestamp, sample("2026-11-02T08:15:30.000Z")]


class SimilarService(base.Summary):
    capability_count: Annotated[int, sample(4)]
    similarity: Annotated[float, about("How near its texts are, 0 to 1.", 0.61)]


class SimilarData(base.Shape):
    domain: base.HostName
    services: Annotated[list[SimilarService], about("The nearest first.")]


class SimilarServices(base.Succeeded):
    data: SimilarData


class ServiceList(base.Succeeded):
    data: list[ListedService]
    total: Annotated[int, sample(31)]
    page: Annotated[int, sample(1)]
    totalPages: Annotated[int, sample(31)]
    next_offset: Annotated[int | None, about("`offset` of the next page; null at the end.", 1)]
    facets: NotRequired[Annotated[FacetCounts, about("With `facets`.")]]
    untrusted_text: NotRequired[base.UntrustedText]


_NEED: Final = {
    "anyOf": [
        {"type": "string"},
        {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": True},
    ]
}


class Needs(ClosedBody):
    needs: Annotated[
        list[Any],
        about(
            "What you need, in plain words; or an object of `q` and any other parameter of `GET /api/discover`. Lists "
            "may be arrays.",
            ["send a parcel", {"q": "rent a bicycle", "limit": 3, "auth_type": ["none"]}],
            min_length=1,
            max_length=MAX_NEEDS,
            json_schema_extra={"items": _NEED},
        ),
    ]


class Unanswered(Shape):
    success: Literal[False]
    problem: Annotated[dict[str, Any], about("What a request for this need alone would answer (RFC 9457).")]


class DiscoveredMany(base.Succeeded):
    data: Annotated[
        list[Discovered | BriefDiscovered | Unanswered], about("An answer for each need, in the order of the needs.")
    ]
