"""The health of the listed services, by their last visits, and of this registry."""

import asyncio
from datetime import timedelta
from statistics import median
from typing import Final

from fastapi import Request, Response

from registry.actions.queries.inspect import VisitRecord
from registry.api.documents import describe_read, errors
from registry.api.params import Days, DomainPath, existing, host_in
from registry.api.rows import freshness, project
from registry.api.schemas import monitoring as schemas
from registry.api.schemas import submission as status_schemas
from registry.core.evidence import percentage, status_of
from registry.edge import limiter
from registry.edge.limiter import charge
from registry.edge.problems import INVALID_PARAMETER, UNAVAILABLE, UNKNOWN_SERVICE, Problem
from registry.edge.requests import registry_of
from registry.edge.responses import REVALIDATE, data_response, json_response, timestamp
from registry.edge.routing import strict_router
from registry.wiring import OutdatedSchema, StoreUnavailable, Waypost, utc_now

MAX_VISITS: Final = 500
READY_SECONDS: Final = 1.5
"""Time for the check of readiness; probes often wait no longer than two seconds."""

router = strict_router(tags=["health"])


@router.get(
    "/api/health",
    **describe_read(schemas.Health),
    summary="Health of the listed services",
    description="By their last visits; a service slower than 5 s is degraded. The worst come first; the numbers count "
    "every listed service. `healthy`: there are services, and all are up.",
)
async def health(request: Request) -> Response:
    charge(request, limiter.HEALTH)
    report = await registry_of(request).queries.health()
    data = project(
        schemas.HealthData,
        report,
        status="degraded" if report.degraded or report.down or not report.total else "healthy",
        total_monitored=report.total,
        services=[project(schemas.HealthLine, service, domain=service.host) for service in report.services],
        untrusted_text=["services.name"],
    )
    return data_response(request, data)


@router.get(
    "/api/health/{domain}",
    **describe_read(schemas.HostHealth, INVALID_PARAMETER, UNKNOWN_SERVICE),
    summary="Health of one service",
    description="Its visits of the last days, the latest first.",
)
async def host_health(request: Request, domain: DomainPath, days: Days = 7) -> Response:
    waypost, host = registry_of(request), host_in(domain)
    name = existing(await waypost.queries.service_name(host))
    since = utc_now() - timedelta(days=days)
    visits = [visit for visit in await waypost.queries.visits(host, limit=MAX_VISITS) if visit.started_at >= since]
    history = [check for visit in visits if (check := check_of(visit)) is not None]
    latest = history[0] if history else None
    data: schemas.HostHealthData = {
        "domain": host,
        "name": name,
        "current_status": latest["status"] if latest else "unknown",
        "response_time_ms": latest["response_time_ms"] if latest else None,
        "uptime_percentage": percentage(len(history), sum(check["status"] == "down" for check in history)),
        "last_checked": latest["checked_at"] if latest else None,
        "history": history,
        "untrusted_text": ["name"],
    }
    return data_response(request, data)


@router.get(
    "/api/status",
    **describe_read(status_schemas.RegistryStatus),
    summary="Status of the listed services, and incidents of this registry",
    description="The worst ones, each with its uptime of seven days and its freshness; the numbers count every listed "
    "service. `down`: all of them are down; `healthy`: all are up, at least one is listed, and this registry has no "
    "incident. `reasons` says why it is not. `incidents`: of this registry itself.",
)
async def overall(request: Request) -> Response:
    charge(request, limiter.HEALTH)
    now = utc_now()
    waypost = registry_of(request)
    report, operation = await asyncio.gather(waypost.figures.overall(), waypost.figures.operation())
    numbers = report.health
    is_down = numbers.down > 0 and numbers.down == numbers.total
    reasons = [] if numbers.total else ["No service is listed."]
    for state, count in (("down", numbers.down), ("degraded", numbers.degraded)):
        if count:
            reasons.append(f"{count:,} service{' is' if count == 1 else 's are'} {state}.")
    reasons += [one.says for one in operation.incidents]
    checked = [line.health.checked_at for line in report.lines if line.health.checked_at is not None]
    services = [
        project(
            status_schemas.StatusLine,
            line.health,
            domain=line.health.host,
            uptime_percentage=line.uptime,
            last_checked=timestamp(line.health.checked_at),
            trust_level=line.trust_level,
            freshness=freshness(line.health.checked_at, line.seen_at, line.state, now),
        )
        for line in report.lines
    ]
    data = project(
        status_schemas.RegistryStatusData,
        numbers,
        overall_status="down" if is_down else "degraded" if reasons else "healthy",
        reasons=reasons,
        total_monitored=numbers.total,
        services=services,
        last_updated=timestamp(max(checked, default=None)),
        incidents=[project(schemas.IncidentNow, one) for one in operation.incidents],
        untrusted_text=["services.name"],
    )
    return data_response(request, data)


def check_of(visit: VisitRecord) -> schemas.Check | None:
    """Return a visit as a check, or None if nothing was requested. The response time is the median of its answers."""
    response_times = [entry["ms"] for entry in visit.vector if "status" in entry and "ms" in entry]
    elapsed = round(median(response_times)) if response_times else None
    status = status_of(visit.outcome, elapsed)
    if status is None:
        return None
    return {
        "status": status,
        "response_time_ms": elapsed,
        "checked_at": timestamp(visit.finished_at),
        "outcome": visit.outcome,
    }


@router.get(
    "/healthz",
    response_model=schemas.Alive,
    responses=errors(),
    summary="The process is up",
    description="Does not ask the database or the index.",
)
async def alive(request: Request) -> Response:
    content: schemas.Alive = {"status": "ok"}
    return json_response(request, content, cache=REVALIDATE)


@router.get(
    "/readyz",
    response_model=schemas.Readiness,
    responses=errors(UNAVAILABLE, own={UNAVAILABLE.slug: {"parts": {"database": "ok", "index": "missing"}}}),
    summary="The registry can answer",
    description="The database answers and is migrated; the index can be read. 503 names the part that fails, within "
    "two seconds. `notes`: what does not keep it from answering.",
)
async def ready(request: Request) -> Response:
    parts = await _checked(request)
    if set(parts.values()) != {"ok"}:
        raise Problem(UNAVAILABLE, "A part of the registry does not answer.", parts=parts)
    notes = await asyncio.to_thread(registry_of(request).notes)
    content: schemas.Readiness = {"status": "ok", "parts": parts}
    if notes:
        content["notes"] = notes
    return json_response(request, content, cache=REVALIDATE)


async def _checked(request: Request) -> dict[str, str]:
    """Return the states of the parts: `no answer` after READY_SECONDS of silence.

    Requests that arrive during a check share it. Nothing else limits this operation, because an orchestrator must
    always be answered.
    """
    state = request.app.state
    check: tuple[asyncio.Task[None], dict[str, str]] | None = getattr(state, "readiness", None)
    if check is None or check[0].done():  # guard: one-readiness-check
        parts = {"database": "no answer", "index": "no answer"}
        check = state.readiness = asyncio.create_task(_check_parts(registry_of(request), parts)), parts
    await asyncio.wait({check[0]}, timeout=READY_SECONDS)
    if check[0].done():
        check[0].result()
    return dict(check[1])


async def _check_parts(waypost: Waypost, parts: dict[str, str]) -> None:
    async def check_index() -> None:
        index = await waypost.search.backend.health()
        parts["index"] = "ok" if index.is_ready else index.state.value

    async def check_database() -> None:
        try:
            await waypost.maintenance.check_schema()
            parts["database"] = "ok"
        except OutdatedSchema:
            parts["database"] = "schema outdated"
        except StoreUnavailable:
            parts["database"] = "unavailable"

    await asyncio.gather(check_index(), check_database())
