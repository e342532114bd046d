"""Every error of the API: RFC 9457 problem details that ADP clients can read too.

A body never carries an exception's text or a value that the client sent. Besides the RFC's members it has `success:
false` and `error`, which clients of ADP registries read. `type` is the URL of a page of this API (`GET
/api/problems/{slug}`).
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final

import orjson
import structlog
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ConfigDict, Field, with_config
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Match

from registry.actions.mirroring.apply import DecidedAtOrigin
from registry.core.model.listing import SearchUnavailable
from registry.edge.metrics import LIMIT
from registry.edge.responses import service_url
from registry.outages import LINE_SECONDS
from registry.wiring import StoreUnavailable

MEDIA_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 5

log = structlog.get_logger(__name__)


@with_config(ConfigDict(extra="allow"))
@dataclass(frozen=True, slots=True)
class ProblemType:
    """A kind of error."""

    slug: str
    status: Annotated[int, Field(description="The HTTP status.")]
    title: Annotated[str, Field(description="The same for every occurrence.")]
    means: Annotated[str, Field(description="What it means and what to do about it.")]


# fmt: off
BAD_REQUEST = ProblemType("bad-request", 400, "Bad request",
    "The request does not follow HTTP or the operation's rules.")
UNKNOWN_PARAMETER = ProblemType("unknown-parameter", 400, "Unknown parameter",
    "A query parameter is unknown to the operation, or is given twice. Nothing is ignored silently; `accepted` "
    "lists the known ones.")
INVALID_PARAMETER = ProblemType("invalid-parameter", 400, "Invalid parameter",
    "A parameter has a value that the operation cannot use.")
INVALID_VALUE = ProblemType("invalid-value", 422, "Invalid value",
    "A parameter or body has a value outside the bounds of the operation, where its protocol demands this status.")
UNREADABLE_BODY = ProblemType("unreadable-body", 400, "Unreadable body",
    "The body is not one JSON value in UTF-8 within the limits: no NaN, no duplicate keys, no NUL, at most 32 levels.")
INVALID_BODY = ProblemType("invalid-body", 400, "Invalid body",
    "The body is JSON, but not of the shape that the operation accepts.")
INVALID_NAME = ProblemType("invalid-name", 400, "Invalid host name",
    "The name is not a public host name; `code` says which rule it breaks.")
INVALID_CURSOR = ProblemType("invalid-cursor", 400, "Invalid cursor",
    "A cursor is valid only for the query and filters that it was issued for. Start again without it.")
CURSOR_EXPIRED = ProblemType("cursor-expired", 410, "Cursor expired",
    "The events after this cursor are not all kept any more. Read everything again from `dump`, then follow the "
    "feed from the cursor that its manifest names.")
UNAUTHORIZED = ProblemType("unauthorized", 401, "Unauthorized",
    "The operation needs a token that is valid for what it changes.")
FORBIDDEN = ProblemType("forbidden", 403, "Forbidden", "The token is valid, but not for this.")
BLOCKED = ProblemType("blocked", 403, "Blocked", "An operator of this registry keeps this host from being visited.")
OPTED_OUT = ProblemType("opted-out", 403, "Opted out",
    "The operator of this domain opted out; it is neither visited nor listed.")
GONE = ProblemType("gone", 410, "Gone",
    "The operator of this site opted out, so nothing is shown of it. `way_back` says how the operator can return.")
MIRRORED = ProblemType("mirrored", 403, "Mirrored",
    "This registry mirrors another one, which decides about its entries: ask there. `origin` is the address of the "
    "host's entry in that registry.")
NOT_FOUND = ProblemType("not-found", 404, "Not found", "There is no resource at this address.")
UNKNOWN_SERVICE = ProblemType("unknown-service", 404, "Unknown service", "No service is listed under this host.")
UNKNOWN_CAPABILITY = ProblemType("unknown-capability", 404, "Unknown capability",
    "The service has no capability of this name.")
UNKNOWN_DOCUMENT = ProblemType("unknown-document", 404, "Unknown document",
    "The host has no current document of this id.")
NO_BYTES = ProblemType("no-bytes", 404, "No bytes",
    "The document is known, and its bytes are not shown: `reason` says why. `not_kept`: bytes are stored only of "
    "documents that are found, negative, malformed or of a foreign scheme. `forbidden`: the site asks that no "
    "copies are shown.")
NOT_THEN = ProblemType("not-then", 404, "Nothing of that time",
    "The service cannot be shown as of that time: `reason` says why, and `first_version_at` from when on documents "
    "of the host are known.")
METHOD_NOT_ALLOWED = ProblemType("method-not-allowed", 405, "Method not allowed",
    "`Allow` lists the methods of this address.")
REQUEST_TIMEOUT = ProblemType("request-timeout", 408, "Request timeout",
    "The request was not received in time. Send it again, and faster.")
ALREADY_KNOWN = ProblemType("already-registered", 409, "Already registered",
    "The host was visited already, and `code` says what forbids another visit now. `retry_at` says until when; "
    "`status_url` has the results of the last visit.")
REQUEST_IN_PROGRESS = ProblemType("request-in-progress", 409, "Request in progress",
    "The first request with this `Idempotency-Key` is still being worked on. Send it again after `Retry-After`.")
KEY_REUSED = ProblemType("idempotency-key-reused", 422, "Idempotency-Key reused",
    "The key was used for a request with another body in the last 24 hours. Use a new key for each request.")
UNTRANSLATABLE = ProblemType("untranslatable", 409, "Not translatable",
    "The format cannot express anything true about this service; `reasons` says why. Nothing is invented.")
BODY_TOO_LARGE = ProblemType("body-too-large", 413, "Body too large",
    "The request body is larger than this API accepts.")
FOREIGN_ORIGIN = ProblemType("foreign-origin", 403, "Foreign origin",
    "Web pages of this origin may not call this interface.")
NOT_ACCEPTABLE = ProblemType("not-acceptable", 406, "Not acceptable",
    "`Accept` allows no media type that this interface answers with.")
UNSUPPORTED_MEDIA_TYPE = ProblemType("unsupported-media-type", 415, "Unsupported media type",
    "The body has to be of the media type that `detail` names.")
MISDIRECTED = ProblemType("misdirected", 421, "Misdirected request",
    "`Host` is not a name of this registry; its operator can allow more.")
RANGE_NOT_SATISFIABLE = ProblemType("range-not-satisfiable", 416, "Range not satisfiable",
    "The file ends before the requested range begins; `Content-Range` says how long it is.")
NOT_LISTED = ProblemType("not-listed", 422, "Nothing to list",
    "The host was visited, or the document was read, without finding an agent service; `errors` says why.")
RATE_LIMITED = ProblemType("rate-limited", 429, "Too many requests",
    "Wait for the number of seconds in `Retry-After`; `limit` names the limit that was reached.")
HEAD_TOO_LARGE = ProblemType("head-too-large", 431, "Request head too large",
    "Send fewer or shorter header fields, or a shorter URL.")
INTERNAL = ProblemType("internal-error", 500, "Internal error",
    "A fault of this registry. `instance` identifies it in the log.")
UNAVAILABLE = ProblemType("unavailable", 503, "Unavailable",
    "The database or the search index does not answer. Try again shortly.")
MAINTENANCE = ProblemType("maintenance", 503, "Maintenance",
    "The registry is in maintenance: reads and opt-outs work, everything else that writes is refused until it ends. "
    "`detail` says more.")
TOO_MANY_CONNECTIONS = ProblemType("too-many-connections", 503, "Too many connections",
    "The number of connections is limited, for each client and in all. Use one connection for several requests.")
BUSY = ProblemType("busy", 503, "Busy",
    "Too many large documents are waiting to be worked on, or this one took too long. Try again later.")
# fmt: on

PROBLEM_TYPES: Final[tuple[ProblemType, ...]] = (
    BAD_REQUEST, UNKNOWN_PARAMETER, INVALID_PARAMETER, INVALID_VALUE, UNREADABLE_BODY, INVALID_BODY, INVALID_NAME,
    INVALID_CURSOR, CURSOR_EXPIRED, UNAUTHORIZED, FORBIDDEN, BLOCKED, OPTED_OUT, MIRRORED, FOREIGN_ORIGIN, NOT_FOUND,
    GONE, UNKNOWN_SERVICE, UNKNOWN_CAPABILITY, UNKNOWN_DOCUMENT, NO_BYTES, NOT_THEN, METHOD_NOT_ALLOWED,
    NOT_ACCEPTABLE, REQUEST_TIMEOUT, ALREADY_KNOWN, REQUEST_IN_PROGRESS, KEY_REUSED, UNTRANSLATABLE, BODY_TOO_LARGE,
    UNSUPPORTED_MEDIA_TYPE, RANGE_NOT_SATISFIABLE, MISDIRECTED, NOT_LISTED, RATE_LIMITED, HEAD_TOO_LARGE, INTERNAL,
    UNAVAILABLE, MAINTENANCE, TOO_MANY_CONNECTIONS, BUSY,
)  # fmt: skip


_EVERYWHERE: Final = (UNKNOWN_PARAMETER, RATE_LIMITED, INTERNAL, UNAVAILABLE)
_SAMPLE_ID: Final = "urn:uuid:0b8f4e9a-6f0e-4a51-9c51-3f6b1f6f4d11"


class Problem(Exception):
    """An error to be answered. `detail` describes this occurrence, without client input; `members` are extensions."""

    def __init__(
        self, kind: ProblemType, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = members

    def __reduce__(self) -> tuple[Any, ...]:
        """Let pickle carry the problem to another process with its members."""
        return partial(type(self), headers=self.headers, **self.members), (self.kind, self.detail)


def invalid_cursor(why: object, parameter: str = "cursor") -> Problem:
    """Return the refusal of an unusable cursor, with the reason."""
    return Problem(INVALID_CURSOR, f"{parameter}: start again without it: {why}.")


def body(kind: ProblemType, detail: str, instance: str, members: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the problem document. `members` may override `success` and `error` where ADP has another shape."""
    return {
        "type": f"/api/problems/{kind.slug}", "title": kind.title, "status": kind.status, "detail": detail,
        "instance": instance, "success": False, "error": detail, **(members or {}),
    }  # fmt: skip


def documented(
    kinds: Iterable[ProblemType], members: Callable[[ProblemType], Mapping[str, Any] | None]
) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI `responses` of an operation for its own problems and those of every operation. `members`
    returns further members of the example of a problem type."""
    by_status: dict[int | str, dict[str, Any]] = {}
    for kind in (*kinds, *_EVERYWHERE):
        entry = by_status.setdefault(kind.status, {"description": "", "content": {MEDIA_TYPE: {"examples": {}}}})
        entry["description"] = " ".join(filter(None, [entry["description"], kind.means]))
        media = entry["content"][MEDIA_TYPE]
        media["schema"] = {"$ref": "#/components/schemas/Problem"}
        sample = body(kind, kind.title, _SAMPLE_ID, members(kind))
        media["examples"][kind.slug] = {"summary": kind.title, "value": sample}
    return by_status


def render(problem: Problem, instance: str) -> Response:
    content = orjson.dumps(body(problem.kind, problem.detail, instance, problem.members))
    headers = {"Cache-Control": "no-store", **problem.headers}
    return Response(content, problem.kind.status, headers, MEDIA_TYPE)


def instance_of(request: Request) -> str:
    """Return the request id, assigned by `RequestMiddleware`, as a URN."""
    return f"urn:uuid:{request.scope['waypost.request_id']}"


def install(app: Starlette) -> None:
    """Answer every error of `app`, including the framework's, with problem details."""

    async def on_error(request: Request, error: Exception) -> Response:
        problem = as_problem(request, error) or fault()
        request.scope[LIMIT] = problem.members.get("limit")
        return render(problem, instance_of(request))

    # For `Exception` the framework sends this response, then raises the error again, and `RequestMiddleware` logs it.
    expected = (Problem, HTTPException, RequestValidationError, DecidedAtOrigin, StoreUnavailable, SearchUnavailable)
    for kind in (*expected, Exception):
        app.add_exception_handler(kind, on_error)


def as_problem(request: Request, error: Exception) -> Problem | None:
    """Return the problem that a client may see; None for a fault of this registry."""
    match error:
        case Problem():
            return error
        case HTTPException():
            return _from_http(request, error)
        case RequestValidationError():
            # the parameters and broken rules, never the values (`input` may contain text that JSON cannot encode)
            faults = [f"{fault['loc'][-1]}: {broken_rule(fault)}" for fault in error.errors()[:20]]
            return Problem(INVALID_PARAMETER, "; ".join(faults), errors=faults)
        case DecidedAtOrigin():
            origin = error.origin if error.host is None else service_url(error.origin, error.host)
            return Problem(MIRRORED, f"The registry that this one mirrors decides about it: {origin}", origin=origin)
        case StoreUnavailable() | SearchUnavailable():
            if not error.is_outage:
                _unavailable_log.record(error, time.monotonic())
            return unavailable()
    return None


@dataclass(slots=True)
class UnavailableLog:
    """Log the first request that cannot be answered at once, later ones as a count every LINE_SECONDS. Outages are
    logged elsewhere (registry/outages.py)."""

    since: int = 0
    silent_until: float = -math.inf

    def record(self, error: Exception, now: float) -> None:
        """Count a request; `now` in monotonic seconds."""
        self.since += 1
        if now >= self.silent_until:
            log.warning("request.unavailable", reason=str(error), requests=self.since)
            self.since, self.silent_until = 0, now + LINE_SECONDS


_unavailable_log = UnavailableLog()


def fault() -> Problem:
    return Problem(INTERNAL, "An internal error occurred.")


def unavailable() -> Problem:
    headers = {"Retry-After": str(RETRY_SECONDS)}
    return Problem(UNAVAILABLE, "The registry is temporarily unavailable.", headers=headers)


def too_many_at_once() -> Problem:
    """Return the problem for a client with too many waiting requests."""
    detail = "Too many requests of this client are waiting. Send fewer at once."
    return Problem(RATE_LIMITED, detail, headers={"Retry-After": "1"}, limit="at-once")


def busy(detail: str) -> Problem:
    return Problem(BUSY, detail, headers={"Retry-After": str(RETRY_SECONDS)})


def _from_http(request: Request, error: HTTPException) -> Problem:
    if error.status_code == 404:
        return Problem(NOT_FOUND, "There is no resource at this address.")
    if error.status_code == 405:
        headers = {"Allow": _allowed(request)}
        return Problem(METHOD_NOT_ALLOWED, "The method is not allowed at this address.", headers=headers)
    if error.status_code == 413:
        return Problem(BODY_TOO_LARGE, "The request body is too large.")
    return Problem(BAD_REQUEST, "The request is malformed.")


def _allowed(request: Request) -> str:
    """Return all methods of the path: the router itself reports only those of the first matching route."""
    methods: set[str] = {"OPTIONS"} if request.scope.get("waypost.open") else set()
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            methods |= {"GET", "HEAD"} if method == "GET" else {method}
    return ", ".join(sorted(methods))


def broken_rule(fault: Mapping[str, Any]) -> str:
    """Return what pydantic's fault broke: a message of this API's validators, or one made of the declared limits.
    Pydantic's messages could repeat the input."""
    if fault["type"] == "value_error":
        return str(fault["msg"]).removeprefix("Value error, ")
    return _RULES.get(fault["type"], "is invalid").format_map(fault.get("ctx", {}))


_RULES: Final = {
    "missing": "is required",
    "extra_forbidden": "has a member that is not defined here",
    "string_type": "must be a text",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "list_type": "must be an array",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
}
"""Pydantic's type of a fault -> message, filled with the declared limits."""
