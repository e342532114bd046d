"""The pages as an HTTP interface. To register a module of pages, give it `ROUTES` and add it to `_MODULES`."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from registry.core.model.listing import SearchUnavailable
from registry.edge.interfaces import Interface
from registry.edge.metrics import LIMIT
from registry.edge.middleware import Rules
from registry.edge.problems import Problem, as_problem, body, fault
from registry.edge.requests import provide
from registry.settings import Settings
from registry.web import (
    about,
    assets,
    badge,
    changes,
    check,
    evidence,
    figures,
    home,
    opt_out,
    ownership,
    search,
    service,
    signals,
    sitemap,
    submit,
)
from registry.web.rendering import Pages, error_pages
from registry.wiring import StoreUnavailable, Waypost

_MODULES: Final = (
    assets, home, about, changes, figures, search, service, badge, sitemap, check, submit, opt_out, evidence,
    signals, ownership,
)  # fmt: skip

SHARED: Final = frozenset({"/", "/bot", "/docs"})
"""Paths that other interfaces answer too, for clients that do not prefer HTML."""

_OPEN: Final = ("/badge/",)
_SUBMISSIONS: Final = frozenset({submit.PATH, opt_out.PATH})


def interface(waypost: Waypost, settings: Settings, api: ASGIApp, start_links: str) -> Interface:
    """Return the interface. `api` answers what the pages show; `start_links` is the `Link` field of the start page."""
    routes = [route for module in _MODULES for route in module.ROUTES]
    paths = frozenset(_plain(route.path) for route in routes)
    pages = Pages(settings, paths)
    error_page = error_pages(pages)
    app = Starlette(routes=routes)
    provide(app.state, waypost, settings)
    app.state.pages, app.state.api, app.state.start_links = pages, api, start_links
    _install(app, error_page)
    roots = {"/" + path.split("/")[1] for path in paths} - SHARED
    return Interface(
        app,
        Rules(open=_OPEN, submissions=_SUBMISSIONS, error_page=error_page),  # guard: forms-of-client
        roots=tuple(sorted(roots)),
        pages=tuple(sorted(paths & SHARED)),
        name="web",
    )


def _plain(path: str) -> str:
    """Return a template of a path without the kinds of its values: `/c/{name:path}` -> `/c/{name}`."""
    return path.replace(":path}", "}").replace(":int}", "}")


def _install(app: Starlette, page: Any) -> None:
    """Answer every error of `app` with a page, regardless of `Accept`: the client asked for a page."""

    async def on_error(request: Request, error: Exception) -> Response:
        problem = as_problem(request, error) or fault()
        request.scope[LIMIT] = problem.members.get("limit")
        content: Mapping[str, Any] = body(problem.kind, problem.detail, "", problem.members)
        response: Response = page(request.scope, content, problem.headers)
        return response

    for kind in (Problem, HTTPException, StoreUnavailable, SearchUnavailable, Exception):
        app.add_exception_handler(kind, on_error)
