"""The body of one HTTP response: collected in chunks, decoded and capped."""

import re
import zlib

from crawler.body_memory import FREE_PER_VISIT, BodyMemoryReservation, NoBodyMemory


class UnusableAnswer(Exception):
    """The server answered, but the answer cannot be used. `reason` is a key of outcomes.UNUSABLE."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


_TOKEN = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,20}")


def coding_of(field: str) -> str:
    """Return "identity" or "gzip", the codings that were offered. Raise UnusableAnswer("encoding") for others."""
    codings = [coding for part in field.split(",") if (coding := part.strip().lower()) not in ("", "identity")]
    if not codings:
        return "identity"
    if codings in (["gzip"], ["x-gzip"]):
        return "gzip"
    # guard: unknown-encoding
    raise UnusableAnswer("encoding", codings[0] if len(codings) == 1 and _TOKEN.fullmatch(codings[0]) else "other")


class Body:
    """Collects a body in chunks and keeps at most `cap` decoded bytes; `full` is set if there are more.

    gzip must be exactly one complete member. The decoder's output is limited to the remaining room, so a bomb is never
    unpacked.
    """

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

    def decode(self, coding: str) -> None:
        if coding == "gzip":
            self._gzip = zlib.decompressobj(wbits=31)

    def feed(self, chunk: bytes) -> None:
        if self.full:
            return
        if self._gzip is None:
            self._keep(chunk)
        else:
            self._has_input = self._has_input or bool(chunk)
            self._unpack(self._gzip, chunk)

    def finish(self) -> None:
        """Raise UnusableAnswer for a truncated gzip stream. An empty body needs no gzip frame (204, 304)."""
        if self._gzip is not None and self._has_input and not self.full and not self._gzip.eof:
            raise UnusableAnswer("gzip_truncated")  # guard: gzip-complete

    def _unpack(self, gzip: "zlib._Decompress", chunk: bytes) -> None:
        if gzip.eof and chunk:
            raise UnusableAnswer("gzip_trailing_data")
        try:
            self._keep(gzip.decompress(chunk, self._cap + 1 - self._size))  # guard: gzip-cap
        except zlib.error:
            raise UnusableAnswer("gzip_corrupt") from None
        if gzip.unused_data:  # guard: gzip-one-member
            raise UnusableAnswer("gzip_trailing_data")

    def _keep(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        self.full = self._size > self._cap
        if self._size > FREE_PER_VISIT:
            self._reserve_memory()

    def _reserve_memory(self) -> None:
        try:
            self._memory.grow_to(self._size)
        except NoBodyMemory:
            raise UnusableAnswer("no_room") from None
