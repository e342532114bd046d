"""The body of one HTTP response: collected in chunks, decoded, capped, and counted in a memory budget of all visits.

Each visit may hold a small uncounted amount; typical visits rarely need more. Beyond it, memory is reserved from one
budget of the process while a body is read and until the visit is recorded, so that large answers cannot exhaust the
memory. If the budget is exhausted, the visit ends as SKIPPED and is repeated within the day. A visit never waits for
memory, because a slow host with a reservation could then block all others.
"""

import re
import zlib
from collections.abc import Mapping
from typing import Final, Self

from registry.core.model.documents import Post
from registry.core.visiting.tool_lists import EVENT_STREAM, data_of, reply_of

FREE_PER_VISIT: Final = 64 * 1024  # bytes that each visit may hold without a reservation
MIN_BUDGET: Final = 8 * 1024 * 1024
"""Minimum budget of the process, in bytes. Parsing a body takes several times its size in addition."""

BUDGET_PER_VISIT: Final = 8 * 1024
"""Bytes per concurrent visit, if their sum exceeds the minimum: few of thousands of visits hold large bodies."""

LARGEST_BODY: Final = 4 * 1024 * 1024
"""Bytes of the largest body that a visit requests. Limits grow when larger files are read (sitemaps)."""

_TOKEN: Final = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,20}")
_BLANK_LINE: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_END: Final = 4


class UnusableAnswer(Exception):
    """The server answered, but the answer cannot be used. `reason` is a key of outcomes.UNUSABLE."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


class BodyMemoryBudget:
    """The bytes left for large bodies. Each visit has a reservation of it."""

    def __init__(self, max_visits: int) -> None:
        """`max_visits`: maximum number of concurrent visits."""
        self.left = max(MIN_BUDGET, max_visits * BUDGET_PER_VISIT)
        self.largest = LARGEST_BODY

    def expect(self, cap: int) -> None:
        """Extend the budget before a body of up to `cap` bytes, larger than any before, is read."""
        if cap > self.largest:
            self.left += cap - self.largest
            self.largest = cap


class BodyMemoryReservation:
    """The memory reserved by one visit: for the bodies it keeps (`kept` bytes), and for the one it is reading."""

    def __init__(self, budget: BodyMemoryBudget) -> None:
        self._budget = budget
        self._reserved = 0
        self.kept = 0

    def grow_to(self, size: int) -> None:
        """Reserve memory for `size` bytes of the current body. Raise UnusableAnswer("no_room")."""
        needed = max(0, self.kept + size - FREE_PER_VISIT)
        if needed - self._reserved > self._budget.left:  # guard: body-memory
            raise UnusableAnswer("no_room")
        self._budget.left += self._reserved - needed
        self._reserved = needed

    def keep(self, size: int) -> None:
        """Set the bytes of all bodies that the visit keeps, and release those of the current body. Never refused: the
        bodies are in memory already."""
        self.kept = size
        self._budget.left += self._reserved
        self._reserved = max(0, size - FREE_PER_VISIT)
        self._budget.left -= self._reserved


class Body:
    """Collects a body in chunks and keeps at most `cap` decoded bytes; `full` is set if there are more. gzip must be
    exactly one complete member. The decoder's output is limited to the remaining room, so a bomb is never unpacked."""

    def __init__(self, cap: int, memory: BodyMemoryReservation) -> None:
        self._cap = cap
        self._memory = memory
        self._parts: list[bytes] = []
        self._size = 0
        self._gzip: zlib._Decompress | None = None
        self._has_input = False
        self.full = False

    @property
    def head(self) -> bytes:
        return b"".join(self._parts)[: self._cap]

    def decode(self, field: str) -> None:
        """Unpack the body as its Content-Encoding says. Raise UnusableAnswer("encoding"): only gzip was offered."""
        codings = [coding for part in field.split(",") if (coding := part.strip().lower()) not in ("", "identity")]
        if codings in (["gzip"], ["x-gzip"]):
            self._gzip = zlib.decompressobj(wbits=31)
        elif codings:  # guard: unknown-encoding
            is_plain = len(codings) == 1 and _TOKEN.fullmatch(codings[0])
            raise UnusableAnswer("encoding", codings[0] if is_plain else "other")

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes. Raise UnusableAnswer for invalid gzip, or if there is no memory for them."""
        if self.full:
            return
        data = chunk
        if self._gzip is not None and chunk:
            self._has_input = True
            if self._gzip.eof:
                raise UnusableAnswer("gzip_trailing_data")
            try:
                data = self._gzip.decompress(chunk, self._cap + 1 - self._size)  # guard: gzip-cap
            except zlib.error:
                raise UnusableAnswer("gzip_corrupt") from None
        self._parts.append(data)
        self._size += len(data)
        self.full = self._size > self._cap
        if self._size > FREE_PER_VISIT:
            self._memory.grow_to(self._size)
        if self._gzip is not None and self._gzip.unused_data:  # guard: gzip-one-member
            raise UnusableAnswer("gzip_trailing_data")

    def finish(self) -> None:
        """Raise UnusableAnswer for a truncated gzip stream. An empty body needs no gzip frame (204, 304)."""
        if self._gzip is not None and self._has_input and not self.full and not self._gzip.eof:
            raise UnusableAnswer("gzip_truncated")  # guard: gzip-complete


class ReplyWatch:
    """Watches an event stream for the reply to one request (HTML standard, "Server-sent events"). Each byte is searched
    once, and each event parsed once."""

    __slots__ = ("_event", "_request_id", "_searched")

    def __init__(self, request_id: int | None) -> None:
        self._request_id = request_id
        self._event = bytearray()
        self._searched = 0

    @classmethod
    def of(cls, post: Post | None, fields: Mapping[str, str]) -> Self | None:
        """Return the watch of an answer; None for a GET, a body in a content coding, or another media type."""
        is_stream = post is not None and fields.get("content-type", "").lower().startswith(EVENT_STREAM)
        return cls(post.request_id) if post and is_stream and not fields.get("content-encoding") else None

    def is_over(self, chunk: bytes) -> bool:
        """Take the next bytes of the stream. Return whether it contains the reply, or no reply is expected."""
        if self._request_id is None:
            return True
        self._event += chunk
        while (end := _BLANK_LINE.search(self._event, max(0, self._searched - _LONGEST_END))) is not None:
            event, self._searched = bytes(self._event[: end.start()]), 0
            del self._event[: end.end()]
            if reply_of(data_of(event), self._request_id) is not None:
                return True
        self._searched = len(self._event)
        return False
