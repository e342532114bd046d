"""`GET /api/discover`: a sentence in, ranked services out."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response

from registry.actions.answering.discover import DiscoverPage, Found, FoundCapability
from registry.api.answers import answer, capability_url
from registry.api.documents import errors, example, not_modified
from registry.api.params import Limit, base_url, filters, question, registry_of
from registry.api.problems import INVALID_CURSOR, INVALID_PARAMETER, Problem
from registry.api.rows import summary
from registry.api.schemas import Discovered
from registry.api.strict import strict_router
from registry.core.listing import Filters, StaleCursor
from registry.core.listing import Query as Asked
from registry.core.plain_text import plain
from registry.core.views import CAPABILITY_DESCRIPTION_CHARS
from registry.wiring import utc_now

CURSOR_CHARS = 500

router = strict_router(tags=["discovery"])


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
    "alone orders the rows; `score` is the quality of what the site serves. `detail_url` is the site's own document "
    "where it has one, else this registry's.",
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
) -> Response:
    text = question(q)
    try:
        page = await registry_of(request).discover(Asked(text, limit, 0, narrowed), cursor)
    except StaleCursor as stale:
        raise Problem(INVALID_CURSOR, f"Start again without the cursor: {stale}.") from None
    return answer(request, _shown(page, text, base_url(request), utc_now()))


def _shown(page: DiscoverPage, text: str, base: str, now: datetime) -> dict[str, Any]:
    data = [_row(found, base, now) for found in page.hits]
    return {
        "success": True,
        "query": text,
        "result_count": len(data),
        "data": data,
        "total": page.total,
        "next_cursor": page.next_cursor,
        "generation": page.generation,
    }


def _row(found: Found, base: str, now: datetime) -> dict[str, Any]:
    card = found.card
    effects = {one.name: one.side_effects for one in card.capabilities}
    return {
        "service": {**summary(card, base, now), "cap_count": card.cap_count},
        "matching_capabilities": [
            _capability(one, effects.get(one.name), card.host, base) for one in found.capabilities
        ],
        "relevance": round(found.relevance, 4),
        "matched_terms": found.matched_terms,
    }


def _capability(one: FoundCapability, side_effects: bool | None, host: str, base: str) -> dict[str, Any]:
    return {
        "name": one.name,
        "description": plain(one.description, CAPABILITY_DESCRIPTION_CHARS),
        "detail_url": one.detail_url or capability_url(base, host, one.name),
        "side_effects": side_effects,
        "why": {"matched_terms": one.matched_terms, "score": round(one.cover, 4)},
    }
