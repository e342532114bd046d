"""How an answer leaves: bytes built once, a strong ETag, 304 where the client has them already.

`response_model` only feeds the OpenAPI document; building the bytes here instead of through it makes an answer about
twice as cheap.
"""

import hashlib
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

import orjson
from fastapi import Request, Response

CACHED: Final = "public, max-age=60, stale-while-revalidate=300"
FRESH: Final = "no-cache"


def answer(
    request: Request,
    content: Any,
    *,
    status: int = 200,
    cache: str = CACHED,
    headers: dict[str, str] | None = None,
    media_type: str = "application/json",
) -> Response:
    """JSON with an ETag (RFC 9110 section 8.8.3) for 200, or 304 where If-None-Match has it."""
    body = orjson.dumps(content)
    sent = {"Cache-Control": cache, **(headers or {})}
    if status != 200 or request.method != "GET":
        return Response(body, status, {**sent, "Cache-Control": "no-store"}, media_type)
    tag = f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'
    sent["ETag"] = tag
    given = request.headers.getlist("if-none-match")
    if given and has_tag(given, tag):
        return Response(None, 304, sent)
    return Response(body, status, sent, media_type)


def moment(at: datetime | None) -> str | None:
    """ISO 8601 in UTC with milliseconds and `Z`, as ADP registries write times."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def rounded(share: float) -> float:
    """Four decimals. `round(share, 4)` goes through the number's digits, which costs five times as much, and an answer
    has a hundred of these."""
    return round(1e4 * share) / 1e4


@lru_cache(5_000)
def segment(text: str) -> str:
    """One segment of a path."""
    return quote(text, safe="")


def service_url(base: str, host: str) -> str:
    """A host's letters all stand for themselves in a path."""
    return f"{base}/api/services/{host}"


def capability_url(base: str, host: str, name: str) -> str:
    """Where this registry serves the detail of a capability."""
    return f"{base}/api/services/{host}/capabilities/{segment(name)}"


def status_url(base: str, host: str) -> str:
    return f"{base}/api/services/{host}/status"


def has_tag(fields: list[str], tag: str) -> bool:
    """Weak comparison (RFC 9110 section 13.1.2): `*`, or the tag in the list, `W/` ignored."""
    given = ",".join(fields)
    return given.strip() == "*" or tag in re.findall(r'(?:W/)?("[^"]*")', given)
