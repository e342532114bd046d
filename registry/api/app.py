"""The API as an ASGI application, made by `create_app`. It owns no resources to close."""

import contextlib
import gc
from collections.abc import Iterator
from typing import Final

import orjson
from fastapi import Depends, FastAPI, Request
from starlette.types import ASGIApp

from registry.api import (
    about,
    admin,
    atom,
    copies,
    crawl,
    discover,
    discover_many,
    documents,
    evidence,
    feed,
    feedback,
    health,
    key_directory,
    manifests,
    opt_outs,
    ownership,
    queue,
    rechecks,
    reports,
    services,
    site_checks,
    statistics,
    submissions,
    submit,
    validate,
)
from registry.api.response_cache import NAME, ResponseCache
from registry.api.response_cache import PATH as CACHED_PATH
from registry.edge import problems
from registry.edge.interfaces import Interface, compose
from registry.edge.metrics import Figure, gauge, labelled
from registry.edge.middleware import Rules
from registry.edge.problems import MAINTENANCE, Problem
from registry.edge.requests import provide, registry_of
from registry.edge.routing import NO_TELEMETRY
from registry.settings import Settings
from registry.wiring import Waypost
from registry.wiring.signing_keys import KeyRing

TAGS = [
    {"name": "discovery", "description": "Find services."},
    {"name": "services", "description": "Everything about one service."},
    {"name": "submission", "description": "Have a host visited, check a document."},
    {"name": "changes", "description": "Follow what changes."},
    {"name": "health", "description": "Whether services, and this one, are up."},
    {"name": "copies", "description": "Copy the registry, and keep the copy current."},
    {"name": "owners", "description": "Prove that a host is yours, and decide about it."},
    {"name": "operators", "description": "For operators of this registry, with an API key."},
    {"name": "about", "description": "How this registry works."},
]

_MODULES: Final = (
    discover, discover_many, feed, atom, crawl, evidence, services, manifests, submit, submissions, rechecks, opt_outs,
    site_checks, reports, feedback, validate, health, statistics, about, key_directory, copies, admin,
    queue, ownership,
)  # fmt: skip
"""In the order in which the OpenAPI document lists their operations."""

_OPEN: Final = ("/api/", "/.well-known/", "/dumps/", atom.PATH)
_SUBMISSIONS: Final = frozenset(
    {"/api/services", "/api/opt-outs", "/api/claims", submissions.PATH, reports.PATH, feedback.PATH}
)
_SEARCHES: Final = frozenset({copies.PATH, discover_many.PATH})
_TOKENS: Final = ("/api/owner/", "/api/claims/", "/api/admin/")


def create_app(waypost: Waypost, settings: Settings) -> ASGIApp:
    """Return the API alone, behind the middleware, for an open registry. The caller opens and closes `waypost`."""
    return compose([interface(waypost, settings)], settings)


def interface(waypost: Waypost, settings: Settings, routes: FastAPI | None = None) -> Interface:
    """Return the API as an interface that answers every path no other one answers. `routes`: if made before."""
    routes = make_routes() if routes is None else routes
    provide(routes.state, waypost, settings)
    routes.state.signing_keys = KeyRing(settings)
    cache = ResponseCache(routes)
    rules = Rules(
        open=_OPEN, submissions=_SUBMISSIONS, searches=_SEARCHES, tokens=_TOKENS, kept={CACHED_PATH: cache.kept}
    )
    return Interface(cache, rules, name=NAME, figures=lambda: _figures(cache))


COLLECT_AFTER: Final = (1_000, 5, 400)
"""Thresholds of garbage collection while serving: a full one after two million objects that nothing freed."""


def _figures(cache: ResponseCache) -> Iterator[Figure]:
    text = "Requests of /api/discover by whether the response cache answered them."
    yield labelled("waypost_response_cache", text, "result", cache.served, is_total=True)
    yield gauge("waypost_response_cache_bytes", "Bytes of the cached responses.", cache.size)


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Exclude everything loaded so far from garbage collection while the block runs, and make full collections rare.

    These objects live as long as the process. A full collection over them stopped all answers for a tenth of a second;
    one over 1,200 unfinished connections still takes half of that, and came every ten seconds.
    """
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def make_routes() -> FastAPI:
    """Return the application without middleware and registry, which is enough for the OpenAPI document."""
    # No interactive pages: they load scripts from elsewhere. No slash redirects: they are built from the Host header.
    app = FastAPI(
        title=documents.TITLE, version=documents.VERSION, docs_url=None, redoc_url=None, openapi_url=None,
        openapi_tags=TAGS, redirect_slashes=False, separate_input_output_schemas=False, telemetry=NO_TELEMETRY,
    )  # fmt: skip
    for module in _MODULES:
        app.include_router(module.router, dependencies=[Depends(_refuse_in_maintenance)])
    app.openapi = lambda: documents.openapi(app)  # type: ignore[method-assign]  # FastAPI documents this way to replace it
    problems.install(app)
    return app


_IN_MAINTENANCE: Final = _SEARCHES | {"/api/validate", "/api/opt-outs", "/api/owner/{domain}/opt-out"}
"""Operations other than GET that go on in maintenance: they write nothing, or are opt-outs."""

_MAINTENANCE_RETRY_SECONDS: Final = 300


async def _refuse_in_maintenance(request: Request) -> None:
    """Raise Problem for a write. Pages, MCP and invocations ask this application, so they are refused too."""
    message = registry_of(request).mode.message
    if message is not None and request.method != "GET" and request.scope["route"].path not in _IN_MAINTENANCE:
        headers = {"Retry-After": str(_MAINTENANCE_RETRY_SECONDS)}
        raise Problem(MAINTENANCE, f"The registry is in maintenance: {message}", headers=headers)


def openapi_document() -> bytes:
    """Return the OpenAPI document as sorted, indented JSON, as docs/openapi.json keeps it. It needs no settings."""
    content = make_routes().openapi()
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
