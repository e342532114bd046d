"""Pages from templates, with the headers that all pages have, and the addresses of pages.

Hosts, names and queries in addresses are encoded here and nowhere else.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from importlib.metadata import version
from typing import Any, Final, cast
from urllib.parse import urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from registry.core.names.domains import InvalidName, host_syntax
from registry.edge.middleware import ErrorPage
from registry.edge.problems import UNKNOWN_SERVICE, Problem
from registry.edge.responses import CACHED, NEVER_KEPT, encoded_response, path_segment
from registry.settings import Settings
from registry.web import text
from registry.web.assets import ADDRESSES
from registry.wiring import utc_now


@dataclass(frozen=True, slots=True)
class Links:
    """The links between pages. `base`: the URL of this registry without a trailing slash. `root`: its path, often
    empty.

    `known`: paths of the pages that exist, as templates such as `/s/{host}`.
    """

    base: str
    root: str
    known: frozenset[str]

    def has(self, path: str) -> bool:
        """Return True if there is a page at this template. Pages that do not exist are not linked to."""
        return path in self.known

    def to(self, path: str, query: Mapping[str, Any] | None = None, /, **values: str) -> str:
        """Return the link to a template with its values encoded, and with the parameters that are not None.

        Raise KeyError when a value is missing.
        """
        filled = path.format_map({name: path_segment(value) for name, value in values.items()})
        sent = {name: value for name, value in (query or {}).items() if value is not None}
        return self.root + filled + (f"?{urlencode(sent)}" if sent else "")

    def absolute(self, path: str, query: Mapping[str, Any] | None = None, /, **values: str) -> str:
        """Return the link with the origin, for use outside the page."""
        return self.base + self.to(path, query, **values).removeprefix(self.root)

    def asset(self, name: str) -> str:
        return self.root + ADDRESSES[name]

    def service(self, host: str) -> str:
        return self.to("/s/{host}", host=host)

    def capability(self, host: str, name: str) -> str:
        return self.to("/s/{host}/c/{name}", host=host, name=name)

    def search(self, **query: Any) -> str:
        return self.to("/search", query)


HTML: Final = "text/html; charset=utf-8"
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Only files of this registry load, only its script runs, and that may not make markup out of text."""

SECURITY: Final = {  # guard: pages-policy
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
}
NAVIGATION: Final = (
    ("/search", "Search"), ("/check", "Check"), ("/submit", "Submit"), ("/changes", "Changes"),
    ("/stats", "Statistics"), ("/docs", "Docs"),
)  # fmt: skip
"""Path and title of the links at the top of every page. Links to pages that do not exist are left out."""

FOOT: Final = (
    ("/bot", "The crawler"), ("/opt-out", "Opt out"), ("/rubric", "How scores are made"), ("/formats", "Formats"),
    ("/status", "Status"), ("/audit", "Audit log"), ("/terms", "Terms"),
)  # fmt: skip


@dataclass
class Pages:
    """Renders the pages of one registry. `known`: templates of the paths that have a page."""

    settings: Settings
    known: frozenset[str]
    links: Links = field(init=False)

    def __post_init__(self) -> None:
        base = self.settings.public_url.rstrip("/")
        self.links = Links(base, urlsplit(base).path.rstrip("/"), self.known)
        self._environment = _environment()
        self._environment.globals |= {
            "links": self.links,
            "version": version("waypost"),
            "navigation": _existing(NAVIGATION, self.known),
            "foot": _existing(FOOT, self.known | {"/terms", "/bot"}),
            "plural": text.plural,
            "outside": text.outside,
        }

    def render(self, template: str, values: Mapping[str, Any], *, now: datetime | None = None) -> bytes:
        """Return a page. A name that is missing in `values` raises, so that nothing is left empty by mistake."""
        shown = self._environment.get_template(template).render({"now": now or utc_now(), "path": "", **values})
        return shown.encode()

    def respond(
        self,
        request: Request,
        template: str,
        values: Mapping[str, Any],
        *,
        status: int = 200,
        cache: str = CACHED,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Return the response with a page, with an ETag if its status is 200."""
        body = self.render(template, {"path": request.scope["path"], **values})
        every = {**SECURITY, **(headers or {})}
        if status == 200:
            return encoded_response(cast(Any, request), body, cache=cache, headers=every, media_type=HTML)
        return Response(body, status, {"Cache-Control": "no-store", **every}, HTML)


def with_secrets(response: Response) -> Response:
    """Mark the response `no-store`. It is not compressed, because its length could disclose the secrets."""
    response.headers["Cache-Control"] = NEVER_KEPT
    return response


def pages_of(request: Request) -> Pages:
    pages: Pages = request.app.state.pages
    return pages


def _existing(entries: Sequence[tuple[str, str]], known: frozenset[str]) -> list[tuple[str, str]]:
    return [(path, title) for path, title in entries if path in known]


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("registry.web"),
        autoescape=True,  # guard: pages-escaping
        undefined=StrictUndefined,
        finalize=text.visible,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "short": text.short, "number": text.number, "day": text.day, "relative": text.relative,
        "duration": text.duration, "words": text.words, "kind": text.kind, "listed": text.listed,
        "as_json": text.as_json, "as_line": text.as_line, "coded": text.coded,
    }  # fmt: skip
    return environment


# --- pages about one host, with its name in their address

Page = Callable[[Request, str], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def canonical_host(text: str) -> str:
    """Return the canonical host of a path segment. Raise Problem for an impossible host name."""
    try:
        return host_syntax(text)
    except InvalidName:
        raise Problem(UNKNOWN_SERVICE, "No service is listed under this host.") from None


def about_host(path: str) -> Callable[[Page], Endpoint]:
    """Return a decorator for a page at the template `path`, which has `{host}`: the page gets the canonical host.

    Other spellings of a host redirect to the canonical address.
    """

    def decorate(page: Page) -> Endpoint:
        @wraps(page)
        async def endpoint(request: Request) -> Response:
            named = request.path_params
            host = canonical_host(named["host"])
            if host != named["host"]:
                return RedirectResponse(pages_of(request).links.to(path, **{**named, "host": host}), 308)
            return await page(request, host)

        return endpoint

    return decorate


# --- pages about errors: they never repeat input of the client

TITLES: Final[Mapping[str, str]] = {
    "not-found": "There is no page at this address",
    "unknown-service": "No service is listed under this host",
    "unknown-capability": "This service has no capability of that name",
    "opted-out": "This site has opted out",
    "rate-limited": "Too many requests",
    "unavailable": "The registry cannot answer right now",
    "busy": "The registry is busy",
    "too-many-connections": "Too many connections",
    "internal-error": "Something went wrong here",
    "foreign-origin": "This form was not sent from here",
    "body-too-large": "This form is too large",
    "invalid-cursor": "This link to a page of results has expired",
    "invalid-parameter": "The address holds a value that cannot be used",
}
"""Slug of a problem type -> heading. Others have the title of their type."""

_AGAIN: Final = frozenset({429, 503})


def error_pages(pages: Pages) -> ErrorPage:
    """Return the function that makes the page about a problem document."""

    def page(scope: Scope, content: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
        slug = str(content["type"]).rpartition("/")[2]
        values = {
            "path": "",
            "slug": slug,
            "status": content["status"],
            "heading": TITLES.get(slug, content["title"]),
            "detail": content["detail"],
            "wait": headers.get("Retry-After") or headers.get("retry-after") if content["status"] in _AGAIN else None,
            "instance": scope.get("waypost.request_id", ""),
        }
        kept = {"Cache-Control": "no-store", **SECURITY, **headers}
        return Response(pages.render("error.html", values), content["status"], kept, HTML)

    return page
