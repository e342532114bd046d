"""The pages about one service: itself and its badge, its capabilities, and what this registry saw of its host."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from registry.core.merging.trust import IDENTITIES
from registry.edge.problems import GONE, INVALID_PARAMETER, UNKNOWN_SERVICE, Problem
from registry.edge.responses import CACHED, REVALIDATE, encoded_response
from registry.web.asking import as_written, ask, ask_about, number_of
from registry.web.rendering import Links, canonical_host, links_of, pages_of, respond
from registry.web.snippets import snippets_of
from registry.web.text import short, visible
from registry.wiring import utc_now

CAPABILITIES: Final = 20
"""Capabilities on one page."""

FILTER_CHARS: Final = 100
_FILTER_WORDS: Final = 8
_CALLABLE_FIRST: Final = (True, "unknown", False)
CHART_WIDTH: Final = 320
CHART_HEIGHT: Final = 64
_SAID_SCORES: Final = 8
MAX_COMPARED: Final = 4
"""Services that one page compares."""

UPTIME_DAYS: Final = 90
DOCUMENTS: Final = 20
VERSIONS: Final = 15
CHANGES: Final = 20
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
    page, wanted = number_of(request, "page", 1, _MAX_PAGE), request.query_params.get("c", "")[:FILTER_CHARS].strip()
    try:
        data, status, uptime, steps, similar = await asyncio.gather(
            _service(request, host),
            ask(request, "/api/services/{host}/status", host=host),
            _uptime(request, host),
            _scores(request, host),
            _similar(request, host),
        )
    except Problem as problem:
        if problem.kind not in (UNKNOWN_SERVICE, GONE):
            raise
        return await _absent(request, host)
    every, score_lines = data["manifest"]["capabilities"], data["score"]["lines"]
    found = filtered(every, wanted)
    page_count = max(1, -(-len(found) // CAPABILITIES))
    links = links_of(request)
    query = {"c": wanted or None}
    if page > page_count:
        return no_such_page(request, page_count, links.to(SERVICE, query | {"page": page_count}, host=host))
    call = await _first_call(request, host, every)
    lines = sorted(by_reason(line for line in score_lines if line["points"]), key=lambda line: -line["points"])
    notes = by_reason(line for line in score_lines if not line["points"])
    values = {
        "host": host,
        "service": data,
        "host_status": status["data"],
        "uptime": uptime,
        "strip": strip(uptime["days"]) if uptime and uptime["checks"] else [],
        "capabilities": found[(page - 1) * CAPABILITIES : page * CAPABILITIES],
        "capability_count": len(every),
        "callable_count": sum(one.get("callable") is True for one in every),
        "common_kind": common_kind(every),
        "match_count": len(found),
        "wanted": as_written(wanted),
        "page": page,
        "page_count": page_count,
        "before": links.to(SERVICE, query | {"page": page - 1}, host=host) if page > 1 else None,
        "next": links.to(SERVICE, query | {"page": page + 1}, host=host) if page < page_count else None,
        "call": call,
        "snippets": snippets_of(host, call and call["call"], _mcp_configuration(data, call)),
        "sections": SECTIONS,
        "weights": await weights(request),
        "lines": lines[:_LINES],
        "notes": notes[:_LINES],
        "left_out": max(0, len(lines) - _LINES) + max(0, len(notes) - _LINES),
        "conflicts": [line for line in score_lines if line["reason"].startswith("conflict.")],
        "chart": chart_of(steps, utc_now()),
        "similar": similar,
        "compared": [host, *(one["domain"] for one in (similar or ())[: MAX_COMPARED - 1])],
        "provenance": sorted(data["provenance"].items())[:_PROVENANCE],
        "claims": sorted(flattened(data["claims"])),
        "identity": sorted(flattened(data["identity"])),
        "policies": sorted(flattened(data["policies"])),
        "json_ld": None if data["trust"]["doubt"] else about_service(links, host, data["manifest"]),
    }
    link = f'<{links.to("/api/services/{host}", host=host)}>; rel="alternate"; type="application/json"'
    return respond(request, "service.html", values, cache=REVALIDATE, headers={"Link": link})


def about_service(links: Links, host: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page says about a service to search engines (schema.org, as JSON-LD)."""
    said = {name: visible(short(manifest.get(name), chars)) for name, chars in (("name", 200), ("description", 500))}
    return {
        "@context": "https://schema.org",
        "@type": "WebAPI",
        **{name: value for name, value in said.items() if value},
        "url": f"https://{host}/",
        "mainEntityOfPage": links.absolute(SERVICE, host=host),
    }


def filtered(capabilities: Sequence[Mapping[str, Any]], wanted: str) -> list[Mapping[str, Any]]:
    """Return the capabilities that hold all these words, in any case, those first that can be called."""
    words = wanted.casefold().split()[:_FILTER_WORDS]
    found = []
    for one in capabilities:
        text = f"{one['name']} {one.get('title') or ''} {one['description'] or ''}".casefold()
        if all(word in text for word in words):
            found.append(one)
    return sorted(found, key=lambda one: _CALLABLE_FIRST.index(one.get("callable", "unknown")))


def common_kind(capabilities: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the kind of call if all capabilities can be called in the same way, else None."""
    kinds = {one.get("kind") if one.get("callable") is True else None for one in capabilities}
    return next(iter(kinds)) if len(kinds) == 1 else None


def by_reason(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of a score with those of one reason as one: the first, with the points and findings of all.
    `others`: the further ones."""
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        known = found.setdefault(line["reason"], {**line, "points": 0, "count": 0, "others": []})
        known["points"] += line["points"]
        known["count"] += line["count"]
        if known["count"] > line["count"]:
            known["others"].append(line)
    return list(found.values())


def no_such_page(request: Request, last: int, link: str) -> Response:
    """Return the answer to a page number beyond the last one. `link`: to the last page."""
    return respond(request, "no_page.html", {"last": last, "link": link}, status=404)


async def _first_call(request: Request, host: str, every: Sequence[Mapping[str, Any]]) -> Any:
    """Return the record of the first capability that can be called, or None."""
    for one in every:
        if one.get("callable") is True:
            path = "/api/services/{host}/capabilities/{name}"
            try:
                record = await ask(request, path, host=host, name=one["name"])
            except Problem as problem:
                if problem.kind.status not in (404, 503):
                    raise
                return None
            return record if record.get("call") else None
    return None


async def _scores(request: Request, host: str) -> Any:
    """Return the changes of the score; none for a host that is not listed, which has a history too."""
    data = await ask_about(request, "/api/services/{host}/scores", host)
    return [] if data is None else data["scores"]


async def _similar(request: Request, host: str) -> Any:
    """Return similar services; None while the index cannot answer, which the rest of the page does not need."""
    try:
        return (await ask(request, "/api/services/{host}/similar", host=host))["data"]["services"]
    except Problem as problem:
        if problem.kind.status != 503:
            raise
        return None


def chart_of(steps: Sequence[Mapping[str, Any]], now: datetime) -> Mapping[str, Any] | None:
    """Return the chart of a score over time: the path of its line, and the same in words; None for a score that never
    changed. `steps`: the changes, latest first."""
    points = [(datetime.fromisoformat(step["at"]), step["score"]) for step in reversed(steps)]
    points = [one for index, one in enumerate(points) if index == 0 or one[1] != points[index - 1][1]]
    if len(points) < 2:
        return None
    first, width = points[0][0], max((now - points[0][0]).total_seconds(), 1.0)
    path = ""
    for at, score in points:
        x = round(CHART_WIDTH * min(1.0, (at - first).total_seconds() / width), 1)
        y = round(CHART_HEIGHT * (1 - score / 100), 1)
        path += f"H{x}V{y}" if path else f"M{x} {y}"
    scores = [score for _, score in points]
    said = [f"{score} on {at.day} {at:%b %Y}" for at, score in points]
    if len(said) > _SAID_SCORES:
        between = f"{len(said) - 2} changes between {min(scores)} and {max(scores)}"
        said = [said[0], between, said[-1]]
    return {
        "path": f"{path}H{CHART_WIDTH}",
        "width": CHART_WIDTH,
        "height": CHART_HEIGHT,
        "says": "; ".join(said),
        "first": steps[-1]["at"],
    }


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
    return (await ask(request, "/api/services/{host}", host=host))["data"]


async def _uptime(request: Request, host: str) -> Any:
    """Return the availability of the last days, or None without data."""
    return await ask_about(request, "/api/services/{host}/uptime", host, {"days": str(UPTIME_DAYS)})


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


def _mcp_configuration(data: Mapping[str, Any], record: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the entry for the configuration of an MCP client, or None if the service is not an MCP server. `record`:
    of its first callable capability, whose call may have the entry with credentials."""
    if record is not None and (made := record["call"].get("client_configuration")):
        configuration: Mapping[str, Any] = made
        return configuration
    for protocol in data["protocols"]:
        address = str(protocol.get("endpoint") or "")
        if protocol.get("id") == "mcp" and address.startswith("https://") and "{" not in address:
            return {"mcpServers": {data["domain"]: {"url": address}}}
    return None


# --- a capability


RECORD: Final = "record"
FORMS: Final = (
    ("openai-tool", "OpenAI"), ("anthropic-tool", "Anthropic"), ("mcp-tool", "MCP"), (RECORD, "The whole record"),
)  # fmt: skip
"""Value of `as` -> title: the forms in which a capability can be copied."""


async def capability(request: Request, host: str) -> Response:
    """Return the page. `as`: also show the capability in this form, one of FORMS; other values are ignored."""
    name, path = request.path_params["name"], "/api/services/{host}/capabilities/{name}"
    record, service = await asyncio.gather(
        ask(request, path, host=host, name=name), ask(request, "/api/services/{host}", host=host)
    )
    wanted, shown = request.query_params.get("as"), None
    if wanted == RECORD:
        shown = {"as": RECORD, "tool": record}
    elif wanted in dict(FORMS):
        shown = (await ask(request, path, {"as": str(wanted)}, host=host, name=name))["data"]
    values = {
        "host": host,
        "name": name,
        "service": service["data"],
        "record": record,
        "title": record.get("title") or record.get("name") or name,
        "canonical": links_of(request).absolute("/s/{host}/c/{name}", host=host, name=str(record.get("name") or name)),
        "snippets": [one for one in snippets_of(host, record.get("call"), None) if one.name != "curl"],
        "forms": FORMS,
        "shown": shown,
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
    data = await ask_about(request, "/api/services/{host}", host)
    value, colour = "not listed" if data is None else IDENTITIES[data["trust"]["identity"]].label, _UNKNOWN
    if data is not None and data["trust"]["doubt"] is None:  # guard: no-score-in-doubt
        score = data["score"]["value"]
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
    page, links = number_of(request, "page", 1, _MAX_PAGE), links_of(request)
    if page > last:
        return no_such_page(request, last, links.to(EVIDENCE, {"page": last}, host=host))
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
    """Return the page: what changed at the service, and, below, the versions of its documents. Each list has its own
    cursor; a page shows the first part of the other list."""
    cursor, since = request.query_params.get("cursor"), request.query_params.get("changes")
    if max(len(cursor or ""), len(since or "")) > CURSOR_CHARS:
        raise Problem(INVALID_PARAMETER, "This is no link of a page of the history.")
    versions = ask(request, "/api/services/{host}/history", _paged(VERSIONS, cursor), host=host)
    changes = ask(request, "/api/services/{host}/changes", _paged(CHANGES, since), host=host)
    audit = ask(request, "/api/services/{host}/audit", host=host)
    answer, changed, decided, steps = await asyncio.gather(versions, changes, audit, _scores(request, host))
    links, older, earlier = links_of(request), answer["next_cursor"], changed["next_cursor"]
    values = {
        "host": host,
        "changes": changed["data"]["changes"],
        "reasons": {step["at"]: step["reasons"] for step in steps},
        "chart": chart_of(steps, utc_now()),
        "versions": answer["data"]["versions"],
        "is_first": cursor is None and since is None,
        "shows_changes": cursor is None,
        "shows_versions": since is None,
        "next": older and links.to(HISTORY, {"cursor": older}, host=host),
        "earlier": earlier and links.to(HISTORY, {"changes": earlier}, host=host),
        "most": OPERATIONS,
        "decisions": decided["data"]["decisions"],
    }
    return respond(request, "history.html", values, cache=REVALIDATE)


def _paged(limit: int, cursor: str | None) -> dict[str, str]:
    return {"limit": str(limit)} | ({} if cursor is None else {"cursor": cursor})


async def crawl(request: Request, host: str) -> Response:
    page = number_of(request, "page", 1, _MAX_PAGE)
    asked = min(MAX_VISITS, page * VISITS + 1)  # one more shows whether there is a next page
    ledger = await _ledger(request, host, asked)
    visits, links = ledger["visits"], links_of(request)
    last = max(1, -(-len(visits) // VISITS))
    if page > last and not ledger["opted_out"]:
        return no_such_page(request, last, links.to(CRAWL, {"page": last}, host=host))
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
