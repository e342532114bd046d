"""ARD v0.91 (Agentic Resource Discovery) as an interface: search, look-up, list and counts of entries, below `/ard`.

It reads from the actions behind `/api/discover` and `/api/services`, and never calls another registry.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Final
from urllib.parse import quote, unquote_to_bytes

from fastapi import FastAPI, Query, Request, Response

from registry.actions.queries.entries import ARTIFACTS, CountedValues
from registry.ard import description
from registry.ard.description import described, errors, install, invalid, members, refused
from registry.ard.entries import full_entry, result
from registry.ard.filters import facet_of, read_context, read_filter, read_list_filter, read_order
from registry.core.format_support.artifact_types import AI_REGISTRY, TYPE_OF
from registry.core.model.listing import Filters, StaleCursor
from registry.core.names.air import is_air_urn, parse_air_urn
from registry.core.names.domains import host_of, registrable_domain
from registry.core.wording.text import QUERY_CHARS
from registry.edge import parsers, problems
from registry.edge.bodies import read_as
from registry.edge.interfaces import Interface
from registry.edge.limiter import HEALTH, charge, of_discover, of_list
from registry.edge.middleware import Rules
from registry.edge.problems import NOT_FOUND as NO_SUCH_ADDRESS
from registry.edge.problems import Problem, invalid_cursor
from registry.edge.requests import base_url, provide, registry_of
from registry.edge.responses import json_response
from registry.edge.routing import NO_TELEMETRY, strict_router
from registry.settings import Settings
from registry.wiring import Waypost, utc_now

ROOT: Final = "/ard"
SEARCH: Final = f"{ROOT}/search"
SEARCH_TWICE: Final = f"{SEARCH}/search"
"""What clients build that append `/search` to the address of a referral, which has it already (ard-spec issue 91)."""

EXPLORE: Final = f"{ROOT}/explore"
AGENTS: Final = f"{ROOT}/agents"
OPENAPI: Final = f"{ROOT}/openapi.json"

_BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_SEGMENT_CHARS: Final = 2_000

router = strict_router()


def interface(waypost: Waypost, settings: Settings) -> Interface:
    """Return ARD as an interface of an open registry."""
    routes = make_routes()
    provide(routes.state, waypost, settings)
    rules = Rules(open=(ROOT,), searches=frozenset({SEARCH, SEARCH_TWICE, EXPLORE}), members={ROOT: members})
    return Interface(routes, rules, roots=(ROOT,))


def make_routes() -> FastAPI:
    """Return the application without middleware and registry, which is enough for the OpenAPI document."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, telemetry=NO_TELEMETRY)
    app.include_router(router)
    app.openapi = lambda: description.openapi(app)  # type: ignore[method-assign]  # FastAPI documents this way
    install(app)
    return app


@router.get(
    ROOT,
    summary="What this interface offers",
    responses={**described(description.About, "The addresses of the operations."), **errors()},
)
@router.get(f"{ROOT}/", include_in_schema=False)
async def about(request: Request) -> Response:
    base = base_url(request)
    content = {
        "name": "waypost",
        "protocol": "ARD",
        "version": "0.91",
        "search": base + SEARCH,
        "explore": base + EXPLORE,
        "agents": base + AGENTS,
        "openapi": base + OPENAPI,
    }
    return json_response(request, content)


@router.get(OPENAPI, summary="This description", responses={**described(None, "OpenAPI 3.1."), **errors()})
async def openapi(request: Request) -> Response:
    return json_response(request, request.app.openapi())


@router.post(
    SEARCH,
    summary="Find entries by a sentence",
    description="Ranked by relevance, as `/api/discover` ranks services: a service has an entry for each of its "
    "formats. `score` is relevance and nothing else; quality, trust and freshness are in `metadata`. A row whose "
    "`waypost:confident` is false is only the nearest match. Services that offer the same, word for word, are folded "
    "into one.",
    responses={
        **described(description.SearchResponse, "Entries, the best first."),
        **errors(problems.INVALID_BODY, problems.UNREADABLE_BODY, problems.INVALID_CURSOR),
    },
    openapi_extra=description.body_of(description.SearchRequest),
)
@router.post(SEARCH_TWICE, include_in_schema=False)
async def search(request: Request) -> Response:
    body = await read_as(request, description.SearchRequest, list_errors=True)
    size = min(body.pageSize, description.MAX_PAGE_SIZE)
    text = body.query.text.strip()[:QUERY_CHARS].strip()
    if not text:
        raise invalid("query.text: must not be blank")
    filters = read_filter(body.query.filter, read_context(body.query.context))
    content: dict[str, Any] = {"results": []}
    if filters is not None:
        charge(request, of_discover(size, 0))
        try:
            page = await registry_of(request).search.search_entries(text, filters, limit=size, token=body.pageToken)
        except StaleCursor as error:
            raise invalid_cursor(error, "pageToken") from None
        base, now = base_url(request), utc_now()
        content["results"] = [result(matched, base, now) for matched in page.entries]
        if page.next_token is not None:
            content["pageToken"] = page.next_token
    if body.federation == "referrals":
        content["referrals"] = list(_referrals(registry_of(request).settings.ard_peers))
    return json_response(request, content)


@router.post(
    EXPLORE,
    summary="Count entries by the values of terms",
    description="Over all entries that `/ard/search` would page through; without a text over the whole registry. "
    "Of a text at most the first 1,000 services are counted, as many as can be paged through.",
    responses={
        **described(description.ExploreResponse, "The most frequent values of each term."),
        **errors(problems.INVALID_BODY, problems.UNREADABLE_BODY),
    },
    openapi_extra=description.body_of(description.ExploreRequest),
)
async def explore(request: Request) -> Response:
    body = await read_as(request, description.ExploreRequest, list_errors=True)
    context = read_context(body.query.context)
    asked = {one.field: (one, *facet_of(one.field, context)) for one in body.resultType.facets}
    text = body.query.text.strip()[:QUERY_CHARS].strip()
    filters = read_filter(body.query.filter, context)
    wanted: dict[str, int] = {}
    for one, facet, is_type in asked.values():
        most = len(ARTIFACTS) if is_type else min(one.limit, description.MAX_FACET_VALUES)
        wanted[facet] = max(most, wanted.get(facet, 0))
    counted = await _counted(request, text, filters, wanted)
    facets = {name: _buckets(counted[facet], one, is_type=is_type) for name, (one, facet, is_type) in asked.items()}
    return json_response(request, {"resultType": "facets", "facets": facets})


async def _counted(
    request: Request, text: str, filters: Filters | None, wanted: dict[str, int]
) -> dict[str, CountedValues]:
    if filters is None:
        return dict.fromkeys(wanted, CountedValues({}, 0))
    waypost = registry_of(request)
    if text:
        charge(request, of_discover(1, len(wanted)))
        counts = await waypost.search.entry_counts(text, filters, wanted)
    else:
        charge(request, HEALTH * len(wanted))
        counts = await waypost.entries.entry_counts(filters, wanted)
    return dict(counts.facets)


def _buckets(counted: CountedValues, asked: description.FacetRequest, *, is_type: bool) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for value, count in counted.counts.items():
        shown = TYPE_OF[value] if is_type else value
        counts[shown] = counts.get(shown, 0) + count
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    top = ordered[: min(asked.limit, description.MAX_FACET_VALUES)]
    buckets = [{"value": value, "count": count} for value, count in top if count >= asked.minCount]
    others = counted.others + sum(count for _, count in ordered[len(top) :])
    return {"buckets": buckets, **({"otherCount": others} if others else {})}


@router.get(
    AGENTS,
    summary="List all entries",
    description="In the order of their hosts unless `orderBy` is given. Unlike a search it folds nothing. `filter` is "
    "an expression such as `type = 'application/a2a-agent-card+json' AND updatedAfter > '2026-01-01'`: `displayName` "
    "(part of it, in any case), `type`, `publisherId` (alternatives separated by commas), `createdAfter`, "
    "`updatedAfter`, joined by AND.",
    responses={
        **described(description.ListResponse, "A page of entries, and the number of all."),
        **errors(problems.INVALID_PARAMETER, problems.INVALID_CURSOR),
        304: {"description": "The client's copy (If-None-Match) is current; no body."},
    },
)
async def list_agents(
    request: Request,
    filter_text: Annotated[str | None, Query(alias="filter", max_length=2_000)] = None,
    order_by: Annotated[
        str | None, Query(alias="orderBy", max_length=100, description="`displayName` or `updatedAt DESC`.")
    ] = None,
    page_size: Annotated[
        int, *parsers.limited(description.MAX_PAGE_SIZE), Query(alias="pageSize", description="Entries to return.")
    ] = description.LIST_PAGE_SIZE,
    page_token: Annotated[
        str | None,
        Query(alias="pageToken", max_length=description.TOKEN_CHARS, description="`pageToken` of the page before."),
    ] = None,
) -> Response:
    (filters, conditions), order = read_list_filter(filter_text), read_order(order_by)
    if page_size < 1:
        raise refused("pageSize: must be at least 1")
    content: dict[str, Any] = {"items": [], "total": 0}
    if filters is not None:
        charge(request, of_list(filters, conditions.name or "", page_size, 0))
        try:
            page = await registry_of(request).entries.list_entries(
                filters, conditions, order=order, limit=page_size, token=page_token
            )
        except StaleCursor as error:
            raise invalid_cursor(error, "pageToken") from None
        base, now = base_url(request), utc_now()
        content = {"items": [full_entry(entry, base, now) for entry in page.entries]}
        if page.total is not None:
            content["total"] = page.total
        if page.next_token is not None:
            content["pageToken"] = page.next_token
    return json_response(request, content)


@router.get(
    f"{AGENTS}/{{identifier:path}}",
    summary="One entry by its identifier",
    description="The identifier is one percent-encoded segment, decoded once and compared exactly.",
    responses={
        **described(description.ArdEntry, "The entry."),
        **errors(problems.INVALID_PARAMETER, NO_SUCH_ADDRESS),
        304: {"description": "The client's copy (If-None-Match) is current; no body."},
    },
)
async def agent(request: Request, identifier: str) -> Response:
    text = _identifier(request, identifier)
    if not is_air_urn(text):
        raise refused("identifier: does not have the form urn:air:<publisher>:<namespace>:<name>")
    name = parse_air_urn(text)
    entry = None if name is None else await registry_of(request).entries.entry(name)
    if entry is None:
        raise Problem(
            NO_SUCH_ADDRESS, "No entry of this registry has this identifier.", headers={"Cache-Control": "no-cache"}
        )
    return json_response(request, full_entry(entry, base_url(request), utc_now()))


def _identifier(request: Request, decoded: str) -> str:
    """Return the last segment of the path as it was sent, decoded once. Raise Problem.

    The framework's own parameter is decoded before the path is split, so an encoded slash would count as one.
    """
    raw: bytes = request.scope.get("raw_path") or quote(request.scope["path"]).encode()
    segment = raw.split(b"?")[0].partition(b"/agents/")[2].decode("latin-1")
    if "/" in segment or len(segment) > _SEGMENT_CHARS or _BAD_ESCAPE.search(segment):
        raise refused("identifier: is one percent-encoded segment of the path")
    try:
        return unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise refused("identifier: is UTF-8 behind its percent-encoding") from None


def _referrals(peers: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Yield the registries of the settings. `url` is their search route, as the specification asks."""
    for url in peers:
        host = host_of(url) or ""
        yield {
            "identifier": f"urn:air:{host}:registry:{registrable_domain(host).partition('.')[0]}",
            "displayName": host,
            "type": AI_REGISTRY,
            "url": url if url.endswith("/search") else f"{url}/search",
        }
