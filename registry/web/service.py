"""The pages about one service: itself and its badge, its capabilities, and what this registry saw of its host."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from registry.core.merging.trust import IDENTITIES
from registry.edge.problems import GONE, INVALID_PARAMETER, UNKNOWN_SERVICE, Problem
from registry.edge.responses import CACHED, REVALIDATE, encoded_response
from registry.web.asking import ask, number_of
from registry.web.rendering import canonical_host, links_of, pages_of, respond

CAPABILITIES: Final = 20
"""Capabilities on one page; those of the first page are shown with their calls where the service is small."""

IN_FULL: Final = 12
"""A service with more capabilities is shown without calls; the page of each capability has its call."""

UPTIME_DAYS: Final = 90
DOCUMENTS: Final = 20
VERSIONS: Final = 15
OPERATIONS: Final = 40
CURSOR_CHARS: Final = 300
VISITS: Final = 5
"""Visits on one page. Each can have some fifty answers."""
MAX_VISITS: Final = 50
"""Visits that the API shows."""

_LINES: Final = 40
_PROVENANCE: Final = 60
_MAX_PAGE: Final = 10_000

SERVICE: Final = "/s/{host}"
CRAWL: Final = "/s/{host}/crawl"
EVIDENCE: Final = "/s/{host}/evidence"
HISTORY: Final = "/s/{host}/history"

SECTIONS: Final = (
    ("conformance", "Conformance"), ("completeness", "Completeness"), ("safety", "Safety"),
    ("operability", "Operability"), ("identity", "Identity"),
)  # fmt: skip


async def service(request: Request, host: str) -> Response:
    page = number_of(request, "page", 1, _MAX_PAGE)
    try:
        data, status, uptime = await asyncio.gather(
            _service(request, host), ask(request, "/api/services/{host}/status", host=host), _uptime(request, host)
        )
    except Problem as problem:
        if problem.kind not in (UNKNOWN_SERVICE, GONE):
            raise
        return await _absent(request, host)
    every, score_lines = data["manifest"]["capabilities"], data["score"]["lines"]
    page_count = max(1, -(-len(every) // CAPABILITIES))
    lines = sorted((line for line in score_lines if line["points"]), key=lambda line: -line["points"])
    notes = [line for line in score_lines if not line["points"]]
    links = links_of(request)
    values = {
        "host": host,
        "service": data,
        "host_status": status["data"],
        "uptime": uptime,
        "strip": strip(uptime["days"]) if uptime and uptime["checks"] else [],
        "capabilities": every[(page - 1) * CAPABILITIES : page * CAPABILITIES],
        "capability_count": len(every),
        "page": page,
        "page_count": page_count,
        "before": links.to(SERVICE, {"page": page - 1}, host=host) if 1 < page <= page_count else None,
        "next": links.to(SERVICE, {"page": page + 1}, host=host) if page < page_count else None,
        "sections": SECTIONS,
        "weights": await weights(request),
        "lines": lines[:_LINES],
        "notes": notes[:_LINES],
        "left_out": max(0, len(lines) - _LINES) + max(0, len(notes) - _LINES),
        "conflicts": [line for line in score_lines if line["reason"].startswith("conflict.")],
        "provenance": sorted(data["provenance"].items())[:_PROVENANCE],
        "claims": sorted(flattened(data["claims"])),
        "identity": sorted(flattened(data["identity"])),
        "policies": sorted(flattened(data["policies"])),
        "mcp": _mcp_configuration(data),
    }
    link = f'<{links.to("/api/services/{host}", host=host)}>; rel="alternate"; type="application/json"'
    return respond(request, "service.html", values, cache=REVALIDATE, headers={"Link": link})


async def _absent(request: Request, host: str) -> Response:
    """Return the page about a host that is not listed, with what to do now."""
    opt_out = await _opt_out(request, host)
    if opt_out["opted_out"]:
        status = {"state": "opted_out"}  # nothing else about it is stored
    else:
        try:
            status = (await ask(request, "/api/services/{host}/status", host=host))["data"]
        except Problem as problem:
            if problem.kind is not UNKNOWN_SERVICE:
                raise
            status = {"state": "unknown"}
    code = 410 if status["state"] == "opted_out" else 404
    return respond(request, "absent.html", {"host": host, "host_status": status, "opt_out": opt_out}, status=code)


async def _opt_out(request: Request, host: str) -> Any:
    return (await ask(request, "/api/opt-outs/{host}", host=host))["data"]


async def _service(request: Request, host: str) -> Any:
    """Return the service; if it has few capabilities, with their details."""
    data = (await ask(request, "/api/services/{host}", host=host))["data"]
    if len(data["manifest"]["capabilities"]) > IN_FULL:
        return data
    return (await ask(request, "/api/services/{host}", {"include_details": "true"}, host=host))["data"]


async def _uptime(request: Request, host: str) -> Any:
    """Return the availability of the last days, or None without data."""
    try:
        return (await ask(request, "/api/services/{host}/uptime", {"days": str(UPTIME_DAYS)}, host=host))["data"]
    except Problem as problem:
        if problem.kind.status != 404:
            raise
        return None


def strip(days: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, int]]:
    """Return each day, oldest first: the date, its worst state, and how many visits it had."""
    worst = ("down", "degraded", "up")
    return [(day["day"], next((state for state in worst if day[state]), "no visit"), day["checks"]) for day in days]


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


def _mcp_configuration(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the entry for the configuration of an MCP client, or None if the service is not an MCP server."""
    for protocol in data["protocols"]:
        address = str(protocol.get("endpoint") or "")
        if protocol.get("id") == "mcp" and address.startswith("https://") and "{" not in address:
            return {"mcpServers": {data["domain"]: {"url": address}}}
    return None


# --- a capability


async def capability(request: Request, host: str) -> Response:
    name = request.path_params["name"]
    record, service = await asyncio.gather(
        ask(request, "/api/services/{host}/capabilities/{name}", host=host, name=name),
        ask(request, "/api/services/{host}", host=host),
    )
    values = {
        "host": host,
        "name": name,
        "service": service["data"],
        "record": record,
        "title": record.get("title") or record.get("name") or name,
    }
    return respond(request, "capability.html", values, cache=REVALIDATE)


# --- the badge: an SVG picture for a site's own pages, without script or foreign parts

_COLOURS: Final = ((80, "#15692f"), (50, "#7a4d00"), (0, "#a81d1d"))
_UNKNOWN: Final = "#57606a"
_CHAR_WIDTH: Final = 6.6
"""Pixels of a character of the badge's font, rounded up: wider letters are squeezed by `textLength`."""

_PADDING: Final = 12


async def badge(request: Request) -> Response:
    """Return the badge. For a host that is not listed it says so, because an error would show as a broken picture."""
    host = canonical_host(request)
    try:
        data = (await ask(request, "/api/services/{host}", host=host))["data"]
    except Problem as problem:
        if problem.kind is not UNKNOWN_SERVICE:
            raise
        value, colour = "not listed", _UNKNOWN
    else:
        score = data["score"]["value"]
        trust = data["trust"]
        value, colour = IDENTITIES[trust["identity"]].label, _UNKNOWN
        if trust["doubt"] is None:  # guard: no-score-in-doubt
            value = f"{score} of 100, {value}"
            colour = next(colour for least, colour in _COLOURS if score >= least)
    left, right = (round(len(text) * _CHAR_WIDTH) + _PADDING for text in ("waypost", value))
    sizes = {"left": left, "right": right, "width": left + right, "padding": _PADDING}
    body = pages_of(request).render("badge.svg", {"label": "waypost", "value": value, "colour": colour, **sizes})
    return encoded_response(request, body, cache=CACHED, media_type="image/svg+xml")


# --- what this registry saw of a host: documents as fetched, their versions with differences, visits


async def evidence(request: Request, host: str) -> Response:
    data = (await ask(request, "/api/services/{host}/evidence", host=host))["data"]
    last = max(1, -(-len(data["documents"]) // DOCUMENTS))
    page = min(number_of(request, "page", 1, _MAX_PAGE), last)
    links = links_of(request)
    values = {
        "host": host,
        "documents": data["documents"][(page - 1) * DOCUMENTS : page * DOCUMENTS],
        "total": data["total"],
        "page": page,
        "before": links.to(EVIDENCE, {"page": page - 1}, host=host) if page > 1 else None,
        "next": links.to(EVIDENCE, {"page": page + 1}, host=host) if page < last else None,
    }
    return respond(request, "evidence.html", values, cache=REVALIDATE)


async def history(request: Request, host: str) -> Response:
    cursor = request.query_params.get("cursor")
    if cursor is not None and len(cursor) > CURSOR_CHARS:
        raise Problem(INVALID_PARAMETER, "This is no link of a page of the history.")
    query = {"limit": str(VERSIONS)} | ({} if cursor is None else {"cursor": cursor})
    answer = await ask(request, "/api/services/{host}/history", query, host=host)
    decisions = (await ask(request, "/api/services/{host}/audit", host=host))["data"]
    older = answer["next_cursor"]
    values = {
        "host": host,
        "versions": answer["data"]["versions"],
        "is_first": cursor is None,
        "next": older and links_of(request).to(HISTORY, {"cursor": older}, host=host),
        "most": OPERATIONS,
        "decisions": decisions["decisions"],
    }
    return respond(request, "history.html", values, cache=REVALIDATE)


async def crawl(request: Request, host: str) -> Response:
    page = min(number_of(request, "page", 1, _MAX_PAGE), MAX_VISITS // VISITS)
    asked = min(MAX_VISITS, page * VISITS + 1)  # one more shows whether there is a next page
    ledger = await _ledger(request, host, asked)
    visits = ledger["visits"]
    links = links_of(request)
    values = {
        "host": host,
        "ledger": ledger,
        "visits": visits[(page - 1) * VISITS : page * VISITS],
        "page": page,
        "before": links.to(CRAWL, {"page": page - 1}, host=host) if page > 1 else None,
        "next": links.to(CRAWL, {"page": page + 1}, host=host) if len(visits) > page * VISITS else None,
    }
    status = 410 if ledger["opted_out"] else 200
    return respond(request, "crawl.html", values, status=status, cache=REVALIDATE)


async def _ledger(request: Request, host: str, visits: int) -> Any:
    """Return the ledger. Raise Problem for a host that is neither known nor opted out."""
    try:
        return (await ask(request, "/api/services/{host}/crawl", {"visits": str(visits)}, host=host))["data"]
    except Problem as problem:
        # when the whole domain opted out, its ledger is deleted too
        if problem.kind is UNKNOWN_SERVICE and (await _opt_out(request, host))["opted_out"]:
            return {"opted_out": True, "visits": []}
        raise
