"""Every error of this door: RFC 9457 problem details that ADP clients can read too.

The only place that knows HTTP status codes (house.md section 4, rule 6). A body never carries an exception's text or
the client's input; beside the RFC's members it has `success: false` and `error`, the two that clients of an ADP
registry read. `type` resolves to a page of this API (`GET /api/problems/{slug}`).
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from registry.core.listing import SearchUnavailable
from registry.store.errors import StoreUnavailable

MEDIA_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 5
TELL_SECONDS: Final = 10.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Kind:
    """One problem type: `title` is the same for every occurrence, `means` tells what to do about it."""

    slug: str
    status: int
    title: str
    means: str


BAD_REQUEST = Kind("bad-request", 400, "Bad request", "The request does not follow HTTP or the operation's rules.")
UNKNOWN_PARAMETER = Kind(
    "unknown-parameter",
    400,
    "Unknown parameter",
    "A query parameter is not known here, or is given twice. Nothing is ignored silently; `accepted` names those that "
    "the operation knows.",
)
INVALID_PARAMETER = Kind(
    "invalid-parameter", 400, "Invalid parameter", "A parameter has a value that the operation cannot use."
)
UNREADABLE_BODY = Kind(
    "unreadable-body",
    400,
    "Unreadable body",
    "The body is not one JSON value in UTF-8 within the limits: no NaN, no duplicate keys, no NUL, at most 32 levels.",
)
INVALID_BODY = Kind("invalid-body", 400, "Invalid body", "The body is JSON, but not of the shape the operation takes.")
INVALID_NAME = Kind(
    "invalid-name", 400, "Invalid host name", "The name is no public host name; `code` says which rule it breaks."
)
INVALID_CURSOR = Kind(
    "invalid-cursor",
    400,
    "Invalid cursor",
    "A cursor is only good for the query and filters it was made with. Start again without it.",
)
OPTED_OUT = Kind(
    "opted-out", 403, "Opted out", "The operator of this domain asked to be left out; it is neither visited nor listed."
)
NOT_FOUND = Kind("not-found", 404, "Not found", "There is nothing at this address.")
UNKNOWN_SERVICE = Kind("unknown-service", 404, "Unknown service", "No service is listed under this host.")
UNKNOWN_CAPABILITY = Kind(
    "unknown-capability", 404, "Unknown capability", "The service has no capability of this name."
)
NO_DETAIL = Kind(
    "no-detail",
    404,
    "No capability detail",
    "The capability is known, but no HTTP call of it: `reason` says why, `invocations` what is known. No endpoint is "
    "ever invented.",
)
METHOD_NOT_ALLOWED = Kind("method-not-allowed", 405, "Method not allowed", "`Allow` names the methods of this address.")
ALREADY_KNOWN = Kind(
    "already-registered", 409, "Already registered", "The host is known already; `status_url` tells how it fares."
)
UNTRANSLATABLE = Kind(
    "untranslatable",
    409,
    "Not translatable",
    "The format cannot say anything truthful of this service; `reasons` tells why. Nothing is invented to fill it.",
)
BODY_TOO_LARGE = Kind("body-too-large", 413, "Body too large", "The request body is larger than this API reads.")
NOT_LISTED = Kind(
    "not-listed",
    422,
    "Nothing to list",
    "The host was visited, or the document was read, and there is no agent service in it; `errors` says why.",
)
RATE_LIMITED = Kind("rate-limited", 429, "Too many requests", "Wait for the seconds in `Retry-After`.")
INTERNAL = Kind(
    "internal-error", 500, "Internal error", "A fault of this service. `instance` identifies it in the log."
)
UNAVAILABLE = Kind("unavailable", 503, "Unavailable", "The database or the index does not answer. Try again shortly.")

KINDS: Final[tuple[Kind, ...]] = (
    BAD_REQUEST, UNKNOWN_PARAMETER, INVALID_PARAMETER, UNREADABLE_BODY, INVALID_BODY, INVALID_NAME, INVALID_CURSOR,
    OPTED_OUT, NOT_FOUND, UNKNOWN_SERVICE, UNKNOWN_CAPABILITY, NO_DETAIL, METHOD_NOT_ALLOWED, ALREADY_KNOWN,
    UNTRANSLATABLE, BODY_TOO_LARGE, NOT_LISTED, RATE_LIMITED, INTERNAL, UNAVAILABLE,
)  # fmt: skip


class Problem(Exception):
    """Raised anywhere in this door. `detail` is safe text about this occurrence; `members` are extension members."""

    def __init__(self, kind: Kind, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = members


def body(kind: Kind, detail: str, instance: str, members: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The problem document. `members` may overrule `success` and `error` where the contract has another shape."""
    return {
        "type": f"/api/problems/{kind.slug}",
        "title": kind.title,
        "status": kind.status,
        "detail": detail,
        "instance": instance,
        "success": False,
        "error": detail,
        **(members or {}),
    }


def render(problem: Problem, instance: str) -> Response:
    content = orjson.dumps(body(problem.kind, problem.detail, instance, problem.members))
    headers = {"Cache-Control": "no-store", **problem.headers}
    return Response(content, problem.kind.status, headers, MEDIA_TYPE)


def instance_of(request: Request) -> str:
    """The request id as a URN; `Edge` gave it."""
    return f"urn:uuid:{request.scope['waypost.request_id']}"


def install(app: FastAPI) -> None:
    """Answer every error of `app` as a problem, those of the framework included."""

    async def on_error(request: Request, error: Exception) -> Response:
        return render(as_problem(request, error) or fault(), instance_of(request))

    # The last one is what the framework answers before it lets a fault of ours through to `Edge`, which logs it.
    for kind in (Problem, HTTPException, RequestValidationError, StoreUnavailable, SearchUnavailable, Exception):
        app.add_exception_handler(kind, on_error)


def as_problem(request: Request, error: Exception) -> Problem | None:
    """What a client is told; None for a fault of ours."""
    match error:
        case Problem():
            return error
        case HTTPException():
            return _from_http(request, error)
        case RequestValidationError():
            return _from_validation(error)
        case StoreUnavailable() | SearchUnavailable():
            _refused.tell(type(error).__name__, time.monotonic())
            return unavailable()
    return None


@dataclass(slots=True)
class Refused:
    """Tells of the first request that cannot be answered at once, and of those behind it every few seconds together:
    in an outage there are a hundred in a second."""

    since: int = 0
    silent_until: float = -math.inf

    def tell(self, error: str, now: float) -> None:
        """`now` in seconds of a clock that never goes back."""
        self.since += 1
        if now >= self.silent_until:
            log.warning("request.unavailable", error=error, requests=self.since)
            self.since, self.silent_until = 0, now + TELL_SECONDS


_refused = Refused()


def fault() -> Problem:
    return Problem(INTERNAL, "Something went wrong here.")


def unavailable() -> Problem:
    headers = {"Retry-After": str(RETRY_SECONDS)}
    return Problem(UNAVAILABLE, "The registry cannot answer at the moment.", headers=headers)


def _from_http(request: Request, error: HTTPException) -> Problem:
    if error.status_code == 404:
        return Problem(NOT_FOUND, "There is nothing at this address.")
    if error.status_code == 405:
        return Problem(METHOD_NOT_ALLOWED, "This address has no such method.", headers={"Allow": _allowed(request)})
    if error.status_code == 413:
        return Problem(BODY_TOO_LARGE, "The request body is too large.")
    return Problem(BAD_REQUEST, "The request cannot be understood.")


def _allowed(request: Request) -> str:
    """All methods of the address: the router itself only tells those of the first route that matches."""
    methods: set[str] = {"OPTIONS"} if request.url.path.startswith(("/api/", "/.well-known/")) else set()
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            methods |= {"GET", "HEAD"} if method == "GET" else {method}
    return ", ".join(sorted(methods))


def _from_validation(error: RequestValidationError) -> Problem:
    """Which parameter and which rule; never what was sent (`input` may hold what JSON cannot encode)."""
    faults = [f"{fault['loc'][-1]}: {_rule(fault)}" for fault in error.errors()[:20]]
    return Problem(INVALID_PARAMETER, "; ".join(faults), errors=faults)


def _rule(fault: Mapping[str, Any]) -> str:
    """Only messages of our own validators name a rule in words; pydantic's may repeat the input."""
    if fault["type"] == "missing":
        return "is required"
    message = str(fault["msg"])
    return message.removeprefix("Value error, ") if fault["type"] == "value_error" else "is not a usable value"
