"""The sitemap: an index, and pages of addresses of services (sitemaps.org protocol 0.9)."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.edge.problems import NOT_FOUND, Problem
from registry.edge.responses import PAGE, encoded_response
from registry.web.asking import ask
from registry.web.rendering import pages_of

ROWS: Final = 100
"""Services on one page of the sitemap: the most that one answer of the API lists."""

MAX_PAGES: Final = 1_000
"""Pages of the sitemap: the API lists no more services than these hold."""

_TYPE: Final = "application/xml"


async def index(request: Request) -> Response:
    total = (await ask(request, "/api/services", {"limit": "0"}))["total"]
    pages = min(max(1, -(-total // ROWS)), MAX_PAGES)
    return _xml(request, "sitemap-index.xml", {"pages": pages})


async def part(request: Request) -> Response:
    """Return one page of addresses. Raise Problem when the page does not exist."""
    number = request.path_params["number"]
    if not 1 <= number <= MAX_PAGES:
        raise Problem(NOT_FOUND, "There is no such page of the sitemap.")
    query = {"limit": str(ROWS), "offset": str((number - 1) * ROWS), "sort": "name"}
    answer = await ask(request, "/api/services", query)
    if not answer["data"] and number > 1:
        raise Problem(NOT_FOUND, "There is no such page of the sitemap.")
    return _xml(request, "sitemap.xml", {"services": answer["data"], "is_first": number == 1})


def _xml(request: Request, template: str, values: dict[str, object]) -> Response:
    body = pages_of(request).render(template, values)
    return encoded_response(request, body, cache=PAGE, media_type=_TYPE)


ROUTES: Final = (Route("/sitemap.xml", index), Route("/sitemap/{number:int}.xml", part))
