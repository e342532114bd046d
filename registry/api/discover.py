"""`GET /api/discover`: a sentence in, ranked services out."""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from pydantic import BeforeValidator, WithJsonSchema

from registry.actions.answering.discover import DiscoverPage, Found, FoundCapability
from registry.api.answers import answer, capability_url, rounded
from registry.api.documents import errors, example, not_modified
from registry.api.marked import marked
from registry.api.params import (
    FACETS,
    FILTER_NAMES,
    FacetNames,
    Limit,
    SortOrder,
    base_url,
    filters,
    question,
    registry_of,
)
from registry.api.problems import INVALID_CURSOR, INVALID_PARAMETER, Problem
from registry.api.rows import summary
from registry.api.schemas import Discovered
from registry.api.strict import QueryRoute, strict_router
from registry.core.listing import Filters, StaleCursor
from registry.core.listing import Query as Asked
from registry.core.plain_text import plain
from registry.core.suggest import Suggestions
from registry.core.views import CAPABILITY_DESCRIPTION_CHARS
from registry.wiring import utc_now

CURSOR_CHARS = 500

router = strict_router(QueryRoute, tags=["discovery"])


@router.get(
    "/api/discover",
    response_model=Discovered,
    responses={
        200: example("DISCOVERED"),
        **not_modified(),
        **errors(INVALID_PARAMETER, INVALID_CURSOR),
    },
    summary="Find services by a sentence",
    description="Ranks the listed services by how well they answer `q`, with the capabilities that match. Relevance "
    "alone orders the rows, unless `sort` says otherwise; `score` is the quality of what the site serves. `detail_url` "
    "is the site's own document where it has one, else this registry's. Where nothing answers well, `confident` is "
    "false, the rows are the nearest there are, and `suggestions` says what to ask instead.",
)
async def discover(
    request: Request,
    q: Annotated[
        str,
        Query(
            description="What is needed, in plain words. Trimmed and cut to 400 characters, otherwise taken as it is.",
            examples=["send a parcel"],
        ),
    ],
    narrowed: Annotated[Filters, Depends(filters)],
    limit: Limit = 10,
    cursor: Annotated[
        str | None,
        Query(max_length=CURSOR_CHARS, description="`next_cursor` of the answer before, for the same `q` and filters."),
    ] = None,
    sort: SortOrder = "relevance",
    counted: FacetNames = (),
    highlights: Annotated[
        bool,
        BeforeValidator(lambda text: text is True or text == "true"),
        WithJsonSchema({"type": "string"}),
        Query(description="With the exact text `true`, texts are also given with the question's words marked."),
    ] = False,
) -> Response:
    text = question(q)
    asked = Asked(text, limit, 0, narrowed, sort)
    try:
        page = await registry_of(request).discover(asked, cursor, facets=[FACETS[name] for name in counted])
    except StaleCursor as stale:
        raise Problem(INVALID_CURSOR, f"Start again without the cursor: {stale}.") from None
    stems = page.stems if highlights else None
    content = _shown(page, text, stems, base_url(request), utc_now())
    if page.facets is not None:
        counts = {name: page.facets.counts[FACETS[name]] for name in counted}
        content["facets"] = {"services": page.facets.services, "counts": counts}
    if page.suggestions is not None:
        given = [name for name in FILTER_NAMES if name in request.query_params]
        content["suggestions"] = _suggested(page.suggestions, given)
    return answer(request, content)


(ROUTE,) = (route for route in router.routes if isinstance(route, QueryRoute))


def _shown(page: DiscoverPage, text: str, stems: Collection[str] | None, base: str, now: datetime) -> dict[str, Any]:
    data = [_row(found, stems, base, now) for found in page.hits]
    return {
        "success": True,
        "query": text,
        "result_count": len(data),
        "data": data,
        "total": page.total,
        "next_cursor": page.next_cursor,
        "generation": page.generation,
        "confident": page.confident,
    }


def _row(found: Found, stems: Collection[str] | None, base: str, now: datetime) -> dict[str, Any]:
    card, hit = found.card, found.hit
    row = {
        "service": {**summary(card, base, now), "cap_count": card.cap_count},
        "matching_capabilities": [_capability(one, stems, card.host, base) for one in found.capabilities],
        "relevance": rounded(hit.relevance),
        "matched_terms": hit.matched_terms,
        "confident": hit.confident,
        "why": {
            "parts": {name: rounded(part) for name, part in hit.parts.items()},
            "cover": rounded(hit.cover),
            "similarity": rounded(hit.similarity),
        },
        "alike": found.alike,
    }
    if stems is not None:
        row["highlights"] = {"name": marked(card.name, stems), "description": marked(card.description, stems)}
    return row


def _capability(one: FoundCapability, stems: Collection[str] | None, host: str, base: str) -> dict[str, Any]:
    description = plain(one.description, CAPABILITY_DESCRIPTION_CHARS)
    shown = {
        "name": one.name,
        "description": description,
        "detail_url": one.detail_url or capability_url(base, host, one.name),
        "side_effects": one.side_effects,
        "why": {
            "matched_terms": one.matched_terms,
            "score": rounded(one.cover),
            "similarity": rounded(one.similarity),
        },
    }
    return shown if stems is None else {**shown, "highlights": marked(description, stems)}


def _suggested(found: Suggestions, filters: list[str]) -> dict[str, Any]:
    return {
        "known_words": found.known,
        "spelling": found.spelling,
        "without_filters": filters if found.without_filters else [],
    }
