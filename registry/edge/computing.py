"""Where work on a document is done: here if it is small, otherwise in another process (`registry.wiring.compute`)."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from fastapi import Request

from registry.edge.problems import Problem, busy, too_many_at_once
from registry.edge.requests import client_of, registry_of
from registry.wiring.compute import Crowded, NotComputed

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
    except Crowded as crowded:
        raise too_many_at_once() if crowded.by_client else busy("Too many large documents are waiting.") from None
    except NotComputed as failure:
        detail = "This document takes too long." if failure.too_long else "The work on this document was interrupted."
        raise busy(detail) from None
    return result
