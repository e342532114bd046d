"""Responses with a strong ETag, or 304 when the client's copy is current; their URLs and timestamps; pages or data.

FastAPI's `response_model` is used only for the OpenAPI document; encoding the JSON here halves the cost of a response.
Pages are sent only to clients that name `text/html`, as browsers do. `*/*` does not: programs without a preference send
it, and they must keep getting data.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, overload
from urllib.parse import quote

import orjson
from fastapi import Request, Response
from starlette.types import Message, Scope, Send

CACHED: Final = "public, max-age=60, stale-while-revalidate=300"
REVALIDATE: Final = "no-cache"
PAGE: Final = "public, max-age=3600"
NOT_STORED: Final = "no-store"
NEVER_KEPT: Final = "no-store, no-transform"
"""For answers that hold a secret. They are not compressed: the length of a compressed one could tell it (BREACH)."""

NEVER_SHARED: Final = "private, no-cache, no-transform"  # for answers at an address that is itself a secret


def json_response(request: Request, content: Any, **options: Any) -> Response:
    """Return `content` as JSON, as `encoded_response` does with its options."""
    return encoded_response(request, orjson.dumps(content), **options)


def data_response(request: Request, data: Any, **options: Any) -> Response:
    """Return `data` as ADP registries wrap it, as `encoded_response` does with its options."""
    return json_response(request, {"success": True, "data": data}, **options)


def secret_response(data: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return `data`, wrapped as by `data_response`, that may hold a secret: neither stored nor compressed."""
    body = orjson.dumps({"success": True, "data": data})
    return Response(body, status, {"Cache-Control": NEVER_KEPT, **(headers or {})}, "application/json")


def encoded_response(
    request: Request, body: bytes, *, status: int = 200, cache: str = CACHED,
    headers: Mapping[str, str] | None = None, media_type: str = "application/json",
) -> Response:  # fmt: skip
    """Return a body with an ETag (RFC 9110 section 8.8.3), or a 304 if If-None-Match has that ETag. Responses to
    methods other than GET, and with a status other than 200, get no ETag and `no-store`."""
    response_headers = {"Cache-Control": cache, **(headers or {})}
    if status != 200 or request.method != "GET":
        return Response(body, status, {**response_headers, "Cache-Control": "no-store"}, media_type)
    etag = f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'
    response_headers["ETag"] = etag
    conditions = request.headers.getlist("if-none-match")
    if conditions and matches_etag(conditions, etag):
        return Response(None, 304, response_headers)
    return Response(body, status, response_headers, media_type)


@overload
def timestamp(at: datetime) -> str: ...
@overload
def timestamp(at: datetime | None) -> str | None: ...
def timestamp(at: datetime | None) -> str | None:
    """Return a time as ISO 8601 in UTC with milliseconds and `Z`, as ADP registries write it."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def timestamps(dates: Mapping[str, str]) -> dict[str, str]:
    """Return stored dates (ISO 8601) as `timestamp` writes them."""
    return {name: timestamp(datetime.fromisoformat(at)) for name, at in dates.items()}


def rounded(value: float) -> float:
    """Return a value with four decimals. `round(value, 4)` works on the decimal digits and costs five times as much,
    and a response has a hundred of these."""
    return round(1e4 * value) / 1e4


@lru_cache(5_000)
def path_segment(text: str) -> str:
    """Return text percent-encoded as one segment of a path."""
    return quote(text, safe="")


def service_url(base: str, host: str) -> str:
    """Return the URL of a service; no character of a host name needs encoding in a path."""
    return f"{base}/api/services/{host}"


def capability_url(base: str, host: str, name: str) -> str:
    """Return the URL at which this registry serves the detail of a capability."""
    return f"{base}/api/services/{host}/capabilities/{path_segment(name)}"


def status_url(base: str, host: str) -> str:
    return f"{base}/api/services/{host}/status"


def matches_etag(fields: list[str], etag: str) -> bool:
    """Return True when If-None-Match contains the ETag, by weak comparison (RFC 9110 section 13.1.2)."""
    value = ",".join(fields)
    return value.strip() == "*" or etag in re.findall(r'(?:W/)?("[^"]*")', value)


HTML: Final = "text/html"
_MAX_ACCEPT_CHARS: Final = 1_000


def prefers_html(scope: Scope) -> bool:
    """Return True when `Accept` names HTML and gives nothing else a higher weight (RFC 9110 section 12.5.1)."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return len(accepted) <= _MAX_ACCEPT_CHARS and _prefers_html(accepted.decode("latin-1"))


@lru_cache(1_000)
def _prefers_html(accept: str) -> bool:
    weights = accepted_weights(accept)
    html = weights.pop(HTML, 0.0)
    # browsers name XHTML beside HTML, and no interface serves it
    others = (weight for kind, weight in weights.items() if not kind.startswith(("image/", "application/xhtml")))
    return html > 0 and html >= max(others, default=0.0)


def accepted_weights(field: str) -> dict[str, float]:
    """Return what a field such as Accept names, with the weights (RFC 9110 section 12.4.2)."""
    weights = {}
    for item in field.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        weights[name] = _weight_of(parameters)
    return weights


def _weight_of(parameters: Iterable[str]) -> float:
    """Return the parameter `q`: 1 if absent, 0 if it is not a number from 0 to 1."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                weight = float(value)
            except ValueError:
                return 0.0
            return weight if 0.0 <= weight <= 1.0 else 0.0
    return 1.0


def with_vary(headers: Iterable[tuple[bytes, bytes]], field: bytes) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response with one more field in Vary."""
    every = list(headers)
    vary = [value for name, value in every if name == b"vary"]
    return [*((name, value) for name, value in every if name != b"vary"), (b"vary", b", ".join([*vary, field]))]


def varying(send: Send) -> Send:
    """Return a `send` that adds `Accept` to the response's Vary, so that caches keep the representations apart."""

    async def send_varying(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": with_vary(message.get("headers", ()), b"Accept")}
        await send(message)

    return send_varying
