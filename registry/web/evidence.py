"""What this registry saw of a host: its documents as fetched, and their versions with differences."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.edge.problems import INVALID_PARAMETER, Problem
from registry.edge.responses import REVALIDATE
from registry.web.asking import ask
from registry.web.hosts import about_host
from registry.web.rendering import pages_of
from registry.web.service import page_number

DOCUMENTS: Final = 20
VERSIONS: Final = 15
OPERATIONS: Final = 40
CURSOR_CHARS: Final = 300

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


ROUTES: Final = (Route(_EVIDENCE, evidence), Route(_HISTORY, history))
