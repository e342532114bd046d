"""Errors as pages for people, for all interfaces."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import orjson
from starlette.responses import Response
from starlette.types import Message, Scope, Send

from registry.edge.problems import MEDIA_TYPE
from registry.edge.responses import prefers_html, varying

ErrorPage: TypeAlias = Callable[[Scope, Mapping[str, Any], Mapping[str, str]], Response]
"""Returns the page about a problem document; its headers, such as Retry-After, are those of the last argument."""

_PROBLEM: Final = MEDIA_TYPE.encode()
_KEPT: Final = (b"retry-after", b"allow", b"connection", b"www-authenticate")


def with_error_pages(send: Send, scope: Scope, page: ErrorPage) -> Send:
    """Return a `send` that replaces a problem document by its page if the client prefers HTML."""
    if not prefers_html(scope):
        return send
    start: Message | None = None
    body = bytearray()

    async def send_page(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start":
            if (b"content-type", _PROBLEM) in message.get("headers", ()):
                start = message
                return
        elif start is not None:
            body.extend(message.get("body", b""))
            if not message.get("more_body"):
                kept = {
                    name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"] if name in _KEPT
                }
                await page(scope, orjson.loads(bytes(body)), kept)(scope, _nothing, varying(send))
            return
        await send(message)

    return send_page


async def _nothing() -> Message:
    raise RuntimeError("a response reads no request")
