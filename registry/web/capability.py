"""The page about one capability of a service."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.edge.problems import NO_DETAIL, Problem
from registry.edge.responses import REVALIDATE
from registry.web.asking import ask
from registry.web.hosts import about_host
from registry.web.rendering import pages_of

_WHY: Final = {
    "detail_not_fetched": "The site's document about this capability has not been read yet.",
    "no_endpoint": "No document of the site names an address for this capability.",
    "not_http": "This capability is not called over HTTPS.",
    "no_method": "No document of the site names the HTTP method of this capability.",
}


@about_host("/s/{host}/c/{name}")
async def capability(request: Request, host: str) -> Response:
    name = request.path_params["name"]
    pages = pages_of(request)
    (record, reason), service = await asyncio.gather(
        _record(request, host, name), ask(request, "/api/services/{host}", host=host)
    )
    values = {
        "host": host,
        "name": name,
        "service": service["data"],
        "record": record,
        "reason": _WHY.get(reason or ""),
        "title": record.get("title") or record.get("name") or name,
    }
    return pages.respond(request, "capability.html", values, cache=REVALIDATE)


async def _record(request: Request, host: str, name: str) -> tuple[Mapping[str, Any], str | None]:
    """Return the record of the capability; without a known call, with the reason. Raise Problem."""
    try:
        return await ask(request, "/api/services/{host}/capabilities/{name}", host=host, name=name), None
    except Problem as problem:
        if problem.kind is not NO_DETAIL:
            raise
        return problem.members, problem.members.get("reason")


ROUTES: Final = (Route("/s/{host}/c/{name:path}", capability),)
