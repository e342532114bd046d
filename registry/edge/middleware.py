"""The outermost ASGI middleware, applied to every request.

It handles request ids, `//api` as `/api`, HEAD as GET without a body, CORS on the paths that browsers may read from
anywhere, the body limit (declared and counted), the limits of a client (requests, work, requests at once), and
unhandled errors: a 500 that reveals only its id.
"""

import contextlib
import random
import re
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

import structlog
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registry.core.reading.reader import MAX_BYTES
from registry.edge.costs import Spending, of_bytes
from registry.edge.limiter import ClientIdentifier, RateLimiter
from registry.edge.problems import BODY_TOO_LARGE, Problem, fault, render, too_many_at_once
from registry.wiring.turns import Crowded, Turn, Turns

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type, Authorization",
    "Access-Control-Expose-Headers": "ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id",
}
_ON_ALL = [(b"x-content-type-options", b"nosniff")]
_ON_OPEN = [*_ON_ALL, *((name.lower().encode(), value.encode()) for name, value in CORS.items())]
_UNLIMITED = ("/healthz", "/readyz")

AT_ONCE_EACH = 2
"""Reads of one client that are worked on at once: an answer to others waits for these at most."""
_AT_ONCE = 100
_WAITING_EACH = 100
_WAITING = 10_000

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Rules:
    """What the middleware has to know about paths.

    `open`: beginnings of the paths that browsers may read from anywhere (CORS). `submissions`: paths whose POST takes
    from the limit of submissions. `searches`: paths whose POST reads, so that a client's turns bound it as they do GET.
    """

    open: tuple[str, ...] = ()
    submissions: frozenset[str] = frozenset()
    searches: frozenset[str] = frozenset()

    @classmethod
    def of_all(cls, rules: Iterable["Rules"]) -> "Rules":
        every = list(rules)
        return cls(
            tuple(path for one in every for path in one.open),
            frozenset().union(*(one.submissions for one in every)),
            frozenset().union(*(one.searches for one in every)),
        )


class RequestMiddleware:
    """Allows `read_rate` units of work per minute and `submit_rate` submissions per hour and client."""

    def __init__(
        self, app: ASGIApp, rules: Rules, *, read_rate: int, submit_rate: int, trusted_proxies: Iterable[str]
    ) -> None:
        self._app = app
        self._rules = rules
        self._work = RateLimiter("work", read_rate, 60, time.monotonic)
        self._submissions = RateLimiter("submissions", submit_rate, 3_600, time.monotonic)
        self._reads = Turns(_AT_ONCE, AT_ONCE_EACH, _WAITING, _WAITING_EACH)
        self._clients = ClientIdentifier(trusted_proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = _request_id(headers.get("x-request-id"))
        path: str = scope["path"]
        if path.startswith("//"):
            path = "/" + path.lstrip("/")
        is_open = path.startswith(self._rules.open)
        scope = {**scope, "path": path, "waypost.request_id": request_id, "waypost.open": is_open}
        sender = _Sender(send, request_id, is_open=is_open, is_head=scope["method"] == "HEAD")
        if scope["method"] == "HEAD":
            scope["method"], scope["waypost.head"] = "GET", True
        if scope["method"] == "OPTIONS" and is_open:
            await _send_preflight(sender)
            return
        try:
            await self._call_within_limits(scope, headers, receive, sender)
        except Problem as problem:
            await render(problem, f"urn:uuid:{request_id}")(scope, receive, sender)
        except ClientDisconnect:
            return
        except Exception as error:
            _log_fault(error, request_id)
            if not sender.started:
                await render(fault(), f"urn:uuid:{request_id}")(scope, receive, sender)

    async def _call_within_limits(self, scope: Scope, headers: Headers, receive: Receive, sender: "_Sender") -> None:
        client = self._clients.key(_peer(scope), ",".join(headers.getlist("x-forwarded-for")))
        spending = Spending(client, self._work)
        scope.update({"waypost.client": client, "waypost.spending": spending})
        if scope["path"] in _UNLIMITED:
            await self._app(scope, _limit_body(receive, spending, 0), sender)
            return
        sender.spending = spending
        is_post = scope["method"] == "POST"
        is_submission = is_post and scope["path"] in self._rules.submissions
        spending.take(self._submissions if is_submission else self._work)
        declared_length = _declared_length(headers)
        with _closing_connection():
            spending.charge(of_bytes(declared_length))  # guard: declared-bytes
        receive = _limit_body(receive, spending, declared_length)
        if scope["method"] != "GET" and not (is_post and scope["path"] in self._rules.searches):
            # what any other request computes is bounded where it is computed
            await self._app(scope, receive, sender)
            return
        with contextlib.closing(await self._turn(client)) as turn:
            sender.turn = scope["waypost.turn"] = turn
            await self._app(scope, receive, sender)

    async def _turn(self, client: str) -> Turn:
        """Return when fewer than AT_ONCE_EACH reads of the client are worked on. Raise Problem when many wait."""
        try:
            return await self._reads.take(client)
        except Crowded:
            raise too_many_at_once() from None


def _log_fault(error: Exception, request_id: str) -> None:
    """Log an error's type and stack, but not its text, which may contain what clients or sites sent."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("request.failed", request_id=request_id, error=type(error).__name__, frames=frames)


class _Sender:
    """Add the headers that every response has, errors and 304 included, and drop the body for HEAD."""

    def __init__(self, send: Send, request_id: str, *, is_open: bool, is_head: bool) -> None:
        self._send = send
        self._request_id = request_id
        self._is_open = is_open
        self._is_head = is_head
        self.started = False
        self.spending: Spending | None = None
        self.turn: Turn | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            if self.turn is not None:
                self.turn.close()  # the work is done, and a client that reads slowly must not hold up its next request
            limits = self.spending.headers() if self.spending else {}
            message = {
                **message,
                "headers": [
                    *message.get("headers", ()),
                    (b"x-request-id", self._request_id.encode()),
                    *(_ON_OPEN if self._is_open else _ON_ALL),
                    *((name.lower().encode(), value.encode()) for name, value in limits.items()),
                ],
            }
        elif self._is_head and message["type"] == "http.response.body":
            if message.get("more_body"):
                return
            message = {**message, "body": b""}
        await self._send(message)


def _declared_length(headers: Headers) -> int:
    """Return the declared length of the body, 0 without one. Raise Problem when it is more than MAX_BYTES."""
    declared = headers.get("content-length", "")
    if not re.fullmatch("[0-9]+", declared):
        return 0
    if len(declared) > 18 or int(declared) > MAX_BYTES:
        raise _too_large()
    return int(declared)


def _limit_body(receive: Receive, spending: Spending, declared_length: int) -> Receive:
    """Count received bytes: a chunked body declares no length, and a declared length may be wrong. Raise Problem when
    there are too many, or more than the client's allowance has units for. The declared ones are charged already."""
    total, charged = 0, of_bytes(declared_length)

    async def receive_limited() -> Message:
        nonlocal total, charged
        message = await receive()
        total += len(message.get("body", b""))
        if total > MAX_BYTES:
            raise _too_large()
        if (units := of_bytes(total) - charged) > 0:
            with _closing_connection():
                spending.charge(units)  # guard: received-bytes
            charged += units
        return message

    return receive_limited


@contextlib.contextmanager
def _closing_connection() -> Iterator[None]:
    """Close the connection of a request that is refused before its body was read."""
    try:
        yield
    except Problem as problem:
        problem.headers["Connection"] = "close"
        raise


def _too_large() -> Problem:
    return Problem(
        BODY_TOO_LARGE, f"A request body may have at most {MAX_BYTES} bytes.", headers={"Connection": "close"}
    )


async def _send_preflight(send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": [(b"access-control-max-age", b"86400")]})
    await send({"type": "http.response.body", "body": b""})


def _request_id(client_id: str | None) -> str:
    """Return the client's own id if it is a UUID, so that logs can be correlated; other text could forge log lines."""
    if client_id is not None and re.fullmatch("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", client_id):
        return str(UUID(client_id))
    return str(UUID(int=random.getrandbits(128), version=4))  # not a secret, so no system call


def _peer(scope: Scope) -> str | None:
    client = scope.get("client")
    return client[0] if client else None
