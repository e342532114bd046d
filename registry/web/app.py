"""The pages as an HTTP interface, with the table of their addresses."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from registry.core.model.listing import SearchUnavailable
from registry.edge.interfaces import Interface
from registry.edge.metrics import LIMIT
from registry.edge.middleware import Rules
from registry.edge.problems import RATE_LIMITED, Problem, as_problem, body, fault
from registry.edge.requests import provide
from registry.settings import Settings
from registry.web import (
    about,
    admin,
    changes,
    check,
    claims,
    compare,
    figures,
    guides,
    owner,
    public_forms,
    reference,
    rendering,
    search,
    service,
)
from registry.web.rendering import about_host, with_doubt
from registry.wiring import StoreUnavailable, Waypost

_POST: Final = ("POST",)

_ROUTES: Final = (
    Route("/static/{name}", rendering.asset),
    Route(rendering.ICON, rendering.asset),
    Route("/", figures.home),
    Route("/rubric", about.rubric),
    Route("/reasons", about.reasons),
    Route("/reasons/{code}", about.reason),
    Route("/formats", about.formats),
    Route("/formats/{slug}", about.one_format),
    Route("/problems", about.problems),
    Route("/problems/{slug}", about.problem),
    Route("/bot", about.bot),
    Route("/terms", about.terms),
    Route("/docs", about.docs),
    Route(reference.PATH, reference.contents),
    Route(reference.SHAPES, reference.shapes),
    Route(reference.SHAPE, reference.shape),
    Route(reference.OPERATION, reference.operation),
    Route(guides.PATH, about.guide),
    Route("/changes", changes.changes),
    Route("/audit", changes.audit),
    Route("/stats", figures.stats),
    Route("/status", figures.status),
    Route("/search", search.search),
    Route("/sitemap.xml", search.sitemap),
    Route("/sitemap/{number:int}.xml", search.sitemap_page),
    about_host(service.SERVICE, service.service),
    about_host("/s/{host}/c/{name:path}", service.capability),
    about_host(service.EVIDENCE, service.evidence),
    about_host(service.HISTORY, service.history),
    about_host(service.CRAWL, service.crawl),
    Route(compare.PATH, compare.compare),
    Route("/badge/{host}.svg", service.badge),
    Route(check.PATH, check.form),
    Route(check.PATH, check.check, methods=_POST),
    Route(check.SITE, check.site),
    Route(public_forms.SUBMIT, public_forms.submit_form),
    Route(public_forms.SUBMIT, public_forms.submit, methods=_POST),
    Route(public_forms.SUBMISSION, public_forms.submission),
    Route(public_forms.OPT_OUT, public_forms.opt_out_form),
    Route(public_forms.OPT_OUT, public_forms.opt_out, methods=_POST),
    about_host(public_forms.OPT_OUT_STATE, public_forms.opt_out_state),
    about_host(public_forms.RECHECK, public_forms.recheck_form),
    Route(public_forms.RECHECK, public_forms.recheck, methods=_POST),
    about_host("/s/{host}/report", public_forms.report_form),
    Route("/s/{host}/report", public_forms.report, methods=_POST),
    Route("/reports/{token}", public_forms.report_state),
    about_host(claims.FORM, claims.explain),
    Route(claims.FORM, claims.claim, methods=_POST),
    Route(claims.GO_ON, claims.go_on_form),
    Route(claims.GO_ON, claims.go_on, methods=_POST),
    Route(claims.PAGE, claims.page),
    Route(claims.PAGE, claims.check, methods=_POST),
    about_host(owner.PATH, owner.owner),
    Route(owner.PATH, owner.decide, methods=_POST),
    *(Route(path, admin.show) for path in admin.PATHS),
    *(Route(path, admin.decide, methods=_POST) for path in admin.DECIDING),
)
_FREE: Final = (f"{rendering.STATIC}/", rendering.ICON, "/badge/")
_NO_VIEWS: Final = frozenset({"/static", "/badge", "/sitemap", "/sitemap.xml", rendering.ICON})
"""First segments of paths that are no pages. What is not free of them costs work, as in the API."""

SHARED: Final = frozenset({"/", "/bot", "/terms"})
"""Paths that other interfaces answer too, for clients that do not prefer HTML."""

_OPEN: Final = ("/badge/",)
_SUBMISSIONS: Final = frozenset({public_forms.SUBMIT, public_forms.OPT_OUT})


def interface(
    waypost: Waypost,
    settings: Settings,
    api: ASGIApp,
    start_links: str,
    terms: str,
    openapi: Callable[[], Mapping[str, Any]],
) -> Interface:
    """Return the interface. `api` answers what the pages show, and `openapi` returns its description; `start_links` is
    the `Link` field of the start page, `terms` the text of `/terms`."""
    paths = frozenset(rendering.plain(route.path) for route in _ROUTES)
    pages = rendering.Pages(settings, paths, lambda: waypost.mode.message)

    async def on_error(request: Request, error: Exception) -> Response:
        """Answer every error with a page, regardless of `Accept`: the client asked for a page."""
        problem = as_problem(request, error) or fault()
        if problem.kind is RATE_LIMITED and request.method == "POST":
            with suppress(ClientDisconnect, Problem, RuntimeError):  # of a body that was not read whole
                request.scope["waypost.form"] = await request.body()
        request.scope[LIMIT] = problem.members.get("limit")
        return pages.error(request.scope, body(problem.kind, problem.detail, "", problem.members), problem.headers)

    app = Starlette(routes=[with_doubt(route) for route in _ROUTES])  # guard: doubt-on-every-page
    provide(app.state, waypost, settings)
    app.state.pages, app.state.api, app.state.start_links = pages, api, start_links
    app.state.terms, app.state.openapi = terms, openapi
    app.state.suggestions = figures.Suggestions()
    for kind in (Problem, HTTPException, StoreUnavailable, SearchUnavailable, Exception):
        app.add_exception_handler(kind, on_error)
    roots = {"/" + path.split("/")[1] for path in paths} - SHARED
    # guard: forms-of-client
    rules = Rules(
        open=_OPEN, submissions=_SUBMISSIONS, views=frozenset(roots - _NO_VIEWS), shared_views=SHARED & paths,
        free=_FREE, error_page=pages.error,
    )  # fmt: skip
    return Interface(
        app,
        rules,
        roots=tuple(sorted(roots)),
        pages=tuple(sorted(paths & SHARED)),
        name="web",
    )
