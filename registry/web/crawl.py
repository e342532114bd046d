"""The ledger of a host: when it was visited, what was requested and answered, and when it is visited next."""

from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from registry.edge.responses import REVALIDATE
from registry.web.asking import ask
from registry.web.rendering import pages_of
from registry.web.service import GONE, canonical_host, page_number

ROWS: Final = 5
"""Visits on one page. Each can have some fifty answers."""

KEPT: Final = 50
"""Visits that the API shows."""

_PATH: Final = "/s/{host}/crawl"


async def crawl(request: Request) -> Response:
    host, pages = request.path_params["host"], pages_of(request)
    if (canonical := canonical_host(host)) != host:
        return RedirectResponse(pages.links.to(_PATH, host=canonical), 308)
    page = min(page_number(request), KEPT // ROWS)
    asked = min(KEPT, page * ROWS + 1)  # one more tells whether there is a next page
    ledger = (await ask(request, "/api/services/{host}/crawl", {"visits": str(asked)}, host=host))["data"]
    visits = ledger["visits"]
    has_next = len(visits) > page * ROWS
    values = {
        "host": host,
        "ledger": ledger,
        "visits": visits[(page - 1) * ROWS : page * ROWS],
        "page": page,
        "before": pages.links.to(_PATH, {"page": page - 1}, host=host) if page > 1 else None,
        "next": pages.links.to(_PATH, {"page": page + 1}, host=host) if has_next else None,
    }
    status = GONE if ledger["opted_out"] else 200
    return pages.respond(request, "crawl.html", values, status=status, cache=REVALIDATE)


ROUTES: Final = (Route(_PATH, crawl),)
