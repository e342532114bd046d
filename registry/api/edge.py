"""What happens to every request before and after the routes: the outermost ASGI layer.

Request id, `//api` as `/api`, HEAD as GET without its body, CORS on what browsers of ADP clients read, the body limit
(declared and counted), rate limits, and the last resort for faults: a 500 that says nothing but its own id.
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

from registry.api.limiter import Allowance, Clients, Limiter
from registry.api.problems import BODY_TOO_LARGE, RATE_LIMITED, Problem, fault, render
from registry.core.reader import MAX_BYTES

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


class Edge:
    """`read_rate` requests per minute and `submit_rate` submissions per hour, per client."""

    def __init__(self, app: ASGIApp, *, read_rate: int, submit_rate: int, trusted_proxies: Iterable[str]) -> None:
        self._app = app
        self._reads = Limiter(read_rate, 60, time.monotonic)
        self._submissions = Limiter(submit_rate, 3_600, time.monotonic)
        self._clients = Clients(trusted_proxies)

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
            await _empty(sender)
            return
        try:
            await self._guarded(scope, headers, _counted(receive), sender)
        except Problem as problem:
            await render(problem, f"urn:uuid:{request_id}")(scope, receive, sender)
        except ClientDisconnect:
            return
        except Exception as error:
            _tell(error, request_id)
            if not sender.started:
                await render(fault(), f"urn:uuid:{request_id}")(scope, receive, sender)

    async def _guarded(self, scope: Scope, headers: Headers, receive: Receive, sender: "_Sender") -> None:
        if scope["path"] not in _UNLIMITED:
            sender.allowance = self._take(scope, headers)
            if sender.allowance.remaining < 0:
                retry = {"Retry-After": str(sender.allowance.reset)}
                raise Problem(RATE_LIMITED, f"Try again in {sender.allowance.reset} seconds.", headers=retry)
        declared = headers.get("content-length", "")
        if re.fullmatch("[0-9]+", declared) and (len(declared) > 18 or int(declared) > MAX_BYTES):
            raise _too_large()
        await self._app(scope, receive, sender)

    def _take(self, scope: Scope, headers: Headers) -> Allowance:
        client = self._clients.key(_peer(scope), ",".join(headers.getlist("x-forwarded-for")))
        submits = scope["method"] == "POST" and scope["path"] in ("/api/services", "/api/opt-outs")
        return (self._submissions if submits else self._reads).take(client)


def _tell(error: Exception, request_id: str) -> None:
    """Where it happened and what kind it was; an exception's text may hold what clients or sites sent."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("request.failed", request_id=request_id, error=type(error).__name__, frames=frames)


class _Sender:
    """Adds the headers that every answer has, errors and 304 included, and drops the body of a HEAD."""

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


def _counted(receive: Receive) -> Receive:
    """Counts what arrives: a chunked body declares no length, and a declared one may be a lie."""
    total = 0

    async def counted() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MAX_BYTES:
            raise _too_large()
        return message

    return counted


def _too_large() -> Problem:
    return Problem(BODY_TOO_LARGE, f"A request body may have {MAX_BYTES} bytes.", headers={"Connection": "close"})


async def _empty(send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": [(b"access-control-max-age", b"86400")]})
    await send({"type": "http.response.body", "body": b""})


def _request_id(given: str | None) -> str:
    """The client's own id where it is a UUID, so that two logs can be joined; anything else could forge a log."""
    if given is not None and re.fullmatch("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", given):
        return str(UUID(given))
    return str(UUID(int=random.getrandbits(128), version=4))  # an id and no secret: no call into the system


def _peer(scope: Scope) -> str | None:
    client = scope.get("client")
    return client[0] if client else None
