"""One request to an interface of this process, called as an ASGI application.

There is no connection and no middleware: the outer request has paid already, and this one shares its limits, request id
and turn.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.types import ASGIApp, Message, Receive, Scope

Fields = Iterable[tuple[bytes, bytes]]

_HOST: Final = (b"host", b"registry.internal")


@dataclass(slots=True)
class InsideAnswer:
    """The answer of the application. `status` is 0 until it has answered."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    def header(self, name: bytes) -> str | None:
        """Return the first field of this name, which is in lower case."""
        return next((value.decode("latin-1") for key, value in self.headers if key.lower() == name), None)


async def call(
    app: ASGIApp, outer: Mapping[str, Any], path: str, query: Mapping[str, str] | None = None, *,
    raw_path: str | None = None, method: str = "GET", body: bytes | None = None, headers: Fields = (),
    rest: Receive | None = None,
) -> InsideAnswer:  # fmt: skip
    """Return the answer of `app` to a request for the decoded `path`.

    `outer`: the scope of the request that caused this one, or the known part of it. `raw_path`: the encoded path, where
    it differs from the usual encoding. `body` is JSON. `rest`: what to receive after the body, to learn that the client
    of the outer request has gone.
    """
    answer, is_sent = InsideAnswer(), False
    own = [_HOST, *headers]
    if body is not None:
        own += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    scope: Scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "scheme": "http",
        "method": method, "path": path, "raw_path": (raw_path or quote(path)).encode(), "root_path": "",
        "query_string": urlencode(query or {}).encode(), "headers": own, "client": None, "server": None,
        "extensions": outer.get("extensions", {}),
        **{key: value for key, value in outer.items() if key.startswith("waypost.")},
    }  # fmt: skip

    async def receive() -> Message:
        nonlocal is_sent
        if is_sent and rest is not None:
            return await rest()
        is_sent = True
        return {"type": "http.request", "body": body or b"", "more_body": False}

    await app(scope, receive, answer.take)
    return answer
