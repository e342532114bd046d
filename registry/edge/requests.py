"""What every interface reads from a request: the registry, its address, the client, bearer tokens and operators' keys.

Also decides where work on a document is done: small documents here, others in another process
(`registry.wiring.compute`).
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
    """Store in an application's `state` what the functions of this module return."""
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
    """Return the client as the rate limiter counts it: an address, an IPv6 /64, or `unknown`. It is personal data: keep
    it no longer than the limit that needs it."""
    client: str = request.scope.get("waypost.client", "unknown")
    return client


def bearer(request: Request, kind: str) -> Token:
    """Return the token of the request; it may be unknown. Raise Problem when there is no token of this kind."""
    scheme, _, text = request.headers.get("authorization", "").strip().partition(" ")
    token = parse_token(text.strip(), kind) if scheme.lower() == "bearer" else None
    if token is None:
        raise unauthorized()
    return token


def unauthorized() -> Problem:
    """Return the problem of a request without a token. A wrong token gets the same."""
    detail = "`Authorization: Bearer TOKEN` with a valid token is needed."
    return Problem(UNAUTHORIZED, detail, headers={"WWW-Authenticate": "Bearer"})


async def key_of(request: Request, scope: Scope | None, *, reads: bool = False) -> ApiKey:
    """Return the request's key, which has the scope; None: any key. `reads`: the scope `read` suffices. Raise
    Problem."""
    token = bearer(request, KEY)
    try:
        return await registry_of(request).access.check_key(token, scope, reads=reads)
    except UnknownKey:
        raise unauthorized() from None
    except MissingScope:
        detail = "This key lacks the scope for this operation. Make a new key with that scope."
        raise Problem(FORBIDDEN, detail) from None


T = TypeVar("T")

MAX_INLINE_DOCUMENT: Final = 8_192
"""Bytes of a document that is judged in this process: some milliseconds, about a search."""
MAX_INLINE_TRANSLATION: Final = 2_048
"""Bytes of a service that is translated in this process. Its source is read again for each of its values: a schema of
2.5 KB, with twelve lists of 300 values to merge, takes 30 ms."""
MAX_INLINE_SERVICE: Final = 65_536  # bytes of a stored service that is shown in this process
NEVER_INLINE: Final = -1
"""For work that takes a time unrelated to the bytes, such as making examples from a site's schemas."""


async def computed(
    request: Request, size: int, here: int, function: Callable[..., T], *arguments: Any, host: str | None = None
) -> T:
    """Return `function(*arguments)`, called in another process when `size` is more than `here` bytes. `host`: the host
    whose stored documents are used. Raise the function's Problem, or Problem when the work was not done."""
    if size <= here:  # guard: compute-apart
        return function(*arguments)
    if turn := request.scope.get("waypost.turn"):
        turn.close()  # large documents have their own queue, and must not hold up the client's other requests
    compute = registry_of(request).compute
    try:
        result: T = await compute.run(client_of(request), function, *arguments, raises=Problem, host=host)
    except QueueFull as crowded:
        raise too_many_at_once() if crowded.by_client else busy("Too many large documents are waiting.") from None
    except JobGivenUp as failure:
        detail = "This document takes too long." if failure.too_long else "The work on this document was interrupted."
        raise busy(detail) from None
    return result
