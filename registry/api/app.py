"""The API as an ASGI application. `create_app` is what a server runs; it owns nothing that must be closed."""

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
    rubric,
    services,
    submit,
    validate,
)
from registry.api.edge import Edge
from registry.api.kept import Kept
from registry.api.straight import Straight
from registry.settings import Settings
from registry.wiring import Waypost

TAGS = [
    {"name": "discovery", "description": "Find services."},
    {"name": "services", "description": "What is known of one service."},
    {"name": "submission", "description": "Get a host visited, check a document."},
    {"name": "health", "description": "Whether services, and this one, are up."},
    {"name": "about", "description": "How this registry works."},
]


def create_app(waypost: Waypost, settings: Settings) -> ASGIApp:
    """The application over the given verbs. The caller opens and closes `waypost`.

    Run it without the server's own proxy handling: forwarded addresses are believed by `trusted_proxies` only.
    """
    routes = make_routes(settings)
    routes.state.waypost = waypost
    # Around the framework and not inside of it: its own layers cost more than an answer that is kept.
    return Edge(
        Kept(Straight(routes, [discover.ROUTE]), waypost.standing),
        read_rate=settings.read_rate, submit_rate=settings.submit_rate, trusted_proxies=settings.trusted_proxies,
    )  # fmt: skip


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Around serving. What is there by then stays for the life of the process, so the collector of circular garbage is
    told to leave it out: each look through all of it took a tenth of a second, in which nobody was answered."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def make_routes(settings: Settings) -> FastAPI:
    """The operations alone: enough for the OpenAPI document."""
    # No interactive pages: they load scripts from elsewhere. No slash redirects: they are built from the Host header.
    app = FastAPI(
        title=documents.TITLE, version=documents.VERSION, docs_url=None, redoc_url=None, openapi_url=None,
        openapi_tags=TAGS, redirect_slashes=False, separate_input_output_schemas=False,
    )  # fmt: skip
    app.state.settings = settings
    app.state.base_url = settings.public_url.rstrip("/")
    for module in (discover, crawl, services, manifests, submit, opt_outs, validate, health, rubric, about, bot):
        app.include_router(module.router)
    app.openapi = lambda: documents.openapi(app)  # type: ignore[method-assign]  # FastAPI's own way to replace it
    problems.install(app)
    return app
