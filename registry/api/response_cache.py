"""A response cache for `/api/discover`, in front of the routes: a repeated query costs neither a search nor routing.

A response is served for one second after its request arrived. So every change of the registry shows within a second,
without watching the database. Only complete 200 responses are cached, no errors and no 304.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registry.edge.compression import ENCODED, Form, Forms
from registry.edge.metrics import INTERFACE, ROUTE
from registry.edge.responses import matches_etag

LIFETIME_SECONDS: Final = 1.0
MAX_ANSWERS: Final = 5_000
MAX_BYTES: Final = 64_000_000
_MAX_QUERY_BYTES: Final = 4_000
PATH: Final = "/api/discover"

NAME: Final = "api"
"""Label of this interface in metrics."""


@dataclass(frozen=True, slots=True)
class _CachedResponse:
    expires_at: float
    headers: list[tuple[bytes, bytes]]
    etag: str
    body: bytes
    forms: Forms  # headers and body by coding, so that each is compressed once


class ResponseCache:
    """ASGI middleware that caches by the query string as sent; `clock` returns monotonic seconds."""

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock
        self._responses: OrderedDict[bytes, _CachedResponse] = OrderedDict()  # oldest first
        self._bytes = 0
        self.served: Counter[str] = Counter({"hit": 0, "miss": 0})

    @property
    def size(self) -> int:
        """The bytes of stored bodies and queries. Compressed forms add at most twice as much."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._responses)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_cacheable = scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "GET"
        if not is_cacheable or len(scope["query_string"]) > _MAX_QUERY_BYTES:
            await self._app(scope, receive, send)
            return
        query: bytes = scope["query_string"]
        cached = self._current(query)
        scope[ROUTE] = PATH
        if cached is None:
            self.served["miss"] += 1
            await self._forward(scope, receive, send, query)
            return
        self.served["hit"] += 1
        conditions = [value.decode("latin-1") for name, value in scope["headers"] if name == b"if-none-match"]
        is_unchanged = bool(conditions) and matches_etag(conditions, cached.etag)
        if is_unchanged:
            headers = [header for header in cached.headers if header[0] not in (b"content-length", b"content-type")]
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": cached.headers, ENCODED: cached.forms})
            await send({"type": "http.response.body", "body": cached.body})

    def kept(self, scope: Scope, coding: str) -> Form | None:
        """Return the cached response to a GET request in this coding, or None."""
        cached = self._current(scope["query_string"])
        form = None if cached is None else cached.forms.get(coding)
        if form is not None:
            self.served["hit"] += 1
            scope[INTERFACE], scope[ROUTE] = NAME, PATH
        return form

    def _current(self, query: bytes) -> _CachedResponse | None:
        cached = self._responses.get(query)
        return cached if cached is not None and cached.expires_at > self._clock() else None

    async def _forward(self, scope: Scope, receive: Receive, send: Send, query: bytes) -> None:
        """Call the application and store a complete response. Its age counts from the arrival of the request."""
        expires_at = self._clock() + LIFETIME_SECONDS
        start_messages: list[Message] = []
        body = bytearray()
        forms: Forms = {}

        async def send_and_copy(message: Message) -> None:
            if message["type"] == "http.response.start":
                start_messages.append(message)
                message = {**message, ENCODED: forms}
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if not message.get("more_body") and start_messages[0]["status"] == 200:
                    self._store(query, expires_at, list(start_messages[0]["headers"]), bytes(body), forms)
            await send(message)

        await self._app(scope, receive, send_and_copy)

    def _store(
        self, query: bytes, expires_at: float, headers: list[tuple[bytes, bytes]], body: bytes, forms: Forms
    ) -> None:
        etag = next((value.decode("latin-1") for name, value in headers if name == b"etag"), None)
        if etag is None or len(body) > MAX_BYTES // 100:
            return
        self._remove(query)
        self._responses[query] = _CachedResponse(expires_at, headers, etag, body, forms)
        self._bytes += len(body) + len(query)
        now = self._clock()
        while self._responses:
            oldest = next(iter(self._responses))
            is_full = self._bytes > MAX_BYTES or len(self._responses) > MAX_ANSWERS
            if not is_full and self._responses[oldest].expires_at > now:
                break
            self._remove(oldest)

    def _remove(self, query: bytes) -> None:
        removed = self._responses.pop(query, None)
        if removed is not None:
            self._bytes -= len(removed.body) + len(query)
