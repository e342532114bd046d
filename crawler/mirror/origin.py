"""The origin of a mirror, over the crawler's transport: the same address guard, pins, caps and deadlines.

The operator has named the origin and only its API is read, so there is no robots.txt, pause or budget. Redirects stay
inside its registrable domain. Its answers raise only ReadError.
"""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Final, Self

from crawler.politeness import BlockBudgets, RequestPacer
from crawler.resources import CrawlResources
from crawler.seeds.online import ReadError, readable
from crawler.sender import InterruptedVisit
from crawler.session import FetchSession
from registry.core.model.documents import FetchResult, Outcome, Post, Probe, Purpose
from registry.core.reading.foreign_lists import ForeignList, cut_list, reason_of
from registry.core.reading.reader import Unreadable
from registry.core.visiting.shares import DomainBudget
from registry.settings import Settings

RANGE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of a part per request: lost if it breaks off, and held in memory."""

REQUEST_SECONDS: Final = 90.0
"""Seconds for one request, including a long poll."""

WAIT_SECONDS: Final = 20
_CONNECTION: Final = timedelta(minutes=10)
_LONGEST_PAUSE: Final = 3_600.0


class MirrorOrigin(CrawlResources):
    """The connection to the origin, renewed from time to time. An async context manager."""

    def __init__(self, url: str, settings: Settings, stop: asyncio.Event | None = None) -> None:
        """Open nothing yet. `url`: base URL of the registry. Raise BadSource if it must not be read,
        guards.BadSetup."""
        limits = {
            "request_timeout": REQUEST_SECONDS,
            "host_deadline": _CONNECTION.total_seconds(),
            "request_delay": 0.0,
        }
        super().__init__(settings.model_copy(update=limits), stop)
        self.block_budgets = _NoBudgets(0)
        self.url = readable(url.rstrip("/") + "/", self.guard.connect_to.names).rstrip("/")
        self._stack = AsyncExitStack()
        self._session: FetchSession | None = None
        self._renew_at = datetime.now(UTC)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()
        await super().__aexit__(kind, error, trace)

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        return self

    async def listed(
        self, path: str, member: str, *, question: bytes | None = None, cap: int, max_entries: int
    ) -> ForeignList:
        """Return the answer to a GET, or to a POST of `question`, cut into the entries of its list. Raise ReadError."""
        post = None
        if question is not None:
            post = Post("", question, (("Content-Type", "application/json"),))
        probe = Probe(self.url + path, Purpose.POINTER, "S5", "application/json", cap, post=post)
        body = (await self._answer(probe)).body
        try:
            return await asyncio.to_thread(cut_list, body, member, max_entries=max_entries)
        except Unreadable as refusal:
            raise ReadError(f"the answer cannot be read: {reason_of(refusal)}") from None

    async def file(self, path: str, *, cap: int) -> bytes:
        """Return the body of a GET. Raise ReadError."""
        return (await self._answer(Probe(self.url + path, Purpose.POINTER, "S5", "*/*", cap))).body

    async def span(self, path: str, start: int, end: int, etag: str) -> bytes:
        """Return the bytes from `start` up to, not including, `end` of a file with this ETag. Raise ReadError."""
        probe = Probe(self.url + path, Purpose.POINTER, "S5", "*/*", end - start, span=(start, end - 1, etag))
        fetched = await self._answer(probe, 206)
        stated = fetched.headers.get("content-range", "")
        if not stated.startswith(f"bytes {start}-{end - 1}/") or len(fetched.body) != end - start:
            raise ReadError("the answer is not the range that was asked for", 206)
        return fetched.body

    async def _answer(self, probe: Probe, status: int = 200) -> FetchResult:
        try:
            fetched = await (await self._connected()).fetch(probe)
        except InterruptedVisit:
            raise asyncio.CancelledError from None
        if fetched.failure is not None:
            await self._disconnect()
            reason = " ".join(filter(None, (fetched.failure.value.replace("_", " "), fetched.reason)))
            raise ReadError(reason, is_too_large=fetched.failure is Outcome.TOO_LARGE)
        if fetched.status != status:
            raise ReadError(
                f"the answer was {fetched.status}", fetched.status, _seconds(fetched.headers.get("retry-after"))
            )
        return fetched

    async def _connected(self) -> FetchSession:
        now = datetime.now(UTC)
        if self._session is None or now >= self._renew_at:
            await self._disconnect()
            self._renew_at = now + _CONNECTION / 2
            pacer = RequestPacer(0, DomainBudget(1_000_000))
            session = FetchSession(self, pacer, now + 3 * _CONNECTION, ())
            self._session = await self._stack.enter_async_context(session)
        return self._session

    async def _disconnect(self) -> None:
        self._session = None
        await self._stack.aclose()


class _NoBudgets(BlockBudgets):
    """Counts no requests, because the origin agreed to be copied."""

    def is_spent(self, key: str) -> bool:
        return False

    def record_request(self, key: str) -> None:
        pass


def _seconds(field: str | None) -> float | None:
    """Return a Retry-After in seconds (RFC 9110 section 10.2.3), at most an hour; None for a date or nonsense."""
    return (
        min(float(field), _LONGEST_PAUSE) if field and field.isascii() and field.isdigit() and len(field) < 10 else None
    )
