"""The query path: POST /multi-search over kept connections, and an answer or a clear refusal within one second.

The official client opens a connection for each call and blocks a thread meanwhile; docs/adr/0012 has the figures.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import orjson
import structlog
from pydantic import ValidationError

from registry.core.listing import SearchUnavailable
from registry.search.meilisearch.answers import Answers, Result

log = structlog.get_logger(__name__)

BUDGET_SECONDS: Final = 0.85
WAIT_SECONDS: Final = 0.5
"""For everything, so that the door refuses within one second; and how much of it may go by in waiting for a place.
The rest is for the call."""

RETRY_WITH_SECONDS: Final = 0.15
"""A retry with less time left than this would only load a server that is slow already."""

LATE_SECONDS: Final = 0.05
GRACE_SECONDS: Final = 0.1
"""A process that was busy with something else looks at the clock after so long; the answer may be lying there."""

AT_ONCE: Final = 8
"""Questions under way from one process. The server answers with as many threads as it has cores; more of them would
queue there, out of our sight, until all are late."""

TRIPS_AFTER: Final = 5
REST_SECONDS: Final = 2.0
REFUSED_REST_SECONDS: Final = 10.0
"""After so many failures in a row the engine is left alone for a while, then tried with one question. A key that was
refused will not be accepted a moment later."""

_PACE_WEIGHT: Final = 0.1

_NO_ANSWER: Final = (httpx2.HTTPError, OSError, AttributeError)
"""What a call ends with where there is none. The last one: on uvloop a connection that is reset while it is opened has
no socket any more when the client below asks it for its address (anyio 4.16)."""

_HEADERS: Final = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
"""Answers are mostly numbers as base64, some hundred thousand bytes to somewhere near: to compress them costs more than
to send them, and comes in chunks, the last of which waits for an acknowledgement that is delayed by 40 ms."""


def deadline() -> float:
    """The moment of the monotonic clock by which a question that comes now has its answer."""
    return time.monotonic() + BUDGET_SECONDS


class EmbedderMissing(Exception):
    """The index has no vectors of the model that was asked with; its words can still be searched."""


class IndexMissing(SearchUnavailable):
    """The engine answers and has no index of this name."""


@dataclass(slots=True)
class Breaker:
    """Closed; or open until a moment, then trying with one question at a time."""

    failures: int = 0
    open_until: float = 0.0
    trying: bool = False

    def admits(self, now: float) -> bool:
        if self.failures < TRIPS_AFTER:
            return True
        if now < self.open_until or self.trying:
            return False
        self.trying = True
        return True

    def succeeded(self) -> None:
        self.failures = 0

    def failed(self, now: float, rest: float, *, trips: bool = False) -> None:
        self.failures = TRIPS_AFTER if trips else self.failures + 1
        self.open_until = now + rest


class Asker:
    """Asks one engine, on one event loop. Whatever keeps the engine from answering is SearchUnavailable in time."""

    def __init__(self, url: str, key: str | None, *, at_once: int = AT_ONCE) -> None:
        self._client = httpx2.AsyncClient(
            base_url=url,
            headers=_HEADERS | ({"Authorization": f"Bearer {key}"} if key else {}),
            limits=httpx2.Limits(max_connections=at_once, max_keepalive_connections=at_once, keepalive_expiry=30),
            timeout=None,  # each call has its deadline, see in_time
            trust_env=False,
            follow_redirects=False,
        )
        self._at_once = at_once
        self._places = asyncio.Semaphore(at_once)
        self._waiting = 0
        self._pace = 0.0
        self._breaker = Breaker()

    async def ask(self, queries: Sequence[Mapping[str, Any]], by: float | None = None) -> list[Result]:
        """The results, in the order of the queries, by that moment of the monotonic clock (else see `deadline`).

        Raises EmbedderMissing and SearchUnavailable.
        """
        by = by or deadline()
        body = orjson.dumps({"queries": list(queries)})
        async with self._place():
            if not self._breaker.admits(time.monotonic()):
                raise SearchUnavailable("the search engine is away")
            try:
                return await self._answer(body, by)
            finally:
                self._breaker.trying = False

    async def close(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """Who cannot hope for a place in time is told so at once, not when it is too late."""
        if self._waiting * self._pace / self._at_once > WAIT_SECONDS:
            raise SearchUnavailable("too many searches at the moment")
        self._waiting += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            raise SearchUnavailable("too many searches at the moment") from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._places.release()

    async def _answer(self, body: bytes, by: float) -> list[Result]:
        started = time.monotonic()
        try:
            async with in_time(by):
                response = await self._post(body, by)
        except _NO_ANSWER as error:  # TimeoutError is an OSError
            self._breaker.failed(time.monotonic(), REST_SECONDS)
            log.warning("meilisearch.no_answer", error=type(error).__name__, seconds=time.monotonic() - started)
            raise SearchUnavailable("the search engine is away or too slow at the moment") from None
        took = time.monotonic() - started
        self._pace += (took - self._pace) * (_PACE_WEIGHT if self._pace else 1.0)
        return self._read(response)

    async def _post(self, body: bytes, by: float) -> httpx2.Response:
        """Once more where time is left: a kept connection may have been closed, a server be starting."""
        try:
            response = await self._client.post("/multi-search", content=body)
            if response.status_code < 500 or _is_shed(response):
                return response
        except _NO_ANSWER:
            if time.monotonic() > by - RETRY_WITH_SECONDS:
                raise
        return await self._client.post("/multi-search", content=body)

    def _read(self, response: httpx2.Response) -> list[Result]:
        """Codes decide, messages never do (the error codes of the engine's API)."""
        if response.status_code == 200:
            with suppress(ValidationError):
                results = Answers.model_validate_json(response.content).results
                self._breaker.succeeded()
                return results
        code = code_of(response)
        now = time.monotonic()
        if code == "invalid_search_embedder":
            self._breaker.succeeded()
            raise EmbedderMissing
        if _is_shed(response):
            raise SearchUnavailable("too many searches at the moment")
        if code == "index_not_found":  # the usual state before the first build, told by /readyz
            self._breaker.succeeded()
            raise IndexMissing("the index has not been built yet")
        log.error("meilisearch.refused", status=response.status_code, code=code)
        if response.status_code in (401, 403):
            self._breaker.failed(now, REFUSED_REST_SECONDS, trips=True)
            raise SearchUnavailable("the search engine does not accept the key of this registry")
        self._breaker.failed(now, REST_SECONDS)
        raise SearchUnavailable("the search engine did not answer")


@asynccontextmanager
async def in_time(by: float) -> AsyncIterator[None]:
    """TimeoutError at that moment of the monotonic clock; but an engine is not blamed for our own coming late."""
    loop = asyncio.get_running_loop()
    at = loop.time() + by - time.monotonic()

    def expire() -> None:
        now = loop.time()
        limit.reschedule(now + (GRACE_SECONDS if now - at > LATE_SECONDS else 0))

    async with asyncio.timeout(None) as limit:
        expiry = loop.call_at(at, expire)
        try:
            yield
        finally:
            expiry.cancel()


def code_of(response: httpx2.Response) -> str:
    try:
        return str(orjson.loads(response.content)["code"])
    except (orjson.JSONDecodeError, TypeError, KeyError):
        return "unreadable"


def _is_shed(response: httpx2.Response) -> bool:
    return response.status_code == 503 and code_of(response) == "too_many_search_requests"
