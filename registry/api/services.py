"""`GET /api/services`: the list, one service, one capability, and how a host fares."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from pydantic import WithJsonSchema

from registry.actions.answering.inspect import HostStatus, ServiceView
from registry.api.answers import FRESH, answer, capability_url, moment, status_url
from registry.api.documents import errors, example, not_modified
from registry.api.params import (
    CapabilityPath,
    DomainPath,
    ListLimit,
    Offset,
    OnlyTrue,
    base_url,
    filters,
    host_in,
    registry_of,
)
from registry.api.problems import INVALID_PARAMETER, NO_DETAIL, UNKNOWN_CAPABILITY, UNKNOWN_SERVICE, Problem
from registry.api.rows import auth, freshness, pricing, summary
from registry.api.schemas import CapabilityDetail, OneService, ServiceList
from registry.api.schemas import HostStatus as StatusShape
from registry.api.strict import strict_router
from registry.core.details import adp_detail, ways, why_no_detail
from registry.core.domains import is_confusable
from registry.core.listing import Filters, TrustLevel
from registry.core.services import to_json
from registry.core.text import QUERY_CHARS
from registry.core.views import adp_manifest
from registry.store.catalogue import Sort
from registry.wiring import utc_now

CATEGORIES = (
    "all", "email", "payments", "storage", "analytics", "communication", "productivity", "developer-tools", "ai-ml",
    "social", "crm", "e-commerce", "location", "authentication", "other",
)  # fmt: skip
_NO_DETAIL = {
    "detail_not_fetched": "The document that the site has for this capability could not be read yet.",
    "no_endpoint": "No document of the site names an endpoint for this capability.",
    "not_http": "This capability is not called over HTTPS.",
    "no_method": "No document of the site names the HTTP method of this capability.",
}

router = strict_router(tags=["services"])


@router.get(
    "/api/services",
    response_model=ServiceList,
    responses={
        200: example("LISTED"),
        **not_modified(),
        **errors(INVALID_PARAMETER),
    },
    summary="List services",
    description="All listed services, filtered and sorted; `total` counts every match. Categories exist for clients "
    "that send them: nothing is ever put into one, so every category but `all` is empty.",
    tags=["discovery"],
)
async def list_services(
    request: Request,
    narrowed: Annotated[Filters, Depends(filters)],
    search: Annotated[
        str, Query(max_length=QUERY_CHARS, description="Part of a name, a description or a host; case does not count.")
    ] = "",
    category: Annotated[
        str, Query(description="A category; `all` is none.", json_schema_extra={"enum": list(CATEGORIES)})
    ] = "all",
    sort: Annotated[
        str,
        WithJsonSchema({"type": "string"}),
        Query(description="`newest`, `name`, `capabilities`, `score` or `updated`; anything else counts as `newest`."),
    ] = "newest",
    limit: ListLimit = 50,
    offset: Offset = 0,
) -> Response:
    if category not in CATEGORIES:
        raise Problem(INVALID_PARAMETER, "category: is not one of the known ones", accepted=list(CATEGORIES))
    base, now = base_url(request), utc_now()
    if category == "all":
        found = await registry_of(request).list_services(
            narrowed, sort=_sort(sort), limit=limit, offset=offset, text=search.strip()
        )
        rows, total = found.items, found.total
    else:
        rows, total = (), 0
    content = {
        "success": True,
        "data": [
            {
                **summary(card, base, now),
                "capability_count": card.cap_count,
                "created_at": moment(card.created_at),
            }
            for card in rows
        ],
        "total": total,
        "page": offset // limit + 1 if limit else 1,
        "totalPages": max(1, -(-total // limit)) if limit else 1,
        "next_offset": offset + limit if limit and offset + limit < total else None,
    }
    return answer(request, content)


def _sort(text: str) -> Sort:
    orders: dict[str, Sort] = {"name": "name", "capabilities": "capabilities", "score": "score", "updated": "updated"}
    return orders.get(text, "newest")


@router.get(
    "/api/services/{domain}/capabilities/{name:path}",
    response_model=CapabilityDetail,
    responses={
        200: example("DETAIL"),
        **not_modified(),
        **errors(UNKNOWN_SERVICE, UNKNOWN_CAPABILITY, NO_DETAIL, own={NO_DETAIL.slug: {"reason": "no_endpoint"}}),
    },
    summary="How to call one capability",
    description="An Agent Discovery Protocol capability detail without an envelope, for services of every format. "
    "Where no HTTP call is known the answer is a 404 that says why: no endpoint is invented.",
)
async def capability(request: Request, domain: DomainPath, name: CapabilityPath) -> Response:
    host = host_in(domain)
    view = await registry_of(request).capability(host, name)
    if view is None:
        raise Problem(UNKNOWN_CAPABILITY, "No listed service of this host has a capability of this name.")
    detail = adp_detail(host, view.service, view.capability)
    if detail is None:
        why = why_no_detail(view.capability)
        raise Problem(
            NO_DETAIL,
            _NO_DETAIL[why],
            reason=why,
            detail_url=view.capability.detail_url,
            docs_url=view.capability.docs_url,
            invocations=ways(view.capability),
        )
    return answer(request, detail)


@router.get(
    "/api/services/{domain}/status",
    response_model=StatusShape,
    responses={
        200: example("STATUS"),
        **not_modified(),
        **errors(UNKNOWN_SERVICE),
    },
    summary="How a host fares",
    description="Listed, or why not, and when it is visited next. Also for hosts where nothing was found.",
)
async def status(request: Request, domain: DomainPath) -> Response:
    host = host_in(domain)
    known = await registry_of(request).status(host)
    if known is None:
        raise Problem(UNKNOWN_SERVICE, "Nobody ever named this host.")
    return answer(request, {"success": True, "data": _status(known, base_url(request))}, cache=FRESH)


def _status(known: HostStatus, base: str) -> dict[str, Any]:
    return {
        "domain": known.host,
        "confusable": is_confusable(known.host),
        "state": known.state,
        "outcome": known.outcome,
        "reason": known.reason,
        "reasons": known.reasons,
        "next_visit_at": moment(known.next_visit_at),
        "last_visit_at": moment(known.last_visit_at),
        "submitted_at": moment(known.submitted_at),
        "alias_of": known.alias_of,
        "crawl_failures": known.crawl_failures,
        "status_url": status_url(base, known.host),
    }


@router.get(
    "/api/services/{domain}",
    response_model=OneService,
    responses={
        200: example("SERVICE"),
        **not_modified(),
        **errors(UNKNOWN_SERVICE),
    },
    summary="One service in full",
    description="Found by host, in any spelling. `manifest` is an Agent Discovery Protocol manifest whatever format "
    "the host speaks; what it cannot say is beside it, with the score and every reason behind it.",
)
async def service(request: Request, domain: DomainPath, include_details: OnlyTrue = False) -> Response:
    host = host_in(domain)
    view = await registry_of(request).service(host, include_details=include_details)
    if view is None:
        raise Problem(UNKNOWN_SERVICE, "No service is listed under this host.")
    content = _service(view, base_url(request), utc_now(), include_details)
    return answer(request, {"success": True, "data": content})


def _service(view: ServiceView, base: str, now: datetime, include_details: bool) -> dict[str, Any]:
    record, host = view.record, view.record.host
    model = to_json(view.service)
    manifest = adp_manifest(host, view.service, lambda name: capability_url(base, host, name))
    if include_details:
        _add_details(manifest, host, view)
    return {
        "domain": host,
        "confusable": is_confusable(record.host),
        "well_known_url": record.well_known_url,
        "verified": record.trust_level is TrustLevel.VERIFIED,
        "trust_level": record.trust_level,
        "crawl_failures": record.crawl_failures,
        "last_crawled_at": moment(view.last_visit_at),
        "created_at": moment(record.created_at),
        "updated_at": moment(record.updated_at),
        "manifest": manifest,
        "format": record.formats[0] if record.formats else None,
        "formats": record.formats,
        "protocols": model.get("protocols", []),
        "score": _grade(view),
        "auth": auth(model.get("auth", {})),
        "pricing": pricing(model.get("pricing", {})),
        "policies": model.get("policies", {}),
        "provider": model.get("provider"),
        "version": view.service.version,
        "homepage": view.service.homepage,
        "docs_url": view.service.docs_url,
        "workflows": model.get("relations", {}).get("workflows", []),
        "relations": {key: value for key, value in model.get("relations", {}).items() if key != "workflows"},
        "claims": model.get("claims", {}),
        "identity": model.get("identity", {}),
        "groups": model.get("groups", []),
        "tags": model.get("tags", []),
        "examples": model.get("examples", []),
        "synthetic": view.service.synthetic,
        "provenance": model.get("provenance", {}),
        "freshness": freshness(view.last_visit_at, record.seen_at, now),
        "documents": [
            {
                "url": one.url,
                "format": one.format,
                "dialect": one.dialect,
                "outcome": one.outcome,
                "seen_at": moment(one.seen_at),
            }
            for one in view.documents
        ],
        "untrusted_text": [
            "manifest",
            "policies",
            "provider",
            "claims",
            "identity",
            "groups",
            "tags",
            "examples",
            "workflows",
            "relations",
            "score.lines.evidence",
        ],
    }


def _grade(view: ServiceView) -> dict[str, Any]:
    """As it was computed, never anew: today's rules may be others."""
    return {
        "value": view.record.score,
        "rubric_version": view.record.rubric_version,
        "sections": view.breakdown.get("sections", {}),
        "lines": view.breakdown.get("lines", []),
    }


def _add_details(manifest: dict[str, Any], host: str, view: ServiceView) -> None:
    by_name = {one.name: one for one in view.service.capabilities}
    for entry in manifest["capabilities"]:
        detail = adp_detail(host, view.service, by_name[entry["name"]])
        if detail is not None:
            entry["detail"] = detail
