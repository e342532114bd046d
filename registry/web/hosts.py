"""Pages about one host, with its name in their address."""

from collections.abc import Awaitable, Callable
from functools import wraps

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registry.core.names.domains import InvalidName, host_syntax
from registry.edge.problems import UNKNOWN_SERVICE, Problem
from registry.web.rendering import pages_of

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
