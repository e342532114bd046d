"""The API as an ASGI application. A server runs the result of `create_app`; it owns no resources to close."""

import contextlib
import gc
from collections.abc import Iterator

from fastapi import FastAPI
from starlette.types import ASGIApp

from registry.api import (
    about,
    bot,
    crawl,
    discover,
    documents,
    health,
    manifests,
    opt_outs,
    problems,
    reference,
    rubric,
    services,
    submit,
    validate,
)
from registry.api.middleware import RequestMiddleware
from registry.api.response_cache import ResponseCache
from registry.settings import Settings
from registry.wiring import Waypost

TAGS = [
    {"name": "discovery", "description": "Find services."},
    {"name": "services", "description": "Everything about one service."},
    {"name": "submission", "description": "Have a host visited, check a document."},
    {"name": "health", "description": "Whether services, and this one, are up."},
    {"name": "about", "description": "How this registry works."},
]


def create_app(waypost: Waypost, settings: Settings) -> ASGIApp:
    """Return the application for an open registry. The caller opens and closes `waypost`.

    Run it without the server's own proxy handling: X-Forwarded-For is trusted from `trusted_proxies` only.
    """
    routes = make_routes(settings)
    routes.state.waypost = waypost
    # Outside the framework, because its own middleware layers cost more than a cached response.
    return RequestMiddleware(
        ResponseCache(routes),
        read_rate=settings.read_rate, submit_rate=settings.submit_rate, trusted_proxies=settings.trusted_proxies,
    )  # fmt: skip


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Exclude everything loaded so far from garbage collection while the block runs.

    These objects live as long as the process. A full collection over them took a tenth of a second, during which no
    request was answered.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def make_routes(settings: Settings) -> FastAPI:
    """Return the application without middleware and registry; this suffices for the OpenAPI document."""
    # No interactive pages: they load scripts from elsewhere. No slash redirects: they are built from the Host header.
    app = FastAPI(
        title=documents.TITLE, version=documents.VERSION, docs_url=None, redoc_url=None, openapi_url=None,
        openapi_tags=TAGS, redirect_slashes=False, separate_input_output_schemas=False,
    )  # fmt: skip
    app.state.settings = settings
    app.state.base_url = settings.public_url.rstrip("/")
    for module in (
        discover,
        crawl,
        services,
        manifests,
        submit,
        opt_outs,
        validate,
        health,
        rubric,
        about,
        bot,
        reference,
    ):
        app.include_router(module.router)
    app.openapi = lambda: documents.openapi(app)  # type: ignore[method-assign]  # FastAPI documents this way to replace it
    problems.install(app)
    return app
