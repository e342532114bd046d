"""The outermost ASGI middleware, applied to every request.

It handles request ids, `//api` as `/api`, HEAD as GET without a body, CORS on the paths that ADP clients in browsers
read, the body limit (declared and counted), rate limits, and unhandled errors: a 500 that reveals only its id.
"""

import random
import re
import time
import traceback
from collections.abc import Iterable
from uuid import UUID

import structlog
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registry.api.limiter import Allowance, ClientIdentifier, RateLimiter
from registry.api.problems import BODY_TOO_LARGE, RATE_LIMITED, Problem, fault, render
from registry.core.reading.reader import MAX_BYTES

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type, Authorization",
    "Access-Control-Expose-Headers": "ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id",
}
_OPEN = ("/api/", "/.well-known/")
_ON_ALL = [(b"x-content-type-options", b"nosniff")]
_ON_OPEN = [*_ON_ALL, *((name.lower().encode(), value.encode()) for name, value in CORS.items())]
_UNLIMITED = ("/healthz", "/readyz")

log = structlog.get_logger(__name__)


class RequestMiddleware:
    """Allows `read_rate` requests per minute and `submit_rate` submissions per hour and client."""

    def __init__(self, app: ASGIApp, *, read_rate: int, submit_rate: int, trusted_proxies: Iterable[str]) -> None:
        self._app = app
        self._reads = RateLimiter(read_rate, 60, time.monotonic)
        self._submissions = RateLimiter(submit_rate, 3_600, time.monotonic)
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
        scope = {**scope, "path": path, "waypost.request_id": request_id}
        sender = _Sender(send, request_id, is_open=path.startswith(_OPEN), is_head=scope["method"] == "HEAD")
        if scope["method"] == "HEAD":
            scope["method"] = "GET"
        if scope["method"] == "OPTIONS" and path.startswith(_OPEN):
            await _send_preflight(sender)
            return
        try:
            await self._call_within_limits(scope, headers, _limit_body(receive), sender)
        except Problem as problem:
            await render(problem, f"urn:uuid:{request_id}")(scope, receive, sender)
        except ClientDisconnect:
            return
        except Exception as error:
            _log_fault(error, request_id)
            if not sender.started:
                await render(fault(), f"urn:uuid:{request_id}")(scope, receive, sender)

    async def _call_within_limits(self, scope: Scope, headers: Headers, receive: Receive, sender: "_Sender") -> None:
        if scope["path"] not in _UNLIMITED:
            sender.allowance = self._take_allowance(scope, headers)
            if sender.allowance.remaining < 0:
                retry_headers = {"Retry-After": str(sender.allowance.reset)}
                raise Problem(RATE_LIMITED, f"Try again in {sender.allowance.reset} seconds.", headers=retry_headers)
        declared_length = headers.get("content-length", "")
        if re.fullmatch("[0-9]+", declared_length) and (len(declared_length) > 18 or int(declared_length) > MAX_BYTES):
            raise _too_large()
        await self._app(scope, receive, sender)

    def _take_allowance(self, scope: Scope, headers: Headers) -> Allowance:
        client = self._clients.key(_peer(scope), ",".join(headers.getlist("x-forwarded-for")))
        scope["waypost.client"] = client
        is_submission = scope["method"] == "POST" and scope["path"] in ("/api/services", "/api/opt-outs")
        return (self._submissions if is_submission else self._reads).take(client)


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
        self.allowance: Allowance | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            limits = self.allowance.headers() if self.allowance else {}
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


def _limit_body(receive: Receive) -> Receive:
    """Count received bytes: a chunked body declares no length, and a declared length may be wrong. Raise Problem."""
    total = 0

    async def receive_limited() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MAX_BYTES:
            raise _too_large()
        return message

    return receive_limited


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
