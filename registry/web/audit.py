"""`/audit`: the decisions about hosts with their authors and reasons, for people."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.edge.responses import REVALIDATE
from registry.web.asking import ask
from registry.web.rendering import pages_of


async def audit(request: Request) -> Response:
    pages = pages_of(request)
    cursor = request.query_params.get("cursor")
    data = (await ask(request, "/api/audit", None if cursor is None else {"cursor": cursor}))["data"]
    values = {
        "decisions": data["decisions"],
        "is_first": cursor is None,
        "next": data["cursor"] and pages.links.to("/audit", {"cursor": data["cursor"]}),
    }
    return pages.respond(request, "audit.html", values, cache=REVALIDATE)


ROUTES: Final = (Route("/audit", audit),)
