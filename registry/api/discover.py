"""`GET /api/discover`: find services by a sentence, ranked by relevance."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import Depends, Query, Request, Response

from registry.actions.queries.discover import DiscoverPage, FoundCapability, SearchResult
from registry.api.atom import link_to_changes
from registry.api.brief import brief
from registry.api.documents import describe_read
from registry.api.params import FacetNames, Flag, Limit, SortOrder, Unique, filters, question
from registry.api.rows import confirmation, reach_of, summary
from registry.api.schemas import discovery as schemas
from registry.core.formats.adp.manifest_view import CAPABILITY_DESCRIPTION_CHARS
from registry.core.model.listing import Filters, StaleCursor
from registry.core.model.listing import Query as SearchQuery
from registry.core.ranking.parsed_query import highlights as find_highlights
from registry.core.reading.plain_text import ELLIPSIS, plain
from registry.core.search_filters import COUNTED, FILTERS
from registry.edge import parsers
from registry.edge.limiter import charge, of_discover
from registry.edge.problems import INVALID_CURSOR, INVALID_PARAMETER, invalid_cursor
from registry.edge.requests import base_url, registry_of
from registry.edge.responses import capability_url, json_response, rounded
from registry.edge.routing import QueryRoute, strict_router
from registry.wiring import utc_now

CURSOR_CHARS: Final = 500
FRAGMENT_CHARS: Final = 240
_CONTEXT_CHARS: Final = 60
_READ_CHARS: Final = 2_000
_UNTRUSTED_CAPABILITY: Final = (
    "name", "description", "detail_url", "confirmation.message", "why.matched_terms", "highlights", "address",
    "record_url",
)  # fmt: skip

router = strict_router(QueryRoute, tags=["discovery"])


@router.get(
    "/api/discover",
    **describe_read(schemas.Discovered, INVALID_PARAMETER, INVALID_CURSOR)
    | {"response_model": schemas.Discovered | schemas.BriefDiscovered},
    summary="Find services by a sentence",
    description="Ranks the listed services by how well they answer `q`, with the capabilities that match. Relevance "
    "alone orders the rows, unless `sort` is given; `score` is the quality of what the site serves. `detail_url` is "
    "the site's own document if it has one, otherwise this registry's. Rows far below the "
    "first are left out. Services that offer the same as another one, word for word, are folded into it, whoever "
    "serves them (`unique`). If the first row does not answer the query well, `confident` is false, the rows are the "
    "nearest matches, and `suggestions` says what to search for instead. Words that no service holds and that look "
    "misspelt are corrected; `corrected` says which.",
)
async def discover(
    request: Request,
    q: Annotated[
        str,
        Query(
            description="What you need, in plain words. Trimmed and cut to 400 characters, otherwise used as it is.",
            examples=["send a parcel"],
        ),
    ],
    narrowed: Annotated[Filters, Depends(filters)],
    limit: Limit = 10,
    cursor: Annotated[
        str | None,
        Query(
            max_length=CURSOR_CHARS, description="`next_cursor` of the previous answer, for the same `q` and filters."
        ),
    ] = None,
    sort: SortOrder = "relevance",
    unique: Unique = True,
    counted: FacetNames = (),
    highlights: Annotated[
        Flag, Query(description="`true`: texts are also returned with the words of the query marked.")
    ] = False,
    view: Annotated[
        Literal["full", "brief"],
        *parsers.one_of("full", "brief"),
        Query(
            description="`brief`: for models. At most 250 tokens a row; at most three rows, the nearest ones, if the "
            "first does not answer the query well. Without `highlights`."
        ),
    ] = "full",
) -> Response:
    text = question(q)
    charge(request, of_discover(limit, len(counted)))
    query = SearchQuery(text, limit, 0, replace(narrowed, unique=unique), sort)
    try:
        page = await registry_of(request).search.discover(query, cursor, facets=[COUNTED[name] for name in counted])
    except StaleCursor as error:
        raise invalid_cursor(error) from None
    stems = page.stems if highlights else None
    base = base_url(request)
    content: Any = brief(page, text, base) if view == "brief" else _content(page, text, stems, base, utc_now())
    if page.facets is not None:
        counts = {name: page.facets.counts[COUNTED[name]] for name in counted}
        content["facets"] = {"services": page.facets.services, "counts": counts}
    if page.suggestions is not None:
        used_filters = [row.name for row in FILTERS if row.name in request.query_params]
        content["suggestions"] = {
            "known_words": page.suggestions.known,
            "spelling": page.suggestions.spelling,
            "without_filters": used_filters if page.suggestions.without_filters else [],
        }
    # The Atom feed lacks these filters: a link to it from a filtered search would lead to other results.
    is_bare = len(request.query_params) == 1
    return json_response(request, content, headers=link_to_changes(base_url(request), q=text) if is_bare else None)


def _content(
    page: DiscoverPage, text: str, stems: Collection[str] | None, base: str, now: datetime
) -> schemas.Discovered:
    data = [_row(result, stems, base, now) for result in page.hits]
    return {
        "success": True,
        "query": text,
        "result_count": len(data),
        "data": data,
        "total": page.total,
        "next_cursor": page.next_cursor,
        "generation": page.generation,
        "confident": page.confident,
        "corrected": page.corrected,
        "untrusted_text": ["corrected", "facets.counts", "suggestions.spelling"],  # words that the index has from sites
    }


def _row(result: SearchResult, stems: Collection[str] | None, base: str, now: datetime) -> schemas.DiscoverRow:
    card, hit = result.card, result.hit
    row: schemas.DiscoverRow = {
        "service": {**summary(card, base, now), "cap_count": card.cap_count},
        "matching_capabilities": [
            _capability(capability, stems, card.host, base) for capability in result.capabilities
        ],
        "relevance": rounded(hit.relevance),
        "matched_terms": hit.matched_terms,
        "confident": hit.confident,
        "why": {
            "parts": {name: rounded(part) for name, part in hit.parts.items()},
            "cover": rounded(hit.cover),
            "similarity": rounded(hit.similarity),
            "confidence": rounded(hit.confidence),
        },
        "alike": result.alike,
        "alike_of_others": result.alike_of_others,
        "alike_total": hit.alike_total,
        "untrusted_text": ["matched_terms", "highlights"],
    }
    if stems is not None:
        row["highlights"] = {"name": highlight(card.name, stems), "description": highlight(card.description, stems)}
    return row


def _capability(
    capability: FoundCapability, stems: Collection[str] | None, host: str, base: str
) -> schemas.MatchingCapability:
    description = plain(capability.description, CAPABILITY_DESCRIPTION_CHARS)
    reach = reach_of(capability, host, base)
    row: schemas.MatchingCapability = {
        "name": capability.name,
        "description": description,
        "detail_url": capability.detail_url or capability_url(base, host, capability.name),
        "callable": reach["callable"],
        "not_callable": capability.reach.get("reason"),
        "kind": reach["kind"],
        "method": reach["method"],
        "address": reach["address"],
        "record_url": reach["record_url"],
        "side_effects": capability.side_effects,
        "confirmation": confirmation(capability.confirmation),
        "confident": capability.confident,
        "why": {
            "matched_terms": capability.matched_terms,
            "score": rounded(capability.cover),
            "similarity": rounded(capability.similarity),
        },
        "injection_flags": capability.injection_flags,
        "untrusted_text": _UNTRUSTED_CAPABILITY,
    }
    if stems is not None:
        row["highlights"] = highlight(description, stems)
    return row


def highlight(text: str, stems: Collection[str]) -> list[schemas.TextSegment]:
    """Return the part of the text around its first matches, as plain segments in order; empty if nothing matches.

    Positions would be ambiguous (bytes, UTF-16 units or code points), and marks inside the text could be forged.
    """
    spans = find_highlights(text[:_READ_CHARS], stems)
    if not spans:
        return []
    start = _fragment_start(text, spans[0][0])
    end = len(text)
    if end - start > FRAGMENT_CHARS:
        end = _fragment_end(text, max(start + FRAGMENT_CHARS, spans[0][1]))
    segments: list[schemas.TextSegment] = []
    position = start
    for match_start, match_end in spans:
        if match_end > end:
            break
        segments.append({"text": text[position:match_start], "match": False})
        segments.append({"text": text[match_start:match_end], "match": True})
        position = match_end
    segments.append({"text": text[position:end], "match": False})
    if start > 0:
        segments.insert(0, {"text": ELLIPSIS, "match": False})
    if end < len(text):
        segments.append({"text": ELLIPSIS, "match": False})
    return [segment for segment in segments if segment["text"]]


def _fragment_start(text: str, match_start: int) -> int:
    """Return where the fragment begins: after a space, a few words before the match."""
    if match_start <= _CONTEXT_CHARS:
        return 0
    return text.find(" ", match_start - _CONTEXT_CHARS, match_start) + 1 or match_start


def _fragment_end(text: str, limit: int) -> int:
    """Return where the fragment ends: at the last space before `limit`."""
    space = text.rfind(" ", limit - _CONTEXT_CHARS, limit)
    return space if space > 0 else limit
