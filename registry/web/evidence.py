"""What this registry saw of a host: its documents as fetched, their versions with differences, and its visits."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.edge.problems import INVALID_PARAMETER, UNKNOWN_SERVICE, Problem
from registry.edge.responses import REVALIDATE
from registry.web.asking import ask
from registry.web.rendering import about_host, pages_of
from registry.web.service import GONE, page_number

DOCUMENTS: Final = 20
VERSIONS: Final = 15
OPERATIONS: Final = 40
CURSOR_CHARS: Final = 300

VISITS: Final = 5
"""Visits on one page. Each can have some fifty answers."""

MAX_VISITS: Final = 50
"""Visits that the API shows."""

_CRAWL: Final = "/s/{host}/crawl"
_EVIDENCE: Final = "/s/{host}/evidence"
_HISTORY: Final = "/s/{host}/history"


@about_host(_EVIDENCE)
async def evidence(request: Request, host: str) -> Response:
    pages = pages_of(request)
    data = (await ask(request, "/api/services/{host}/evidence", host=host))["data"]
    last = max(1, -(-len(data["documents"]) // DOCUMENTS))
    page = min(page_number(request), last)
    values = {
        "host": host,
        "documents": data["documents"][(page - 1) * DOCUMENTS : page * DOCUMENTS],
        "total": data["total"],
        "page": page,
        "before": pages.links.to(_EVIDENCE, {"page": page - 1}, host=host) if page > 1 else None,
        "next": pages.links.to(_EVIDENCE, {"page": page + 1}, host=host) if page < last else None,
    }
    return pages.respond(request, "evidence.html", values, cache=REVALIDATE)


@about_host(_HISTORY)
async def history(request: Request, host: str) -> Response:
    pages = pages_of(request)
    cursor = request.query_params.get("cursor")
    if cursor is not None and len(cursor) > CURSOR_CHARS:
        raise Problem(INVALID_PARAMETER, "This is no link of a page of the history.")
    query = {"limit": str(VERSIONS)} | ({} if cursor is None else {"cursor": cursor})
    answer = await ask(request, "/api/services/{host}/history", query, host=host)
    decisions = (await ask(request, "/api/services/{host}/audit", host=host))["data"]
    values = {
        "host": host,
        "versions": answer["data"]["versions"],
        "is_first": cursor is None,
        "next": answer["next_cursor"] and pages.links.to(_HISTORY, {"cursor": answer["next_cursor"]}, host=host),
        "most": OPERATIONS,
        "decisions": decisions["decisions"],
    }
    return pages.respond(request, "history.html", values, cache=REVALIDATE)


@about_host(_CRAWL)
async def crawl(request: Request, host: str) -> Response:
    pages = pages_of(request)
    page = min(page_number(request), MAX_VISITS // VISITS)
    asked = min(MAX_VISITS, page * VISITS + 1)  # one more shows whether there is a next page
    ledger = await _ledger(request, host, asked)
    visits = ledger["visits"]
    has_next = len(visits) > page * VISITS
    values = {
        "host": host,
        "ledger": ledger,
        "visits": visits[(page - 1) * VISITS : page * VISITS],
        "page": page,
        "before": pages.links.to(_CRAWL, {"page": page - 1}, host=host) if page > 1 else None,
        "next": pages.links.to(_CRAWL, {"page": page + 1}, host=host) if has_next else None,
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


ROUTES: Final = (Route(_EVIDENCE, evidence), Route(_HISTORY, history), Route(_CRAWL, crawl))
