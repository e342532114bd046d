"""Pages about errors: what happened and what to do next. They never repeat input of the client."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Scope

from registry.edge.error_pages import ErrorPage
from registry.web.rendering import HTML, SECURITY, Pages

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
