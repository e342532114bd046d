"""`POST /api/verify/{domain}` and `POST /api/health/{domain}`: visit a known host again now, and wait for the visit.

Anyone may ask, within small budgets (`actions/frontier/recheck.py`). A worker makes the visit, not the API.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from fastapi import Request, Response

from registry.actions.frontier import recheck
from registry.api.documents import describe_write
from registry.api.health import check_of
from registry.api.params import DomainPath, Wait, existing, host_in
from registry.api.schemas import submission as schemas
from registry.api.schemas.base import EXAMPLE_SERVICE_URL
from registry.api.submit import BOUND_TEXTS, BOUNDS, check_refused, is_postponed, is_visited, measured, not_listed
from registry.core.model.listing import TrustLevel
from registry.core.names.domains import InvalidName, is_confusable
from registry.edge.limiter import charge_submission
from registry.edge.problems import BLOCKED, MIRRORED, NOT_LISTED, OPTED_OUT, UNKNOWN_SERVICE, Problem
from registry.edge.requests import MAX_INLINE_SERVICE, base_url, client_of, computed, registry_of
from registry.edge.responses import data_response, status_url
from registry.edge.routing import strict_router
from registry.wiring import utc_now

REFUSED: Final[Mapping[str, str]] = {
    **BOUND_TEXTS,
    "too_many": "Too many hosts of this domain are waiting for their first visit.",
    "client_domain": "You submitted too many new hosts of this domain within a day.",
    "client_unresolved": "Too many names that you submitted within a day have no address.",
}
"""State of a refused request -> the detail of the problem."""

_QUEUED: Final = "Queued with priority; a visit takes up to a minute."

router = strict_router()


@router.post(
    "/api/verify/{domain}",
    tags=["submission"],
    **describe_write(
        schemas.VerifiedNow,
        BLOCKED, MIRRORED, OPTED_OUT, UNKNOWN_SERVICE, NOT_LISTED,
        says="Visited, and listed.",
        others={202: (schemas.RecheckQueued, "Queued; `status_url` shows when the visit is finished.")},
        own={
            NOT_LISTED.slug: {
                "errors": ["/.well-known/agent: not json"],
                "response_time_ms": 184,
                "crawl_failures": 0,
                "status_url": f"{EXAMPLE_SERVICE_URL}/status",
            }
        }
    ),
    summary="Visit a host again now",
    description=f"For a host that is known to this registry, listed or not: every path of the probe plan and its "
    f"robots.txt are requested again. Waits up to `wait` seconds for the visit. {BOUNDS} The pauses and daily budgets "
    "of the crawler hold in any case. A request that comes too early is answered with 429 and `Retry-After`; `code` "
    "says why.",
)  # fmt: skip
async def verify(request: Request, domain: DomainPath, wait: Wait = None) -> Response:
    host, since = host_in(domain), utc_now()
    asked = await _asked(request, host, since, whole_plan=True)
    if not is_postponed(asked) and await is_visited(request, asked, since, wait):
        return await _verified(request, host)
    stored = await registry_of(request).queries.stored_service(host)
    level = None if stored is None else TrustLevel(stored.row["trust_level"])
    data: schemas.RecheckQueuedData = {
        "domain": host,
        "confusable": is_confusable(host),
        "status": "queued",
        "verified": level is TrustLevel.VERIFIED,
        "trust_level": level,
        "message": _QUEUED,
        "status_url": status_url(base_url(request), host),
    }
    return data_response(request, data, status=202, headers={"Location": data["status_url"]})


@router.post(
    "/api/health/{domain}",
    tags=["health"],
    **describe_write(
        schemas.Checked, BLOCKED, MIRRORED, OPTED_OUT, UNKNOWN_SERVICE,
        says="Checked.",
        others={202: (schemas.Checked, "Queued, with the results of the last check.")}
    ),
    summary="Check the health of a service now",
    description="Requests the documents of a listed service that are known. Waits up to `wait` seconds. The bounds are "
    "those of `POST /api/verify/{domain}`, and both count together.",
)  # fmt: skip
async def check_health(request: Request, domain: DomainPath, wait: Wait = None) -> Response:
    host, since = host_in(domain), utc_now()
    existing(await registry_of(request).queries.service_name(host))
    asked = await _asked(request, host, since, whole_plan=False)
    is_done = not is_postponed(asked) and await is_visited(request, asked, since, wait)
    checks = [check for visit in await registry_of(request).queries.visits(host) if (check := check_of(visit))]
    data: schemas.CheckedData = {
        "domain": host,
        "status": checks[0]["status"] if checks else "unknown",
        "response_time_ms": checks[0]["response_time_ms"] if checks else None,
        "checked_at": checks[0]["checked_at"] if checks else None,
        "queued": not is_done,
        "message": "Checked." if is_done else _QUEUED,
        "status_url": status_url(base_url(request), host),
    }
    if is_done:
        return data_response(request, data)
    return data_response(request, data, status=202, headers={"Location": data["status_url"]})


async def _asked(request: Request, host: str, now: datetime, *, whole_plan: bool) -> recheck.Recheck:
    """Queue the visit. Raise Problem when it is refused."""
    charge_submission(request)
    try:
        asked = await registry_of(request).frontier.recheck(host, client=client_of(request), whole_plan=whole_plan)
    except InvalidName:
        raise Problem(UNKNOWN_SERVICE, "Unknown host.") from None
    if asked.state == "unknown":
        raise Problem(UNKNOWN_SERVICE, "Unknown host: submit it first.")
    await check_refused(request, asked, now, REFUSED)
    return asked


async def _verified(request: Request, host: str) -> Response:
    waypost, url = registry_of(request), status_url(base_url(request), host)
    stored = await waypost.queries.stored_service(host, include_details=True)
    if stored is None:
        status = await waypost.queries.status(host)
        response_ms, failures = (status.response_ms, status.crawl_failures) if status else (None, 0)
        raise not_listed(host, status, url, base_url(request), response_time_ms=response_ms, crawl_failures=failures)
    view = await computed(request, stored.size, MAX_INLINE_SERVICE, stored.view, host=host)
    level = view.record.trust_level
    data = {
        "domain": host,
        "verified": level is TrustLevel.VERIFIED,
        "trust_level": level,
        "message": "Visited: its documents are listed as they are now.",
        "status_url": url,
        **measured(view),
    }
    return data_response(request, data)
