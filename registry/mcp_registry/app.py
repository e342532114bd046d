"""The operations of the MCP registry's API. Rows are those of the store: nothing is ranked, filtered or hidden here."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import cache
from importlib.metadata import version as version_of
from importlib.resources import files
from typing import Any, Final
from urllib.parse import unquote

import orjson
from fastapi import FastAPI, Request, Response

from registry.actions.queries.mcp_servers import ListedMcpServer
from registry.core.calling.server_records.record import LEFT_OUT
from registry.core.calling.server_records.validation import SCHEMA_URL, issues
from registry.core.merging.trust import shown
from registry.core.model.listing import TrustLevel
from registry.core.scheduling.policy import STALE_AFTER
from registry.edge import problems
from registry.edge.interfaces import Interface
from registry.edge.limiter import charge, of_server_list
from registry.edge.middleware import Rules
from registry.edge.problems import INVALID_VALUE, NOT_FOUND, Problem
from registry.edge.requests import MAX_INLINE_DOCUMENT, base_url, computed, provide, registry_of
from registry.edge.responses import PAGE, encoded_response, json_response, service_url, timestamp, timestamps
from registry.edge.routing import NO_TELEMETRY, parse_body
from registry.mcp_registry.params import include_deleted, list_query, write_cursor
from registry.settings import Settings
from registry.wiring import Waypost, utc_now

ROOTS: Final = ("/v0.1", "/v0")
DESCRIPTION: Final = "/openapi.yaml"
LATEST: Final = "latest"

OFFICIAL: Final = "io.modelcontextprotocol.registry/official"
OWN: Final = "dev.waypost/registry"

GONE: Final = "No longer listed."
REPLACED: Final = "Another version took its place."

# guard: untrusted-mcp-server
_UNTRUSTED: Final = ("server", f"_meta.{OWN}.description", f"_meta.{OWN}.off_site")
"""The texts of sites in a row."""

Endpoint = Callable[[Request], Awaitable[Response]]


def interface(waypost: Waypost, settings: Settings) -> Interface:
    app = make_app()
    provide(app.state, waypost, settings)
    rules = Rules(
        open=(*(f"{root}/" for root in ROOTS), DESCRIPTION), searches=frozenset(f"{root}/validate" for root in ROOTS)
    )
    return Interface(app, rules, roots=ROOTS, paths=(DESCRIPTION,))


def make_app() -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, telemetry=NO_TELEMETRY)
    for root in ROOTS:
        for path, endpoint in _ROUTES:
            app.add_route(root + path, endpoint, methods=["GET"])
        app.add_route(f"{root}/validate", validate, methods=["POST"])
    app.add_route(DESCRIPTION, description, methods=["GET"])
    problems.install(app)
    return app


async def list_servers(request: Request) -> Response:
    query = list_query(request)
    charge(request, of_server_list(query.limit, is_scan=bool(query.part or query.version or query.updated_since)))
    page = await registry_of(request).mcp_servers.page(query)
    last = page.rows[-1] if page.has_more else None
    return json_response(request, _listed(request, page.rows, write_cursor(last.name, last.version) if last else None))


async def list_versions(request: Request) -> Response:
    return await _versions(request, unquote(request.path_params["name"]))  # some clients encode names twice


async def get_version(request: Request) -> Response:
    name, version = unquote(request.path_params["name"]), unquote(request.path_params["version"])
    if "/" not in name and version == "versions":  # the versions of a server that is called "versions"
        return await _versions(request, f"{name}/versions")
    rows = await _found(request, name)
    wanted = (one for one in rows if (one.is_latest if version == LATEST else one.version == version))
    if (found := next(wanted, None)) is None:
        raise Problem(NOT_FOUND, "The server has no such version.")
    return json_response(request, _row(found, base_url(request), utc_now()))


async def validate(request: Request) -> Response:
    raw = await request.body()
    result: dict[str, Any] = await computed(request, len(raw), MAX_INLINE_DOCUMENT, validated, raw)
    return json_response(request, result)


def validated(raw: bytes) -> dict[str, Any]:
    """Return the verdict on a server.json, in the shape of the API. Raise Problem."""
    value = parse_body(raw)
    if not isinstance(value, dict):
        raise Problem(INVALID_VALUE, "The body must be a JSON object.")
    found = [
        {"type": one.kind, "path": one.path, "message": one.says, "severity": "error", "reference": one.rule}
        for one in issues(value)
    ]
    return {"valid": not found, "issues": found}


async def ping(request: Request) -> Response:
    return json_response(request, {"pong": True})


async def health(request: Request) -> Response:
    return json_response(request, {"status": "ok"})


async def version(request: Request) -> Response:
    content = {"version": version_of("waypost"), "git_commit": "unknown", "build_time": "unknown"}
    return json_response(request, content)


async def left_out(request: Request) -> Response:
    """Return how many versions there are by status, and how many MCP servers have no record, with the reason."""
    counts = await registry_of(request).mcp_servers.counts()
    reasons = [
        {"reason": reason, "says": LEFT_OUT.get(reason, ""), "services": number}
        for reason, number in sorted(counts.left_out.items())
    ]
    content = {"versions": counts.statuses, "services": sum(counts.left_out.values()), "left_out": reasons}
    return json_response(request, content)


async def description(request: Request) -> Response:
    return encoded_response(request, _description(), cache=PAGE, media_type="application/yaml")


_ROUTES: Final[Sequence[tuple[str, Endpoint]]] = (
    ("/servers", list_servers),
    # The longer path first: a name has a slash, and paths are matched when they are decoded.
    ("/servers/{name:path}/versions/{version:path}", get_version),
    ("/servers/{name:path}/versions", list_versions),
    ("/ping", ping),
    ("/health", health),
    ("/version", version),
    ("/x/dev.waypost/left-out", left_out),
    (DESCRIPTION, description),
)


@cache
def _description() -> bytes:
    return files("registry.mcp_registry").joinpath("openapi.yaml").read_bytes()


async def _versions(request: Request, name: str) -> Response:
    return json_response(request, _listed(request, await _found(request, name), None))


async def _found(request: Request, name: str) -> Sequence[ListedMcpServer]:
    """Return the versions of a server. Raise Problem when it is unknown."""
    deleted = include_deleted(request) is True
    rows = await registry_of(request).mcp_servers.versions(name, include_deleted=deleted)
    if not rows:
        raise Problem(NOT_FOUND, "There is no server of this name.")
    return rows


def _listed(request: Request, rows: Sequence[ListedMcpServer], cursor: str | None) -> dict[str, Any]:
    base, now = base_url(request), utc_now()
    metadata: dict[str, Any] = {"count": len(rows)}
    if cursor is not None:
        metadata["nextCursor"] = cursor
    return {"servers": [_row(found, base, now) for found in rows], "metadata": metadata}


# --- a stored record as a row: the server, the API's metadata, and what this registry knows
#
# What this registry knows is in the `_meta` of the row, beside the server, because validators of the API refuse unknown
# members in the server's `_meta`.


def _row(found: ListedMcpServer, base: str, now: datetime) -> dict[str, Any]:
    """Return one row, JSON-ready for orjson. `base`: the URL of this registry."""
    is_gone = found.server is None
    official: dict[str, Any] = {
        "status": found.status,
        "statusChangedAt": timestamp(found.status_changed_at),
        "publishedAt": timestamp(found.published_at),
        "updatedAt": timestamp(found.updated_at),
        "isLatest": found.is_latest,
    }
    if is_gone:
        official["statusMessage"] = GONE if found.is_latest else REPLACED
    own = {"host": found.host, "untrusted_text": _UNTRUSTED} if is_gone else _own(found, base, now)
    server = _tombstone(found) if found.server is None else orjson.Fragment(found.server)
    return {"server": server, "_meta": {OFFICIAL: official, OWN: own}}


def _tombstone(found: ListedMcpServer) -> dict[str, str]:
    """Return the minimal record; a deleted server keeps only its name and version."""
    return {"$schema": SCHEMA_URL, "name": found.name, "description": GONE, "version": found.version}


def _own(found: ListedMcpServer, base: str, now: datetime) -> dict[str, Any]:
    level = TrustLevel(found.trust_level) if found.trust_level else TrustLevel.UNVERIFIED
    is_owned = found.owned_since is not None
    return {
        "host": found.host,
        "url": service_url(base, found.host),
        "score": found.score,
        "trust_level": level,
        "trust": shown(level, found.trust, timestamps(found.trust_since), is_owned=is_owned),
        "owned": is_owned,
        "canonical_host": found.canonical_host,
        "checked_at": timestamp(found.last_visit_at),
        "seen_at": timestamp(found.seen_at),
        "stale": found.seen_at is None or now - found.seen_at > STALE_AFTER,
        "injection_flags": found.injection_flags or [],
        "untrusted_text": _UNTRUSTED,
        **found.notes,
    }
