"""`GET /api/discover`: find services by a sentence, ranked by relevance."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import Depends, Query, Request, Response

from registry.actions.queries.calls import make_calls
from registry.actions.queries.discover import DiscoverPage, FoundCapability, SearchResult
from registry.api.atom import link_to_changes
from registry.api.brief import brief
from registry.api.documents import describe_read
from registry.api.params import FacetNames, Flag, Limit, SortOrder, Unique, filters, question
from registry.api.rows import CALLABLE, confirmation, summary
from registry.api.schemas import discovery as schemas
from registry.core.formats.adp.manifest_view import CAPABILITY_DESCRIPTION_CHARS
from registry.core.model.listing import Filters, StaleCursor
from registry.core.model.listing import Query as SearchQuery
from registry.core.ranking.capabilities import MAX_SHOWN
from registry.core.ranking.parsed_query import highlights as find_highlights
from registry.core.reading.plain_text import ELLIPSIS, plain
from registry.core.search_filters import COUNTED, FILTERS
from registry.edge import parsers
from registry.edge.limiter import charge, charge_stored, of_discover
from registry.edge.problems import BUSY, INVALID_CURSOR, INVALID_PARAMETER, Problem, invalid_cursor
from registry.edge.requests import MAX_INLINE_SERVICE, base_url, computed, registry_of
from registry.edge.responses import capability_url, json_response, rounded
from registry.edge.routing import QueryRoute, strict_router
from registry.wiring import utc_now

CURSOR_CHARS: Final = 500
MAX_WITH_CALLS: Final = 10
FRAGMENT_CHARS: Final = 240
_CONTEXT_CHARS: Final = 60
_READ_CHARS: Final = 2_000
_UNTRUSTED_CAPABILITY: Final = (
    "name", "description", "detail_url", "confirmation.message", "why.matched_terms", "highlights", "address",
    "record_url",
)  # fmt: skip

Calls = Mapping[tuple[str, str], Any]
"""Host and name of a capability -> its call."""

router = strict_router(QueryRoute, tags=["discovery"])


@router.get(
    "/api/discover",
    **describe_read(schemas.Discovered, INVALID_PARAMETER, INVALID_CURSOR, BUSY)
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
    include: Annotated[
        tuple[str, ...],
        *parsers.any_of("call"),
        Query(
            description="`call`: each capability has its call, ready to be sent, as its record has it. Then at most "
            f"{MAX_WITH_CALLS} rows."
        ),
    ] = (),
) -> Response:
    text = question(q)
    if include and limit > MAX_WITH_CALLS:
        fault = f"limit: must be at most {MAX_WITH_CALLS} with include=call"
        raise Problem(INVALID_PARAMETER, fault, errors=[fault])
    charge(request, of_discover(limit, len(counted)))
    query = SearchQuery(text, limit, 0, replace(narrowed, unique=unique), sort)
    try:
        page = await registry_of(request).search.discover(query, cursor, facets=[COUNTED[name] for name in counted])
    except StaleCursor as error:
        raise invalid_cursor(error) from None
    stems = page.stems if highlights else None
    base = base_url(request)
    calls = await _calls(request, page, 1 if view == "brief" else MAX_SHOWN) if include else None
    content: Any = (
        brief(page, text, base, calls) if view == "brief" else _content(page, text, stems, base, utc_now(), calls)
    )
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


async def _calls(request: Request, page: DiscoverPage, each: int) -> Calls:
    """Return the calls of the first capabilities of each row, in another process where much is stored of them."""
    asked = await registry_of(request).search.asked_calls(page, each)
    charge_stored(request, asked.size)
    return await computed(request, asked.size, MAX_INLINE_SERVICE, make_calls, asked)


def _content(
    page: DiscoverPage, text: str, stems: Collection[str] | None, base: str, now: datetime, calls: Calls | None
) -> schemas.Discovered:
    data = [_row(result, stems, base, now, calls) for result in page.hits]
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


def _row(
    result: SearchResult, stems: Collection[str] | None, base: str, now: datetime, calls: Calls | None
) -> schemas.DiscoverRow:
    card, hit = result.card, result.hit
    row: schemas.DiscoverRow = {
        "service": {**summary(card, base, now), "cap_count": card.cap_count},
        "matching_capabilities": [
            _capability(capability, stems, card.host, base, calls) for capability in result.capabilities
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
    capability: FoundCapability, stems: Collection[str] | None, host: str, base: str, calls: Calls | None
) -> schemas.MatchingCapability:
    description = plain(capability.description, CAPABILITY_DESCRIPTION_CHARS)
    reach, record_url = capability.reach, capability_url(base, host, capability.name)
    row: schemas.MatchingCapability = {
        "name": capability.name,
        "description": description,
        "detail_url": capability.detail_url or record_url,
        "callable": CALLABLE[reach["callable"]],
        "not_callable": reach.get("reason"),
        "kind": reach.get("kind"),
        "method": reach.get("method"),
        "address": reach.get("address"),
        "record_url": record_url,
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
    if calls is not None:
        row["call"] = calls.get((host, capability.name))
        row["untrusted_text"] = (*_UNTRUSTED_CAPABILITY, "call")
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
