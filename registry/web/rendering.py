"""Pages from templates, with the headers that all pages have, their style and script, and the addresses of pages.

Hosts, names and queries in addresses are encoded here and nowhere else.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from registry.core.merging.trust import IDENTITIES, host_doubt
from registry.core.names.domains import InvalidName, host_syntax
from registry.core.reasons import citation_link, visit_code
from registry.core.wording.text import QUERY_CHARS
from registry.edge.problems import NOT_FOUND, UNKNOWN_SERVICE, Problem
from registry.edge.responses import CACHED, NEVER_KEPT, PAGE, encoded_response, path_segment
from registry.settings import Settings
from registry.web import text
from registry.web.asking import as_written, ask, fields_again
from registry.wiring import utc_now

# --- the stylesheet, the script and the icon, at addresses that hold a hash of their content

STATIC: Final = "/static"
_TYPES: Final = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"} | {
    "png": "image/png",
    "ico": "image/x-icon",
}
_FOREVER: Final = "public, max-age=31536000, immutable"
_CONTENTS: Final = {
    item.name: item.read_bytes()
    for item in (files("registry.web") / "static").iterdir()
    if item.name.rpartition(".")[2] in _TYPES
}


def _address(name: str, content: bytes) -> str:
    stem, _, extension = name.rpartition(".")
    return f"{STATIC}/{stem}.{hashlib.blake2b(content, digest_size=8).hexdigest()}.{extension}"


ADDRESSES: Final = {name: _address(name, content) for name, content in _CONTENTS.items()}
"""Name of a file -> its path. A changed file has another one, so browsers may keep each forever."""

ICON: Final = "/favicon.ico"
"""Browsers and programs that read no page ask for the icon here."""

_BY_ADDRESS: Final = {address: name for name, address in ADDRESSES.items()} | {ICON: "favicon.ico"}


async def asset(request: Request) -> Response:
    """Return a file. Raise Problem when this version has no file at the address."""
    name = _BY_ADDRESS.get(request.scope["path"])
    if name is None:
        raise Problem(NOT_FOUND, "There is no such file.")
    cache = PAGE if request.scope["path"] == ICON else _FOREVER
    return Response(_CONTENTS[name], 200, {"Cache-Control": cache}, _TYPES[name.rpartition(".")[2]])


# --- pages and the links between them


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
        return self.with_origin(self.to(path, query, **values))

    def with_origin(self, link: str) -> str:
        """Return a link that another method returned, for use outside the page."""
        return self.base + link.removeprefix(self.root)

    def inside(self, url: str) -> str:
        """Return the link for a URL of this registry, as the API writes it."""
        return self.root + url.removeprefix(self.base)

    def asset(self, name: str) -> str:
        return self.root + ADDRESSES[name]

    def service(self, host: str) -> str:
        return self.to("/s/{host}", host=host)

    def capability(self, host: str, name: str) -> str:
        return self.to("/s/{host}/c/{name}", host=host, name=name)

    def compare(self, hosts: Iterable[str]) -> str:
        return f"{self.root}/compare?{urlencode([('host', host) for host in hosts])}"

    def search(self, **query: Any) -> str:
        return self.to("/search", query)


HTML: Final = "text/html; charset=utf-8"
HOUR: Final = "public, max-age=3600"
"""Cache-Control of pages that change with the program or its settings only."""

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
    ("/search", "Browse"), ("/check", "Check"), ("/submit", "Submit"), ("/changes", "Changes"),
    ("/stats", "Statistics"), ("/docs", "Docs"),
)  # fmt: skip
"""Path and title of the links at the top of every page. Links to pages that do not exist are left out."""

FOOT: Final = (
    ("/bot", "The crawler"), ("/claims", "For site owners"), ("/opt-out", "Opt out"),
    ("/rubric", "How scores are made"), ("/formats", "Formats"), ("/status", "Status"), ("/audit", "Audit log"),
    ("/terms", "Terms"),
)  # fmt: skip

TITLES: Final[Mapping[str, str]] = {
    "not-found": "There is no page at this address",
    "unknown-service": "No service is listed under this host",
    "unknown-capability": "This service has no capability of that name",
    "opted-out": "This site has opted out",
    "gone": "This site has opted out",
    "already-registered": "This host was visited already",
    "mirrored": "Another registry decides about this host",
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
"""Slug of a problem type -> heading of the page about an error. Others have the title of their type."""

INDEXED: Final = frozenset(
    {
        "home.html", "rubric.html", "reasons.html", "reason.html", "formats.html", "format.html", "problems.html",
        "problem.html", "bot.html", "docs.html", "changes.html", "stats.html", "status.html", "service.html",
        "check.html", "submit.html", "opt_out.html", "claims.html", "guide.html", "reference.html", "operation.html",
        "terms.html",
    }
)  # fmt: skip
"""Pages for search engines, at their path without a query. Others have `noindex`, unless they name a canonical URL."""

_AGAIN: Final = frozenset({429, 503})
_LIMITS: Final[Mapping[str, str]] = {
    "pages": "Your network address has opened as many pages as one may within a minute.",
    "work": "Your network address has asked for as much as one may within a minute.",
    "submissions": "Your network address has sent as many forms as one may within an hour.",
    "at-once": "Too many requests from your network address are waiting for their answers.",
}
"""Limit -> what the page about it says."""

_WRITTEN: Final[Mapping[str, str]] = {
    "hosts": "Hosts", "host": "Host", "target": "Host or URL", "document": "Document", "at": "Path or URL",
    "reason": "In your words", "note": "Note", "canonical": "Stand-in host", "url": "Address", "confirm": "Host again",
}  # fmt: skip
"""Field of a form -> label, for the page that gives a form back. Others are choices and buttons, and not shown."""


_MAX_QUERY: Final = 20_000


class Pages:
    """Renders the pages of one registry. `known`: templates of the paths that have a page."""

    def __init__(
        self, settings: Settings, known: frozenset[str], maintenance: Callable[[], str | None] = lambda: None
    ) -> None:
        base = settings.public_url.rstrip("/")
        self.links = Links(base, urlsplit(base).path.rstrip("/"), known)
        self._environment = Environment(
            loader=PackageLoader("registry.web"),
            autoescape=True,  # guard: pages-escaping
            undefined=StrictUndefined,
            finalize=text.visible,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {
            "short": text.short, "number": text.number, "day": text.day, "relative": text.relative,
            "duration": text.duration, "words": text.words, "kind": text.kind, "listed": text.listed,
            "as_json": text.as_json, "as_line": text.as_line, "coded": text.coded, "specific": text.specific,
            "citation": citation_link, "visit_code": visit_code, "format_name": text.format_name,
        }  # fmt: skip
        self._environment.globals |= {
            "links": self.links,
            "maintenance": maintenance,
            "version": version("waypost"),
            "navigation": [(path, title) for path, title in NAVIGATION if path in known],
            "foot": [(path, title) for path, title in FOOT if path in known],
            "plural": text.plural,
            "outside": text.outside,
            "identities": IDENTITIES,
            "host_doubt": host_doubt,
        }

    def render(self, template: str, values: Mapping[str, Any]) -> bytes:
        """Return a page. A name that is missing in `values` raises, so that nothing is left empty by mistake."""
        return (
            self._environment.get_template(template)
            .render({"now": utc_now(), "path": "", "doubt": None, "canonical": None, "json_ld": None, **values})
            .encode()
        )

    def error(self, scope: Scope, content: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
        """Return the page about a problem document. Of what the client sent it repeats the question, and the form that
        a limit refused, both in fields."""
        slug = str(content["type"]).rpartition("/")[2]
        after = headers.get("Retry-After") or headers.get("retry-after") or ""
        wait = text.waiting(int(after)) if content["status"] in _AGAIN and after.isdigit() else None
        asked = dict(parse_qsl(scope.get("query_string", b"")[:_MAX_QUERY].decode("latin-1")))
        values = {
            "slug": slug,
            "status": content["status"],
            "heading": TITLES.get(slug, content["title"]),
            "detail": _LIMITS.get(str(content.get("limit")), content["detail"]),
            "wait": wait,
            "question": as_written(asked.get("q", "")[:QUERY_CHARS]),
            "form": fields_again(scope.get("waypost.form", b"")),
            "form_at": self.links.root + quote(scope["path"]),
            "written": _WRITTEN,
            "is_sent": scope["method"] == "POST",
            "instance": scope.get("waypost.request_id", ""),
            "host": content.get("domain"),  # canonical, as the API wrote it
            "origin": content.get("origin"),
        }
        kept = {"Cache-Control": "no-store", **SECURITY, **headers}
        return Response(self.render("error.html", values), content["status"], kept, HTML)


def pages_of(request: Request) -> Pages:
    pages: Pages = request.app.state.pages
    return pages


def links_of(request: Request) -> Links:
    return pages_of(request).links


def respond(
    request: Request,
    template: str,
    values: Mapping[str, Any],
    *,
    status: int = 200,
    cache: str = CACHED,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the response with a page, with an ETag if its status is 200."""
    pages, path = pages_of(request), request.scope["path"]
    doubt = getattr(request.state, "doubt", None)
    is_found = template in INDEXED and status == 200 and not doubt  # search engines carry no impersonator further
    canonical = pages.links.base + quote(path) if is_found else None
    body = pages.render(template, {"path": path, "doubt": doubt, "canonical": canonical, **values})
    every = {**SECURITY, **(headers or {})}
    if status == 200:
        return encoded_response(request, body, cache=cache, headers=every, media_type=HTML)
    return Response(body, status, {"Cache-Control": "no-store", **every}, HTML)


def with_secrets(response: Response) -> Response:
    """Mark the response `no-store`. It is not compressed, because its length could disclose the secrets."""
    response.headers["Cache-Control"] = NEVER_KEPT
    return response


def plain(path: str) -> str:
    """Return a template of a path without the kinds of its values: `/c/{name:path}` -> `/c/{name}`."""
    return path.replace(":path}", "}").replace(":int}", "}")


# --- pages about one host, with its name in their address


def with_doubt(route: Route) -> Route:
    """Return the route of a page so that it says what is in doubt about the host in its address; others unchanged."""
    if "/{host}/" not in f"{route.path}/":
        return route
    page: Callable[[Request], Awaitable[Response]] = route.endpoint

    async def endpoint(request: Request) -> Response:
        with suppress(InvalidName):
            await note_doubt(request, host_syntax(request.path_params["host"]))
        return await page(request)

    return Route(route.path, endpoint, methods=route.methods and list(route.methods))


async def note_doubt(request: Request, host: str) -> None:
    """Have the page say what is in doubt about the identity of a canonical host; where the registry cannot tell now,
    what its name alone says."""
    try:
        found = (await ask(request, "/api/services/{host}/identity", host=host))["data"]
        request.state.doubt = found["doubt"]
    except Problem:
        request.state.doubt = host_doubt(host)


def canonical_host(request: Request) -> str:
    """Return the canonical host of the address. Raise Problem for an impossible host name."""
    try:
        return host_syntax(request.path_params["host"])
    except InvalidName:
        raise Problem(UNKNOWN_SERVICE, "No service is listed under this host.") from None


def about_host(path: str, page: Callable[[Request, str], Awaitable[Response]]) -> Route:
    """Return the route of a page at the template `path`, which has `{host}`: the page gets the canonical host.

    Other spellings of a host redirect to the canonical address.
    """

    async def endpoint(request: Request) -> Response:
        named = request.path_params
        host = canonical_host(request)
        if host != named["host"]:
            return RedirectResponse(links_of(request).to(plain(path), **{**named, "host": host}), 308)
        return await page(request, host)

    return Route(path, endpoint)
