"""Compression of responses: zstd (RFC 8878, RFC 9659) and gzip, by the client's Accept-Encoding.

Only whole bodies are compressed: streams (Server-Sent Events, files) pass unchanged and at once. A compressed response
has the ETag of the uncompressed one, weakened (RFC 9110 section 8.8.3.3), because the content is the same in other
bytes. A response with a secret opts out with `Cache-Control: no-transform`, because its compressed length could
disclose it.
"""

import asyncio
import gzip
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import lru_cache, partial
from typing import Final

import zstandard
from starlette.types import Message, Send

from registry.edge.responses import accepted_weights, with_vary

MIN_BYTES: Final = 1_000  # bodies below this fit into one packet anyway
MAX_INLINE_BYTES: Final = 256 * 1024
"""Bytes of a body that is compressed on the event loop; a larger one takes milliseconds, in a thread."""

ENCODED: Final = "waypost.encoded"
"""Key of a start message whose response is sent again and again, whole: a mapping in which its forms are kept."""

_VARY: Final = b"Accept-Encoding"
_MAX_ACCEPT_BYTES: Final = 256
_WHOLE_TYPES: Final = frozenset({"application/json", "application/xml", "application/yaml", "application/javascript"})
_AS_IT_IS: Final = frozenset({b"content-encoding", b"content-range", b"accept-ranges"})
_NO_BODY: Final = frozenset({204, 205, 206, 304})

Headers = Iterable[tuple[bytes, bytes]]
Form = tuple[list[tuple[bytes, bytes]], bytes]  # headers and body of a response
Forms = MutableMapping[str, Form]  # forms of a response by coding; the empty one is the body as it is


def _zstd(body: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(body)


_CODINGS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "zstd": _zstd,
    "gzip": partial(gzip.compress, compresslevel=6, mtime=0),  # no time: equal bodies give equal bytes
}
"""The preferred one first."""


class Compressing:
    """An ASGI `send` that compresses responses to one request before it passes them on."""

    def __init__(self, send: Send, request_headers: Headers) -> None:
        self._send = send
        self._conditions = b""
        self._coding = ""
        self._start: Message | None = None
        accepted = b""
        for name, value in request_headers:
            if name == b"accept-encoding":
                accepted = accepted + b"," + value if accepted else value
            elif name == b"if-none-match":
                self._conditions += value
        if accepted:
            self._coding = coding_for(accepted)

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if message["status"] == 304:
                await self._send({**message, "headers": self._not_modified(message["headers"])})
            elif ENCODED in message or is_compressible(message["status"], message["headers"]):
                self._start = message
            else:
                await self._send(message)
            return
        if self._start is not None:
            start, self._start = self._start, None
            if not message.get("more_body"):
                headers, body = await self._form(start, message.get("body", b""))
                await self._send({**start, "headers": headers})
                await self._send({**message, "body": body})
                return
            await self._send(start)
        await self._send(message)

    async def _form(self, start: Message, body: bytes) -> Form:
        """Return the headers and the body of a whole response for this client."""
        kept: Forms | None = start.get(ENCODED)
        if kept is not None and (form := kept.get(self._coding)) is not None:
            return form
        form = await _encoded(start, body, self._coding)
        if kept is not None:
            kept[self._coding] = form
        return form

    def _not_modified(self, headers: Headers) -> list[tuple[bytes, bytes]]:
        """Return the headers of a 304 with the ETag that its 200 would have. A cache updates only stored responses with
        the same ETag (RFC 9111 section 4.3.4). The body is not here, so the ETag of the client's copy decides."""
        entity_tagged = (
            (name, b"W/" + value if name == b"etag" and self._coding and b"W/" + value in self._conditions else value)
            for name, value in headers
        )
        return with_vary(entity_tagged, _VARY)


async def _encoded(start: Message, body: bytes, coding: str) -> Form:
    """Return the headers and the body of a whole response, compressed if that makes it smaller."""
    if not is_compressible(start["status"], start["headers"]):
        return start["headers"], body
    headers = with_vary(start["headers"], _VARY)
    if not coding or len(body) < MIN_BYTES:
        return headers, body
    compress = _CODINGS[coding]
    # guard: compression-apart
    encoded = compress(body) if len(body) <= MAX_INLINE_BYTES else await asyncio.to_thread(compress, body)
    if len(encoded) >= len(body):
        return headers, body
    weakened = (
        (name, b"W/" + value if name == b"etag" and not value.startswith(b"W/") else value)
        for name, value in headers
        if name != b"content-length"
    )
    coded = ((b"content-length", str(len(encoded)).encode()), (b"content-encoding", coding.encode()))
    return [*weakened, *coded], encoded


def coding_for(accepted: bytes) -> str:
    """Return the coding for a value of Accept-Encoding (RFC 9110 section 12.5.3), empty for none. The highest weight
    wins, zstd in a tie because it costs least. Values longer than any program sends are ignored."""
    return _coding_for(accepted) if len(accepted) <= _MAX_ACCEPT_BYTES else ""


@lru_cache(1_000)
def _coding_for(accepted: bytes) -> str:
    weights = accepted_weights(accepted.decode("latin-1"))
    every = weights.get("*", 0.0)
    best, best_weight = "", 0.0
    for coding in _CODINGS:
        weight = weights.get(coding, every)
        if weight > best_weight:
            best, best_weight = coding, weight
    return best if best_weight >= weights.get("identity", 0.0) else ""


def is_compressible(status: int, headers: Headers) -> bool:
    """Return True for an uncompressed text that is not served in ranges and may be transformed."""
    kind = b""
    for name, value in headers:
        if name == b"content-type":
            kind = value
        elif name in _AS_IT_IS or (name == b"cache-control" and b"no-transform" in value):  # guard: not-compressed
            return False
    return status not in _NO_BODY and _is_text(kind)


@lru_cache(1_000)
def _is_text(content_type: bytes) -> bool:
    kind = content_type.partition(b";")[0].strip().lower().decode("latin-1")
    is_text = kind in _WHOLE_TYPES or kind.startswith("text/") or kind.endswith(("+json", "+xml", "+yaml"))
    return is_text and kind != "text/event-stream"
