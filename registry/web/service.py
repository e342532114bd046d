"""The pages about one service and about one of its capabilities."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.edge.problems import NO_DETAIL, UNKNOWN_SERVICE, Problem
from registry.edge.responses import REVALIDATE
from registry.web.asking import ask
from registry.web.rendering import about_host, pages_of

CAPABILITIES: Final = 20
"""Capabilities on one page; those of the first page are shown with their calls where the service is small."""

IN_FULL: Final = 12
"""A service with more capabilities is shown without calls; the page of each capability has its call."""

UPTIME_DAYS: Final = 90
NOT_FOUND: Final = 404
GONE: Final = 410
_LINES: Final = 40
_PROVENANCE: Final = 60
_MAX_PAGE: Final = 10_000

SECTIONS: Final = (
    ("conformance", "Conformance"), ("completeness", "Completeness"), ("safety", "Safety"),
    ("operability", "Operability"), ("identity", "Identity"),
)  # fmt: skip


@about_host("/s/{host}")
async def service(request: Request, host: str) -> Response:
    pages = pages_of(request)
    page = page_number(request)
    try:
        data, status, uptime = await asyncio.gather(
            _service(request, host), ask(request, "/api/services/{host}/status", host=host), _uptime(request, host)
        )
    except Problem as problem:
        if problem.kind is not UNKNOWN_SERVICE:
            raise
        return await _absent(request, host)
    every = data["manifest"]["capabilities"]
    shown = every[(page - 1) * CAPABILITIES : page * CAPABILITIES]
    page_count = max(1, -(-len(every) // CAPABILITIES))
    lines = sorted((line for line in data["score"]["lines"] if line["points"]), key=lambda line: -line["points"])
    notes = [line for line in data["score"]["lines"] if not line["points"]]
    values = {
        "host": host,
        "service": data,
        "host_status": status["data"],
        "uptime": uptime,
        "strip": strip(uptime["days"]) if uptime and uptime["checks"] else [],
        "capabilities": shown,
        "capability_count": len(every),
        "page": page,
        "page_count": page_count,
        "before": pages.links.to("/s/{host}", {"page": page - 1}, host=host) if 1 < page <= page_count else None,
        "next": pages.links.to("/s/{host}", {"page": page + 1}, host=host) if page < page_count else None,
        "sections": SECTIONS,
        "weights": await weights(request),
        "lines": lines[:_LINES],
        "notes": notes[:_LINES],
        "left_out": max(0, len(lines) - _LINES) + max(0, len(notes) - _LINES),
        "conflicts": [line for line in data["score"]["lines"] if line["reason"].startswith("conflict.")],
        "provenance": sorted(data["provenance"].items())[:_PROVENANCE],
        "claims": sorted(flattened(data["claims"])),
        "identity": sorted(flattened(data["identity"])),
        "policies": sorted(flattened(data["policies"])),
        "mcp": mcp_configuration(data),
    }
    headers = {
        "Link": f'<{pages.links.to("/api/services/{host}", host=host)}>; rel="alternate"; type="application/json"'
    }
    return pages.respond(request, "service.html", values, cache=REVALIDATE, headers=headers)


def page_number(request: Request) -> int:
    text = request.query_params.get("page", "1")
    return min(max(int(text), 1), _MAX_PAGE) if text.isascii() and text.isdigit() and len(text) < 6 else 1


async def _absent(request: Request, host: str) -> Response:
    """Return the page about a known host that is not listed. Raise Problem for an unknown host."""
    if (await ask(request, "/api/opt-outs/{host}", host=host))["data"]["opted_out"]:
        status = {"state": "opted_out"}  # nothing else about it is stored
    else:
        status = (await ask(request, "/api/services/{host}/status", host=host))["data"]
    code = GONE if status["state"] == "opted_out" else NOT_FOUND
    return pages_of(request).respond(request, "absent.html", {"host": host, "host_status": status}, status=code)


async def _service(request: Request, host: str) -> Any:
    """Return the service; if it has few capabilities, with their details."""
    data = (await ask(request, "/api/services/{host}", host=host))["data"]
    if len(data["manifest"]["capabilities"]) > IN_FULL:
        return data
    return (await ask(request, "/api/services/{host}", {"include_details": "true"}, host=host))["data"]


async def _uptime(request: Request, host: str) -> Any:
    """Return the availability of the last days, or None without data."""
    try:
        answer = await ask(request, "/api/services/{host}/uptime", {"days": str(UPTIME_DAYS)}, host=host)
    except Problem as problem:
        if problem.kind.status != 404:
            raise
        return None
    return answer["data"]


def strip(days: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, int]]:
    """Return each day, oldest first: the date, its worst state, and how many visits it had."""
    return [(day["day"], _worst(day), day["checks"]) for day in days]


def _worst(day: Mapping[str, Any]) -> str:
    return next((state for state in ("down", "degraded", "up") if day[state]), "no visit")


async def weights(request: Request) -> Mapping[str, float]:
    """Return the maximum points of each section of the score. The rubric changes only with this program."""
    kept: Mapping[str, float] | None = getattr(request.app.state, "weights", None)
    if kept is None:
        kept = request.app.state.weights = (await ask(request, "/api/rubric"))["sections"]
    return kept


def flattened(value: Any, name: str = "", most: int = 60) -> list[tuple[str, str]]:
    """Return texts in nested objects and lists as pairs of a name, `outer: inner`, and the text."""
    if most <= 0:
        return []
    found: list[tuple[str, str]] = []
    if isinstance(value, Mapping):
        for key, inner in value.items():
            found += flattened(inner, f"{name}: {key}" if name else str(key), most - len(found))
    elif isinstance(value, list):
        for inner in value:
            found += flattened(inner, name, most - len(found))
    elif value is not None:
        found.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
    return found


def mcp_configuration(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the entry for the configuration of an MCP client, or None if the service is not an MCP server."""
    for protocol in data["protocols"]:
        address = str(protocol.get("endpoint") or "")
        if protocol.get("id") == "mcp" and address.startswith("https://") and "{" not in address:
            return {"mcpServers": {data["domain"]: {"url": address}}}
    return None


_WHY: Final = {
    "detail_not_fetched": "The site's document about this capability has not been read yet.",
    "no_endpoint": "No document of the site names an address for this capability.",
    "not_http": "This capability is not called over HTTPS.",
    "no_method": "No document of the site names the HTTP method of this capability.",
}


@about_host("/s/{host}/c/{name}")
async def capability(request: Request, host: str) -> Response:
    name = request.path_params["name"]
    pages = pages_of(request)
    (record, reason), service = await asyncio.gather(
        _record(request, host, name), ask(request, "/api/services/{host}", host=host)
    )
    values = {
        "host": host,
        "name": name,
        "service": service["data"],
        "record": record,
        "reason": _WHY.get(reason or ""),
        "title": record.get("title") or record.get("name") or name,
    }
    return pages.respond(request, "capability.html", values, cache=REVALIDATE)


async def _record(request: Request, host: str, name: str) -> tuple[Mapping[str, Any], str | None]:
    """Return the record of the capability; without a known call, with the reason. Raise Problem."""
    try:
        return await ask(request, "/api/services/{host}/capabilities/{name}", host=host, name=name), None
    except Problem as problem:
        if problem.kind is not NO_DETAIL:
            raise
        return problem.members, problem.members.get("reason")


ROUTES: Final = (Route("/s/{host}", service), Route("/s/{host}/c/{name:path}", capability))
