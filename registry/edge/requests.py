"""What a request brings along for every interface: the registry, its address, who asks.

Bearer tokens of requests (RFC 6750).

API keys of this registry's operators in requests.

Where work on a document is done: here if it is small, otherwise in another process (`registry.wiring.compute`).
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from fastapi import Request

from registry.actions.access import MissingScope, UnknownKey
from registry.core.access.tokens import KEY, ApiKey, Scope, Token, parse_token
from registry.edge.problems import FORBIDDEN, UNAUTHORIZED, Problem, busy, too_many_at_once
from registry.settings import Settings
from registry.wiring import Waypost
from registry.wiring.compute import JobGivenUp, QueueFull


def provide(state: Any, waypost: Waypost, settings: Settings) -> None:
    """Give an application's `state` what the functions of this module return."""
    state.waypost = waypost
    state.settings = settings
    state.base_url = settings.public_url.rstrip("/")


def base_url(request: Request) -> str:
    """Return the URL of this registry without a trailing slash: from the settings, never from the Host header."""
    base: str = request.app.state.base_url
    return base


def registry_of(request: Request) -> Waypost:
    """Return the registry's operations that this application uses."""
    waypost: Waypost = request.app.state.waypost
    return waypost


def client_of(request: Request) -> str:
    """Return who asks: an address, an IPv6 /64, or `unknown`, as the rate limiter counts clients.

    It is personal data: keep it no longer than the limit that needs it.
    """
    client: str = request.scope.get("waypost.client", "unknown")
    return client


_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}


def bearer(request: Request, kind: str) -> Token:
    """Return the token of the request. Raise Problem when it has none of this kind: the token may still be unknown."""
    scheme, _, text = request.headers.get("authorization", "").strip().partition(" ")
    token = parse_token(text.strip(), kind) if scheme.lower() == "bearer" else None
    if token is None:
        raise unauthorized()
    return token


def unauthorized() -> Problem:
    """Return the problem of a request without a token, and equally of one with a wrong token."""
    return Problem(UNAUTHORIZED, "`Authorization: Bearer TOKEN` with a valid token is needed.", headers=_CHALLENGE)


async def key_of(request: Request, scope: Scope) -> ApiKey:
    """Return the key that the request was made with, which has the scope. Raise Problem."""
    token = bearer(request, KEY)
    try:
        return await registry_of(request).access.check_key(token, scope)
    except UnknownKey:
        raise unauthorized() from None
    except MissingScope:
        raise Problem(FORBIDDEN, "This key may do other things; a key gets its scopes when it is made.") from None


T = TypeVar("T")

JUDGED_HERE: Final = 8_192
"""Bytes of a document that is judged or translated in this process: some milliseconds, about a search."""
SHOWN_HERE: Final = 65_536
"""Bytes of a stored service that is shown in this process."""
NEVER_HERE: Final = -1
"""For work whose time the bytes do not tell, such as making examples from a site's schemas."""


async def computed(
    request: Request, size: int, here: int, function: Callable[..., T], *arguments: Any, host: str | None = None
) -> T:
    """Return `function(*arguments)`, called in another process when `size` is more than `here` bytes.

    `host`: whose stored documents are worked on. Raise the Problem that the function raises, or the one that says why
    nothing was computed.
    """
    if size <= here:  # guard: compute-apart
        return function(*arguments)
    if turn := request.scope.get("waypost.turn"):
        turn.close()  # large documents have a line of their own, and must not hold up the client's other requests
    compute = registry_of(request).compute
    try:
        result: T = await compute.run(client_of(request), function, *arguments, raises=Problem, host=host)
    except QueueFull as crowded:
        raise too_many_at_once() if crowded.by_client else busy("Too many large documents are waiting.") from None
    except JobGivenUp as failure:
        detail = "This document takes too long." if failure.too_long else "The work on this document was interrupted."
        raise busy(detail) from None
    return result
