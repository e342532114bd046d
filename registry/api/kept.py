"""Whole answers of /api/discover, kept in memory for as long as everything that is shown stands as it did.

In front of the routes, so that the same question again costs neither a search nor a route. Nothing hidden is served
from here for longer than a second (actions/answering/standing.py); figures that are no part of a listing (when a host
was last visited) may be a minute old, as the answer's own Cache-Control allows. Only complete answers are kept:
no error, no 304.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registry.api.answers import has_tag

KEPT_SECONDS: Final = 60.0
MOST_ANSWERS: Final = 5_000
MOST_BYTES: Final = 64_000_000
_LONGEST_QUERY: Final = 4_000
_PATH: Final = "/api/discover"


@dataclass(frozen=True, slots=True)
class _Answer:
    until: float
    headers: list[tuple[bytes, bytes]]
    tag: str
    body: bytes


class Kept:
    """Every answer that was given under one token; another token drops them all. `standing` gives the token."""

    def __init__(
        self, app: ASGIApp, standing: Callable[[], Hashable | None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._standing = standing
        self._clock = clock
        self._token: Hashable | None = None
        self._answers: OrderedDict[bytes, _Answer] = OrderedDict()
        self._bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != _PATH or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        token = self._standing()
        question: bytes = scope["query_string"]
        if token is None or len(question) > _LONGEST_QUERY:
            await self._app(scope, receive, send)
            return
        if token != self._token:
            self._drop_all(token)
        known = self._answers.get(question)
        if known is None or known.until < self._clock():
            await self._asked(scope, receive, send, question, token)
            return
        self._answers.move_to_end(question)
        given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"if-none-match"]
        await (_send_unchanged if given and has_tag(given, known.tag) else _send)(known, send)

    async def _asked(self, scope: Scope, receive: Receive, send: Send, question: bytes, token: Hashable) -> None:
        started: list[Message] = []
        body = bytearray()

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if not message.get("more_body") and started[0]["status"] == 200:
                    self._keep(question, token, list(started[0]["headers"]), bytes(body))
            await send(message)

        await self._app(scope, receive, watched)

    def _keep(self, question: bytes, token: Hashable, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        """Unless the token has changed meanwhile: the answer may be from before that."""
        tag = next((value.decode("latin-1") for name, value in headers if name == b"etag"), None)
        if tag is None or token != self._token or len(body) > MOST_BYTES // 100:
            return
        self._drop(question)
        self._answers[question] = _Answer(self._clock() + KEPT_SECONDS, headers, tag, body)
        self._bytes += len(body) + len(question)
        while self._bytes > MOST_BYTES or len(self._answers) > MOST_ANSWERS:
            self._drop(next(iter(self._answers)))

    def _drop(self, question: bytes) -> None:
        gone = self._answers.pop(question, None)
        if gone is not None:
            self._bytes -= len(gone.body) + len(question)

    def _drop_all(self, token: Hashable) -> None:
        self._token, self._bytes = token, 0
        self._answers.clear()


async def _send(answer: _Answer, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _send_unchanged(answer: _Answer, send: Send) -> None:
    about_the_body = (b"content-length", b"content-type")
    headers = [pair for pair in answer.headers if pair[0] not in about_the_body]
    await send({"type": "http.response.start", "status": 304, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
