"""The ledger of a host: its visits, the requests and answers of each, and the next visit."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.edge.problems import UNKNOWN_SERVICE, Problem
from registry.edge.responses import REVALIDATE
from registry.web.asking import ask
from registry.web.hosts import about_host
from registry.web.rendering import pages_of
from registry.web.service import GONE, page_number

ROWS: Final = 5
"""Visits on one page. Each can have some fifty answers."""

KEPT: Final = 50
"""Visits that the API shows."""

_PATH: Final = "/s/{host}/crawl"


@about_host(_PATH)
async def crawl(request: Request, host: str) -> Response:
    pages = pages_of(request)
    page = min(page_number(request), KEPT // ROWS)
    asked = min(KEPT, page * ROWS + 1)  # one more shows whether there is a next page
    ledger = await _ledger(request, host, asked)
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


async def _ledger(request: Request, host: str, visits: int) -> Any:
    """Return the ledger. Raise Problem for a host that is neither known nor opted out."""
    try:
        return (await ask(request, "/api/services/{host}/crawl", {"visits": str(visits)}, host=host))["data"]
    except Problem as problem:
        # when the whole domain opted out, its ledger is deleted too
        if problem.kind is UNKNOWN_SERVICE and await _is_opted_out(request, host):
            return {"opted_out": True, "visits": []}
        raise


async def _is_opted_out(request: Request, host: str) -> bool:
    return bool((await ask(request, "/api/opt-outs/{host}", host=host))["data"]["opted_out"])


ROUTES: Final = (Route(_PATH, crawl),)
