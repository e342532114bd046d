"""Whether the listed services are up, by their last visits, and whether this registry is."""

from datetime import timedelta
from statistics import median
from typing import Any, Final

from fastapi import Request, Response

from registry.actions.answering.inspect import VisitRow
from registry.api.answers import FRESH, answer, moment
from registry.api.documents import errors, example, not_modified
from registry.api.params import Days, DomainPath, host_in, registry_of
from registry.api.problems import INVALID_PARAMETER, UNAVAILABLE, UNKNOWN_SERVICE, Problem
from registry.api.schemas import Alive, Health, HostHealth, Readiness
from registry.api.strict import strict_router
from registry.core.documents import Outcome
from registry.search.backend import IndexState
from registry.store.catalogue import SLOW_MS
from registry.store.errors import StoreUnavailable
from registry.store.migrate import SchemaOutdated
from registry.wiring import Waypost, utc_now

MAX_VISITS: Final = 500
_DOWN: Final = frozenset({Outcome.UNREACHABLE, Outcome.SERVER_ERROR, Outcome.TLS_ERROR})
_UNASKED: Final = frozenset({Outcome.DISALLOWED, Outcome.REFUSED_ADDRESS, Outcome.SKIPPED, Outcome.RATE_LIMITED})
"""Visits that say nothing about the service: we did not ask, or were asked to come later."""

router = strict_router(tags=["health"])


@router.get(
    "/api/health",
    response_model=Health,
    responses={200: example("HEALTH"), **not_modified(), **errors()},
    summary="Health of the listed services",
    description="By their last visits; a service slower than 5 s is degraded. The worst come first; the numbers count "
    "every listed service.",
)
async def health(request: Request) -> Response:
    known = await registry_of(request).health()
    data = {
        "status": "degraded" if known.degraded or known.down else "healthy",
        "total_monitored": known.total,
        "healthy": known.healthy,
        "degraded": known.degraded,
        "down": known.down,
        "services": [
            {
                "domain": one.host,
                "name": one.name,
                "status": one.status,
                "response_time_ms": one.response_time_ms,
                "checked_at": moment(one.checked_at),
            }
            for one in known.services
        ],
    }
    return answer(request, {"success": True, "data": data})


@router.get(
    "/api/health/{domain}",
    response_model=HostHealth,
    responses={
        200: example("HOST_HEALTH"),
        **not_modified(),
        **errors(INVALID_PARAMETER, UNKNOWN_SERVICE),
    },
    summary="Health of one service",
    description="Its visits of the last days, the latest first.",
)
async def host_health(request: Request, domain: DomainPath, days: Days = 7) -> Response:
    waypost, host = registry_of(request), host_in(domain)
    view = await waypost.service(host)
    if view is None:
        raise Problem(UNKNOWN_SERVICE, "No service is listed under this host.")
    since = utc_now() - timedelta(days=days)
    visits = [one for one in await waypost.visits(host, limit=MAX_VISITS) if one.started_at >= since]
    history = [check for one in visits if (check := _check(one)) is not None]
    data = {
        "domain": host,
        "name": view.record.name,
        "current_status": history[0]["status"] if history else "unknown",
        "response_time_ms": history[0]["response_time_ms"] if history else None,
        "uptime_percentage": _uptime(history),
        "last_checked": history[0]["checked_at"] if history else None,
        "history": history,
    }
    return answer(request, {"success": True, "data": data})


def _check(visit: VisitRow) -> dict[str, Any] | None:
    """One visit as a check; None where it says nothing. The response time is the median of what was answered."""
    if visit.outcome in _UNASKED:
        return None
    times = [entry["ms"] for entry in visit.vector if "status" in entry and "ms" in entry]
    elapsed = round(median(times)) if times else None
    slow = elapsed is not None and elapsed > SLOW_MS
    status = "down" if visit.outcome in _DOWN else "degraded" if slow or visit.outcome is not Outcome.FOUND else "up"
    return {
        "status": status,
        "response_time_ms": elapsed,
        "checked_at": moment(visit.finished_at),
        "outcome": visit.outcome,
    }


def _uptime(history: list[dict[str, Any]]) -> float | None:
    """Share of checks that were not down, in per cent; null when nothing was measured."""
    if not history:
        return None
    up = sum(check["status"] != "down" for check in history)
    share: float = 100 * up / len(history)
    return round(share, 2)


@router.get(
    "/healthz",
    response_model=Alive,
    responses=errors(),
    summary="The process is up",
    description="Asks nothing of the database or the index.",
)
async def alive(request: Request) -> Response:
    return answer(request, {"status": "ok"}, cache=FRESH)


@router.get(
    "/readyz",
    response_model=Readiness,
    responses=errors(UNAVAILABLE, own={UNAVAILABLE.slug: {"parts": {"database": "ok", "index": "missing"}}}),
    summary="The registry can answer",
    description="The database answers and is migrated; the index can be read. 503 names the part that fails.",
)
async def ready(request: Request) -> Response:
    parts = await _parts(registry_of(request))
    if set(parts.values()) != {"ok"}:
        raise Problem(UNAVAILABLE, "A part of the registry does not answer.", parts=parts)
    return answer(request, {"status": "ok", "parts": parts}, cache=FRESH)


async def _parts(waypost: Waypost) -> dict[str, str]:
    parts = {"database": "ok", "index": "ok"}
    try:
        await waypost.check_schema()
    except SchemaOutdated:
        parts["database"] = "schema outdated"
    except StoreUnavailable:
        parts["database"] = "unavailable"
    index = await waypost.index_health()
    if index.state is not IndexState.READY:
        parts["index"] = index.state.value
    return parts
