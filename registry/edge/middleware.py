"""The outermost ASGI middleware, applied to every request.

It handles request ids, `//api` as `/api`, HEAD as GET without a body, CORS on the paths that browsers may read from
anywhere, writes of pages of other sites, security headers, compression, the body limit (declared and counted), the
limits of a client (requests, work, requests at once), metrics, traces, and unhandled errors: a 500 that reveals only
its id.
"""

import contextlib
import random
import re
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit
from uuid import UUID

import structlog
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registry.core.reading.reader import MAX_BYTES
from registry.edge import problems
from registry.edge.compression import Compressing, Form, coding_for
from registry.edge.compression import Headers as HeaderFields
from registry.edge.limiter import ClientIdentifier, RateLimiter, Spending, logged_network, of_bytes
from registry.edge.limiter import fields as limit_fields
from registry.edge.metrics import LIMIT, METHODS, OTHER, RequestMetrics, route_of
from registry.edge.problems import Problem
from registry.edge.responses import prefers_html
from registry.settings import Settings
from registry.wiring.turns import QueueFull, Turn, Turns

if TYPE_CHECKING:
    from registry.edge.tracing import RequestSpans

_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Accept-Ranges, Content-Range, ETag, Link, Location, Mcp-Session-Id, RateLimit, "
    "RateLimit-Policy, Retry-After, WWW-Authenticate, Waypost-Has-More, X-Request-Id",
}
_CORS_ALLOWED = {  # browsers need them in preflights only; registries of ADP send them with every answer
    "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "Accept, Authorization, Content-Type, Idempotency-Key, If-None-Match, "
    "Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id, X-Request-Id",
}
_SECURITY = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
_POLICY = (
    b"content-security-policy",
    b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)
"""For responses without a policy of their own: a browser that shows one as a page loads and runs nothing."""


def _fields(*groups: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for group in groups for name, value in group.items()]


_ON_CLOSED = _fields(_SECURITY, {"Cross-Origin-Resource-Policy": "same-origin"})
_ON_OPEN = _fields(_SECURITY, {"Cross-Origin-Resource-Policy": "cross-origin"}, _CORS, _CORS_ALLOWED)
_PREFLIGHT = _fields({"Access-Control-Max-Age": "86400"})
_UNLIMITED = ("/healthz", "/readyz")
_ORDINARY_WAY = frozenset({b"if-none-match", b"content-length", b"transfer-encoding"})

ProblemMembers = Callable[[Problem], Mapping[str, Any]]
ErrorPage: TypeAlias = Callable[[Scope, Mapping[str, Any], Mapping[str, str]], Response]
"""Returns the page about a problem document; its headers, such as Retry-After, are those of the last argument."""

KeptResponse = Callable[[Scope, str], Form | None]

AT_ONCE_EACH = 2  # reads of one client that are worked on at once: an answer to others waits for these at most
_AT_ONCE = 100
_WAITING_EACH = 100
_WAITING = 10_000

_FORM: Final = "application/x-www-form-urlencoded"
_MAX_KEPT_FORM: Final = 65_536

_FIXED_BITS = 0xF << 76 | 0b11 << 62
_VERSION_4 = 4 << 76 | 0b10 << 62

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Rules:
    """What the middleware has to know about paths.

    `open`: prefixes of the paths that browsers may read from anywhere (CORS). `submissions`: paths whose POST takes
    from the limit of submissions. `searches`: paths whose POST only reads, so that a client's turns limit it as they do
    GET, and pages of other sites may send it. `views`: first segments of the paths of pages, and `shared_views`: paths
    that are pages for clients that prefer HTML; a read of one takes one of the client's views, whatever it asks for
    inside. `free`: beginnings of the paths whose reads cost nothing, because one page shows many of them. `tokens`:
    prefixes of the paths that need a token. `members`: prefix of paths -> a function that returns further members of a
    problem, for protocols with their own errors. `kept`: path -> a function that returns headers and body, in a coding,
    of the cached 200 for a GET request. `error_page` makes the page about a problem for clients that prefer HTML; at
    most one interface has one.
    """

    open: tuple[str, ...] = ()
    submissions: frozenset[str] = frozenset()
    searches: frozenset[str] = frozenset()
    views: frozenset[str] = frozenset()
    shared_views: frozenset[str] = frozenset()
    free: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    members: Mapping[str, ProblemMembers] = field(default_factory=dict)
    kept: Mapping[str, KeptResponse] = field(default_factory=dict)
    error_page: ErrorPage | None = None

    @classmethod
    def of_all(cls, rules: Iterable["Rules"]) -> "Rules":
        every = list(rules)
        return cls(
            tuple(path for one in every for path in one.open),
            frozenset().union(*(one.submissions for one in every)),
            frozenset().union(*(one.searches for one in every)),
            frozenset().union(*(one.views for one in every)),
            frozenset().union(*(one.shared_views for one in every)),
            tuple(path for one in every for path in one.free),
            tuple(path for one in every for path in one.tokens),
            {path: members for one in every for path, members in one.members.items()},
            {path: kept for one in every for path, kept in one.kept.items()},
            next((one.error_page for one in every if one.error_page is not None), None),
        )

    def is_view(self, scope: Scope) -> bool:
        """Return True if a read of this path opens a page."""
        path = scope["path"]  # "*" of an OPTIONS request has no slash
        first = path.split("/", 2)[1] if path.startswith("/") else ""
        return f"/{first}" in self.views or (path in self.shared_views and prefers_html(scope))

    def rendered(self, problem: Problem, scope: Scope) -> Response:
        """Return the answer, with the members that the interface of this path gives to all of its problems."""
        for beginning, members in self.members.items():
            if scope["path"].startswith(beginning):
                problem.members |= members(problem)
        if self.error_page is not None and not scope["waypost.open"] and prefers_html(scope):
            document = problems.body(problem.kind, problem.detail, "", problem.members)
            return self.error_page(scope, document, problem.headers)
        return problems.render(problem, f"urn:uuid:{scope['waypost.request_id']}")


class RequestMiddleware:
    """Allows each client `read_rate` units of work and `page_rate` pages per minute, and `submit_rate` submissions per
    hour."""

    def __init__(
        self, app: ASGIApp, rules: Rules, settings: Settings, metrics: RequestMetrics | None,
        spans: "RequestSpans | None",
    ) -> None:  # fmt: skip
        self._app = app
        self._rules = rules
        self._public_url = settings.public_url
        self._work = RateLimiter("work", settings.read_rate, 60, time.monotonic)
        self._views = RateLimiter("pages", settings.page_rate, 60, time.monotonic)
        self._submissions = RateLimiter("submissions", settings.submit_rate, 3_600, time.monotonic)
        self._reads = Turns(_AT_ONCE, AT_ONCE_EACH, _WAITING, _WAITING_EACH)
        self._clients = ClientIdentifier(settings.trusted_proxies)
        self._metrics = metrics
        self._spans = spans
        self._logs_requests = settings.access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic() if self._logs_requests else 0.0
        if (kept := self._kept_response(scope)) is not None:
            if self._logs_requests:
                request_id = next(value for name, value in kept[0] if name == b"x-request-id").decode()
                self._log_request(scope, "GET", request_id, 200, began, len(kept[1]))
            await send({"type": "http.response.start", "status": 200, "headers": kept[0]})
            await send({"type": "http.response.body", "body": kept[1]})
            return
        headers = Headers(scope=scope)
        path: str = scope["path"]
        if path.startswith("//"):
            path = "/" + path.lstrip("/")
        method: str = scope["method"]
        is_open = path.startswith(self._rules.open)
        request_id = _request_id(headers.get("x-request-id"))
        scope = {**scope, "path": path, "waypost.request_id": request_id, "waypost.open": is_open}
        if method == "HEAD":
            scope["method"], scope["waypost.head"] = "GET", True
        sender = _Sender(send, scope, method)
        if method == "OPTIONS" and is_open:
            if self._metrics is not None:
                self._metrics.record(scope, method, 204, 0.0, None)
            await sender({"type": "http.response.start", "status": 204, "headers": _PREFLIGHT})
            await sender({"type": "http.response.body", "body": b""})
            return
        if path in _UNLIMITED:
            await self._answer(scope, headers, receive, sender)
            return
        if self._metrics is not None:
            sender.metrics, sender.began = self._metrics, time.perf_counter()
            self._metrics.in_flight += 1
        try:
            if self._spans is None:
                await self._answer(scope, headers, receive, sender)
            else:
                with self._spans.span(scope, method, lambda: sender.status):
                    await self._answer(scope, headers, receive, sender)
        finally:
            if self._metrics is not None:
                self._metrics.in_flight -= 1
                if not sender.started:
                    sender.count(0)
            if self._logs_requests:
                self._log_request(scope, method, request_id, sender.status, began, sender.sent_bytes)

    def _log_request(
        self, scope: Scope, method: str, request_id: str, status: int, began: float, sent_bytes: int
    ) -> None:
        """Log an answered request. `status`: 0 if the client left before."""
        headers = Headers(scope=scope)
        log.info(
            "request",
            method=method if method in METHODS else OTHER,
            route=route_of(scope),
            status=status,
            seconds=round(time.monotonic() - began, 4),
            bytes=sent_bytes,
            request_id=request_id,
            client=logged_network(self._clients.key(_peer(scope), ",".join(headers.getlist("x-forwarded-for")))),
        )

    def _kept_response(self, scope: Scope) -> Form | None:
        """Return headers and body of a cached response to this request, counted and limited like any other.

        Return None when the request must take the ordinary way, which costs several times as much: nothing is cached
        for it, or it is conditional, has a body, is traced or must be refused.
        """
        kept = self._rules.kept.get(scope["path"])
        if kept is None or self._spans is not None or scope["method"] != "GET":
            return None
        accepted, forwarded_for, client_id = b"", b"", None
        for name, value in scope["headers"]:
            if name in _ORDINARY_WAY:
                return None
            if name == b"accept-encoding":
                accepted = accepted + b"," + value if accepted else value
            elif name == b"x-forwarded-for":
                forwarded_for = forwarded_for + b"," + value if forwarded_for else value
            elif name == b"x-request-id":
                client_id = value.decode("latin-1")
        form = kept(scope, coding_for(accepted) if accepted else "")
        if form is None:
            return None
        allowance = self._work.take(self._clients.key(_peer(scope), forwarded_for.decode("latin-1")))
        if allowance.refused:
            return None
        if self._metrics is not None:
            self._metrics.record(scope, "GET", 200, 0.0, None)
        headers, body = form
        is_open = scope["path"].startswith(self._rules.open)
        return _complete(headers, _request_id(client_id), limit_fields((allowance,)), is_open=is_open), body

    async def _answer(self, scope: Scope, headers: Headers, receive: Receive, sender: "_Sender") -> None:
        problem: Problem | None = None
        try:
            await self._call_within_limits(scope, headers, receive, sender)
        except Problem as error:
            problem = error
        except ClientDisconnect:
            return
        except Exception as error:
            if sender.refusal is None:
                # the type and the stack, but not the text, which may contain what clients or sites sent
                frames = "".join(traceback.format_tb(error.__traceback__))
                request_id = scope["waypost.request_id"]
                log.error("request.failed", request_id=request_id, error=type(error).__name__, frames=frames)
                problem = problems.fault()
        problem = sender.refusal or problem
        if problem is not None and not sender.started:
            sender.refusal = None
            if problem.kind is problems.RATE_LIMITED and not scope["waypost.open"] and prefers_html(scope):
                await _keep_form(scope, headers, receive)
            scope[LIMIT] = problem.members.get("limit")
            await self._rules.rendered(problem, scope)(scope, receive, sender)

    async def _call_within_limits(self, scope: Scope, headers: Headers, receive: Receive, sender: "_Sender") -> None:
        client = self._clients.key(_peer(scope), ",".join(headers.getlist("x-forwarded-for")))
        limit = self._limit_of(scope, headers)
        spending = Spending(client, self._work, self._submissions, is_flat=limit is None or limit is self._views)
        scope.update({"waypost.client": client, "waypost.spending": spending})
        send = Compressing(sender, scope["headers"])
        if scope["path"] in _UNLIMITED:
            await self._app(scope, _limit_body(receive, spending, 0, sender), send)
            return
        sender.spending = spending
        try:
            declared_length = _declared_length(headers)
        except Problem:
            spending.take(limit or self._work)
            raise
        self._refuse_cross_site(scope, headers)
        if limit is not None:
            spending.take(limit)
        with _closing_connection():
            spending.charge(of_bytes(declared_length))  # guard: declared-bytes
        receive = _limit_body(receive, spending, declared_length, sender)
        if scope["method"] != "GET" and not (scope["method"] == "POST" and scope["path"] in self._rules.searches):
            # all other requests are bounded where they compute
            await self._app(scope, receive, send)
            return
        try:  # wait until fewer than AT_ONCE_EACH reads of the client are in progress
            taken = await self._reads.take(client)
        except QueueFull:
            raise problems.too_many_at_once() from None
        with contextlib.closing(taken) as turn:
            sender.turn = scope["waypost.turn"] = turn
            await self._app(scope, receive, send)

    def _limit_of(self, scope: Scope, headers: Headers) -> RateLimiter | None:
        """Return the limit from which this request takes one, or None if it costs nothing."""
        path, method = scope["path"], scope["method"]
        if method == "POST" and path in self._rules.submissions:
            return self._submissions
        if method != "GET" or "content-length" in headers or "transfer-encoding" in headers:
            return self._work  # pages are read without a body
        if path.startswith(self._rules.free):
            return None
        return self._views if self._rules.is_view(scope) else self._work

    def _refuse_cross_site(self, scope: Scope, headers: Headers) -> None:
        """Raise Problem for a write that a page of another site sends, and for a body of the API that is not JSON,
        before it costs the client anything."""
        path = scope["path"]
        if scope["method"] in ("GET", "OPTIONS"):
            return
        # only where a token is needed: elsewhere it proves nothing, because a page could invent one
        has_bearer = headers.get("authorization", "").lower().startswith("bearer ")
        has_token = path.startswith(self._rules.tokens) and has_bearer  # guard: token-where-needed
        if path not in self._rules.searches and not has_token:
            _refuse_other_sites(headers, self._public_url)
        if scope["waypost.open"]:  # the others are pages, whose forms have a media type of their own
            _refuse_other_media_types(headers)


class _Sender:
    """Adds the headers of every response, errors and 304 included, and drops the body for HEAD."""

    def __init__(self, send: Send, scope: Scope, method: str) -> None:
        self._send = send
        self._scope = scope
        self._method = method
        self.status = 0  # until the response begins
        self.sent_bytes = 0  # of the body
        self.metrics: RequestMetrics | None = None
        self.began = 0.0
        self.refusal: Problem | None = None
        """Why the body was refused. Then what the application answers is dropped: it may know such errors as faults."""
        self.spending: Spending | None = None
        self.turn: Turn | None = None

    @property
    def started(self) -> bool:
        return self.status != 0

    def count(self, status: int) -> None:
        """Count the request: when its response begins, or with 0 when it ends without one."""
        if self.metrics is not None:
            refused_by = self._scope.get(LIMIT) or (self.spending.refused_by if self.spending else None)
            self.metrics.record(self._scope, self._method, status, time.perf_counter() - self.began, refused_by)

    async def __call__(self, message: Message) -> None:
        if self.refusal is not None and not self.started:  # guard: refused-bodies
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.count(self.status)
            if self.turn is not None:
                self.turn.close()  # the work is done, and a client that reads slowly must not hold up its next request
            limits, is_open = self.spending.fields() if self.spending else (), self._scope["waypost.open"]
            headers = _complete(message.get("headers", ()), self._scope["waypost.request_id"], limits, is_open=is_open)
            message = {**message, "headers": headers}
        elif self._method == "HEAD" and message["type"] == "http.response.body":
            if message.get("more_body"):
                return
            message = {**message, "body": b""}
        self.sent_bytes += len(message.get("body", b""))
        await self._send(message)


def _complete(
    headers: HeaderFields, request_id: str, limits: HeaderFields, *, is_open: bool
) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response, and the common ones of every response. `limits`: what the request met."""
    complete = [*headers, (b"x-request-id", request_id.encode()), *(_ON_OPEN if is_open else _ON_CLOSED)]
    for name, _ in complete:
        if name == _POLICY[0]:
            break
    else:
        complete.append(_POLICY)  # guard: content-policy
    return [*complete, *limits]


def _declared_length(headers: Headers) -> int:
    """Return the declared length of the body, 0 without one. Raise Problem when it exceeds MAX_BYTES."""
    declared = headers.get("content-length", "")
    if not re.fullmatch("[0-9]+", declared):
        return 0
    if len(declared) > 18 or int(declared) > MAX_BYTES:
        raise _too_large()
    return int(declared)


def _limit_body(receive: Receive, spending: Spending, declared_length: int, sender: _Sender) -> Receive:
    """Count received bytes: a chunked body declares no length, and a declared length may be wrong.

    Raise Problem when there are too many, or more than the client's allowance covers. The sender is informed too, in
    case the application swallows the problem. Declared bytes were charged before.
    """
    total, charged = 0, of_bytes(declared_length)

    async def receive_limited() -> Message:
        nonlocal total, charged
        message = await receive()
        total += len(message.get("body", b""))
        try:
            if total > MAX_BYTES:
                raise _too_large()
            if (units := of_bytes(total) - charged) > 0:
                with _closing_connection():
                    spending.charge(units)  # guard: received-bytes
                charged += units
        except Problem as problem:
            sender.refusal = problem
            raise
        return message

    return receive_limited


async def _keep_form(scope: Scope, headers: Headers, receive: Receive) -> None:
    """Keep a small form that a limit refuses in the scope, so that the page about it can give it back."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if scope["method"] != "POST" or kind != _FORM or not 0 < _declared_length(headers) <= _MAX_KEPT_FORM:
        return
    body, is_whole = bytearray(), False
    while not is_whole and len(body) <= _MAX_KEPT_FORM:
        message = await receive()
        if message["type"] != "http.request":
            return
        body += message.get("body", b"")
        is_whole = not message.get("more_body")
    if is_whole:
        scope["waypost.form"] = bytes(body)


@contextlib.contextmanager
def _closing_connection() -> Iterator[None]:
    """Close the connection of a request that is refused before its body was read."""
    try:
        yield
    except Problem as problem:
        problem.headers["Connection"] = "close"
        raise


def _too_large() -> Problem:
    detail = f"A request body may have at most {MAX_BYTES} bytes."
    return Problem(problems.BODY_TOO_LARGE, detail, headers={"Connection": "close"})


def _request_id(client_id: str | None) -> str:
    """Return the client's own id if it is a UUID, so that logs can be correlated; other text could forge log lines."""
    if client_id is not None and re.fullmatch("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", client_id):
        return str(UUID(client_id))
    # Version 4 and the variant of RFC 9562, section 5.4. Not a secret, so no system call.
    digits = f"{random.getrandbits(128) & ~_FIXED_BITS | _VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _peer(scope: Scope) -> str | None:
    client = scope.get("client")
    return client[0] if client else None


# --- requests that a page of another site makes a browser send, to forms and to the API
#
# The cookies of pages are SameSite=Strict, so such a request can change only what any stranger can. But it would spend
# the limits of the visitor. Browsers send the media types of forms and plain text without a preflight (Fetch standard,
# "CORS-safelisted request-header"), so a body of the API must be JSON.

_JSON: Final = re.compile(r"application/([a-z0-9!#$&^_.-]+\+)?json")


def _refuse_other_sites(headers: Headers, public_url: str) -> None:
    """Raise Problem for a request from a page of another site. Clients other than browsers send no such field."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        is_foreign = site not in ("same-origin", "none")
    else:
        # Browsers leave that field out on connections that they do not trust, such as plain HTTP in a local network.
        origin = headers.get("origin")
        own = {urlsplit(public_url).netloc, headers.get("host", "")}
        is_foreign = origin is not None and origin.partition("://")[2] not in own
    if is_foreign:  # guard: pages-of-other-sites
        detail = "A page of another site may not send this. Open the page here and send it."
        raise Problem(problems.FOREIGN_ORIGIN, detail)


def _refuse_other_media_types(headers: Headers) -> None:
    """Raise Problem for a body that is not JSON. A body without a media type is read as JSON."""
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return
    given = headers.getlist("content-type")
    media_types = [value.partition(";")[0].strip().lower() for value in given]
    if not all(map(_JSON.fullmatch, media_types)):  # guard: json-only
        detail, kind = "The body must be JSON: send it with Content-Type: application/json.", "application/json"
        raise Problem(problems.UNSUPPORTED_MEDIA_TYPE, detail, headers={"Accept-Post": kind}, accepted=[kind])
