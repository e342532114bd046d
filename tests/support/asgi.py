"""An ASGI application as the answer of a site on loopback (tests/support/sites.py)."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from tests.support.sites import Behaviour, Exchange

Message: TypeAlias = MutableMapping[str, Any]
Application: TypeAlias = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]


def served_by(application: Application) -> Behaviour:
    """Return a behaviour that passes each request to the application (ASGI 3.0, HTTP)."""

    async def answer(exchange: Exchange) -> None:
        requests = [{"type": "http.request", "body": exchange.body, "more_body": False}]

        async def receive() -> Message:
            if not requests:
                await asyncio.Event().wait()  # the client stays
            return requests.pop()

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                fields = [field for field in message["headers"] if field[0].lower() != b"content-length"]
                lines = [b"HTTP/1.1 %d Status" % message["status"], *(b"%s: %s" % tuple(field) for field in fields)]
                await exchange.send(b"\r\n".join([*lines, b"Transfer-Encoding: chunked", b"", b""]))
                return
            if body := message.get("body", b""):
                await exchange.send(b"%x\r\n%s\r\n" % (len(body), body))
            if not message.get("more_body", False):
                await exchange.send(b"0\r\n\r\n")

        await application(_scope(exchange), receive, send)

    return answer


def _scope(exchange: Exchange) -> Message:
    path, _, query = exchange.path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": exchange.method,
        "scheme": "https",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in exchange.headers.items()],
        "client": ("127.0.0.1", 1),
        "server": (exchange.host, 443),
        "state": {},
    }
