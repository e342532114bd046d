"""Files that never change, sent whole or from one range of bytes (RFC 9110 section 14).

Starlette's FileResponse is not used: it answers bad ranges with plain text, and for HEAD, which the middleware passes
on as GET, it would read the whole file.
"""

import asyncio
import re
from pathlib import Path
from typing import Final

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from registry.edge.limiter import charge, of_file
from registry.edge.problems import RANGE_NOT_SATISFIABLE, Problem
from registry.edge.responses import matches_etag

IMMUTABLE: Final = "public, max-age=31536000, immutable"

_CHUNK: Final = 256 * 1024
_ONE_RANGE: Final = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))", re.IGNORECASE)


def file_response(request: Request, path: Path, *, size: int, etag: str, media_type: str) -> Response:
    """Return the file of `size` bytes, or the requested range: 200, 206 or 304. `etag` is quoted.

    One range is honoured. Several ranges, malformed ones, other units and a range whose `If-Range` is not this ETag are
    ignored, as RFC 9110 section 14.2 allows. Charges the client for the bytes. Raise Problem (416, 429).
    """
    headers = {"ETag": etag, "Cache-Control": IMMUTABLE, "Accept-Ranges": "bytes"}
    conditions = request.headers.getlist("if-none-match")
    if conditions and matches_etag(conditions, etag):
        return Response(None, 304, headers)
    wanted = _wanted(request, size, etag)
    sent = wanted or range(size)
    is_head: bool = request.scope.get("waypost.head", False)
    if not is_head:
        charge(request, of_file(len(sent)))
    headers |= {"Content-Type": media_type, "Content-Length": str(len(sent))}
    if wanted is not None:
        headers["Content-Range"] = f"bytes {wanted.start}-{wanted.stop - 1}/{size}"
    return _FileRange(path, sent, 200 if wanted is None else 206, headers, is_head=is_head)


def _wanted(request: Request, size: int, etag: str) -> range | None:
    """Return the requested bytes; None for the whole file. Raise Problem when the range is outside the file."""
    matched = _ONE_RANGE.fullmatch(request.headers.get("range", "").strip())
    if matched is None or request.headers.get("if-range", etag) != etag:
        return None
    first, last, suffix = matched.groups()
    if suffix is not None:
        start, end = max(0, size - int(suffix)), size
    else:
        start, end = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < int(first):
            return None  # invalid, so ignored (section 14.1.1)
    if start >= end:
        headers = {"Content-Range": f"bytes */{size}"}
        raise Problem(RANGE_NOT_SATISFIABLE, f"The file has {size} bytes.", headers=headers)
    return range(start, end)


class _FileRange(Response):
    """Sends a part of a file in chunks; at most one is in memory."""

    def __init__(self, path: Path, sent: range, status: int, headers: dict[str, str], *, is_head: bool) -> None:
        super().__init__(None, status, headers)
        self._path, self._sent, self._is_head = path, sent, is_head

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        file = await asyncio.to_thread(self._path.open, "rb")
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            left = 0 if self._is_head else len(self._sent)
            await asyncio.to_thread(file.seek, self._sent.start)
            while left:
                chunk = await asyncio.to_thread(file.read, min(_CHUNK, left))
                if not chunk:
                    raise OSError("the file is shorter than its manifest says")
                left -= len(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await asyncio.to_thread(file.close)
