"""Read the parameters of the MCP registry's API with its limits and statuses (official server 1.8.8).

As there, unknown parameters are ignored and the first of repeated ones counts: clients send more parameters than the
API has, and refusals would make them useless. An empty value counts as absent; some clients send an empty `cursor`.
"""

import base64
import binascii
import json
import re
from datetime import UTC, datetime
from typing import Final

from fastapi import Request

from registry.actions.queries.mcp_servers import McpServerQuery
from registry.edge.problems import INVALID_CURSOR, INVALID_PARAMETER, INVALID_VALUE, Problem

MAX_LIMIT: Final = 100
DEFAULT_LIMIT: Final = 30
MIN_SEARCH: Final = 3
MAX_TEXT: Final = 255
MAX_CURSOR: Final = 1_000
START: Final = ("", "")

_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-]\d\d:\d\d))", re.ASCII
)  # RFC 3339 section 5.6
_BOOLEANS: Final = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}


def list_query(request: Request) -> McpServerQuery:
    """Return the query. Raise Problem: 400 for an impossible cursor, time or combination, 422 for one out of bounds."""
    since = _text(request, "updated_since")
    updated_since = _moment(since) if since else None
    wanted = include_deleted(request)
    if updated_since is not None and wanted is False:
        raise Problem(INVALID_PARAMETER, "include_deleted: must not be false with updated_since")
    cursor = _first(request, "cursor")
    return McpServerQuery(
        after=read_cursor(cursor) if cursor else START,
        limit=_limit(_first(request, "limit")),
        part=_search(request),
        version=_text(request, "version") or None,
        updated_since=updated_since,
        include_deleted=updated_since is not None or wanted is True,
    )


def include_deleted(request: Request) -> bool | None:
    """Return the flag; None when it is not given. Raise Problem."""
    text = _first(request, "include_deleted")
    if text and text.lower() not in _BOOLEANS:
        raise Problem(INVALID_VALUE, "include_deleted: must be true or false")
    return _BOOLEANS[text.lower()] if text else None


def write_cursor(name: str, version: str) -> str:
    """Return the place after a row as URL-safe text without padding: the official importer sends it unescaped."""
    return base64.urlsafe_b64encode(json.dumps([name, version], separators=(",", ":")).encode()).decode().rstrip("=")


def read_cursor(text: str) -> tuple[str, str]:
    """Return the place that `write_cursor` wrote. Raise Problem."""
    try:
        if len(text) > MAX_CURSOR or not re.fullmatch("[A-Za-z0-9_-]+", text):
            raise ValueError(text)
        place = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        place = None
    if not (isinstance(place, list) and len(place) == 2 and all(isinstance(part, str) for part in place)):
        raise Problem(INVALID_CURSOR, "cursor: is not from this list; start again without one")
    return place[0], place[1]


def _first(request: Request, name: str) -> str:
    return next(iter(request.query_params.getlist(name)), "")


def _text(request: Request, name: str) -> str:
    text = _first(request, name)
    if len(text) > MAX_TEXT:
        raise Problem(INVALID_VALUE, f"{name}: must have at most {MAX_TEXT} characters")
    return text


def _limit(text: str) -> int:
    if not text:
        return DEFAULT_LIMIT
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= MAX_LIMIT:
        raise Problem(INVALID_VALUE, f"limit: must be a whole number, 1 to {MAX_LIMIT}")
    return int(text)


def _search(request: Request) -> str:
    """Return the text of `search`, or of `q`, which clients send as well."""
    search, other = _text(request, "search").strip(), _text(request, "q").strip()
    if search and other and search != other:
        raise Problem(INVALID_PARAMETER, "q: is another name of search, and must not differ from it")
    part = search or other
    if (part and len(part) < MIN_SEARCH) or (not part and (_first(request, "search") or _first(request, "q"))):
        raise Problem(INVALID_VALUE, f"search: must have at least {MIN_SEARCH} characters")
    return part


def _moment(text: str) -> datetime:
    match = _TIME.fullmatch(text)
    try:
        if match is None:
            raise ValueError(text)
        day, time, fraction, offset = match.groups()
        written = f"{day}T{time}.{(fraction or '0')[:6].ljust(6, '0')}{offset or '+00:00'}"
        return datetime.fromisoformat(written).astimezone(UTC)
    except (ValueError, OverflowError):
        detail = "updated_since: must be a time of RFC 3339 such as 2026-01-31T12:00:00Z"
        raise Problem(INVALID_PARAMETER, detail) from None
