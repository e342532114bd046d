"""Runs queries: POST /multi-search over pooled connections, with results or SearchUnavailable within one second.

The official client opens a connection per call and blocks a thread meanwhile; docs/adr/0012 has the figures.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import orjson
from pydantic import ValidationError

from registry.core.model.listing import SearchAway, SearchUnavailable
from registry.search.meilisearch.admin import AWAY, MultiSearchResponse, QueryResult

BUDGET_SECONDS: Final = 0.85
WAIT_SECONDS: Final = 0.5
"""Total time of a search, so that the API answers within one second, and how much of it may be spent waiting for one of
the concurrent slots. The rest is for the call."""

RETRY_WITH_SECONDS: Final = 0.15  # no retry with less time left than this: it would only add load to a slow server
LATE_SECONDS: Final = 0.05
GRACE_SECONDS: Final = 0.1
"""When the event loop runs the timeout this late (LATE), the call gets GRACE more: its response may already be there.
"""

MAX_CONCURRENT: Final = 8
"""Concurrent searches of one process. The server uses as many threads as it has cores; more searches would only queue
there, where this process cannot see them, until all are late."""

TRIPS_AFTER: Final = 5
REST_SECONDS: Final = 2.0
REFUSED_REST_SECONDS: Final = 10.0
"""After this many consecutive failures the circuit breaker opens for REST_SECONDS, then one search is tried. A refused
key opens it at once and for longer."""

_PACE_WEIGHT: Final = 0.1

_NO_ANSWER: Final = (httpx2.HTTPError, OSError, AttributeError)
"""Errors of a call without a response. AttributeError: on uvloop a connection that is reset while it opens has no
socket left when the HTTP client asks for its address (anyio 4.16)."""

_HEADERS: Final = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
"""No compression: responses are mostly base64 numbers, some hundred kilobytes, and the server is usually near.
Compressing costs more than sending. It also makes the server send chunks, and the last one waits 40 ms for a delayed
ACK."""


def deadline() -> float:
    """Return the monotonic deadline of a search that starts now."""
    return time.monotonic() + BUDGET_SECONDS


class EmbedderMissing(Exception):
    """The index has no vectors of the query's model; it can still be searched by words."""


class IndexMissing(SearchUnavailable):
    """The engine responds but has no index of this name."""


@dataclass(slots=True)
class CircuitBreaker:
    """Closed, or open until `open_until`, then half-open: one search at a time is tried."""

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

    def failed(self, now: float, pause: float, *, trips: bool = False) -> None:
        self.failures = TRIPS_AFTER if trips else self.failures + 1
        self.open_until = now + pause


class QueryClient:
    """Searches one engine, on one event loop. Every failure of the engine becomes SearchUnavailable by the deadline."""

    def __init__(self, url: str, key: str | None, *, at_once: int = MAX_CONCURRENT) -> None:
        self._client = httpx2.AsyncClient(
            base_url=url,
            headers=_HEADERS | ({"Authorization": f"Bearer {key}"} if key else {}),
            limits=httpx2.Limits(max_connections=at_once, max_keepalive_connections=at_once, keepalive_expiry=30),
            timeout=None,  # each call has a separate deadline, see in_time
            trust_env=False,
            follow_redirects=False,
        )
        self._at_once = at_once
        self._slots = asyncio.Semaphore(at_once)
        self._waiting = 0
        self._mean_seconds = 0.0
        self._breaker = CircuitBreaker()

    async def multi_search(self, queries: Sequence[Mapping[str, Any]], until: float | None = None) -> list[QueryResult]:
        """Return the results in the order of the queries. `until` is a monotonic time; the default is `deadline()`.
        Raise EmbedderMissing or SearchUnavailable."""
        until = until or deadline()
        body = orjson.dumps({"queries": list(queries)})
        async with self._slot():
            if not self._breaker.admits(time.monotonic()):
                raise SearchAway("the search engine is away")
            try:
                return await self._answer(body, until)
            finally:
                self._breaker.trying = False

    async def close(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """Wait for a slot. Raise SearchUnavailable at once if the queue is too long."""
        if self._waiting * self._mean_seconds / self._at_once > WAIT_SECONDS:
            raise SearchUnavailable("too many searches at the moment")
        self._waiting += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._slots.acquire()
        except TimeoutError:
            raise SearchUnavailable("too many searches at the moment") from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._slots.release()

    async def _answer(self, body: bytes, until: float) -> list[QueryResult]:
        started = time.monotonic()
        try:
            async with in_time(until):
                response = await self._post(body, until)
        except _NO_ANSWER as error:  # TimeoutError is an OSError
            self._breaker.failed(time.monotonic(), REST_SECONDS)
            AWAY.failed(f"{type(error).__name__} after {time.monotonic() - started:.2f} s")
            raise SearchAway("the search engine is away or too slow at the moment") from None
        elapsed = time.monotonic() - started
        self._mean_seconds += (elapsed - self._mean_seconds) * (_PACE_WEIGHT if self._mean_seconds else 1.0)
        return self._read(response)

    async def _post(self, body: bytes, until: float) -> httpx2.Response:
        """Send the request; retry once if time is left, because the server may have closed the connection or be
        starting."""
        try:
            response = await self._client.post("/multi-search", content=body)
            if response.status_code < 500 or _is_overloaded(response):
                return response
        except _NO_ANSWER:
            if time.monotonic() > until - RETRY_WITH_SECONDS:
                raise
        return await self._client.post("/multi-search", content=body)

    def _read(self, response: httpx2.Response) -> list[QueryResult]:
        """Return the results, or raise by the error code of the engine's API, never by its message."""
        if response.status_code == 200:
            with suppress(ValidationError):
                results = MultiSearchResponse.model_validate_json(response.content).results
                self._breaker.succeeded()
                AWAY.worked()
                return results
        code = code_of(response)
        now = time.monotonic()
        if code == "invalid_search_embedder":
            self._breaker.succeeded()
            raise EmbedderMissing
        if _is_overloaded(response):
            raise SearchUnavailable("too many searches at the moment")
        if code == "index_not_found":  # normal before the first build; /readyz reports it
            self._breaker.succeeded()
            raise IndexMissing("the index has not been built yet")
        AWAY.failed(f"refused with status {response.status_code}: {code}")
        if response.status_code in (401, 403):
            self._breaker.failed(now, REFUSED_REST_SECONDS, trips=True)
            raise SearchAway("the search engine does not accept the key of this registry")
        self._breaker.failed(now, REST_SECONDS)
        raise SearchAway("the search engine did not answer")


@asynccontextmanager
async def in_time(until: float) -> AsyncIterator[None]:
    """Raise TimeoutError at this monotonic time. If the event loop itself was late, allow GRACE_SECONDS more."""
    loop = asyncio.get_running_loop()
    expires_at = loop.time() + until - time.monotonic()

    def expire() -> None:
        now = loop.time()
        limit.reschedule(now + (GRACE_SECONDS if now - expires_at > LATE_SECONDS else 0))

    async with asyncio.timeout(None) as limit:
        expiry = loop.call_at(expires_at, expire)
        try:
            yield
        finally:
            expiry.cancel()


def code_of(response: httpx2.Response) -> str:
    try:
        return str(orjson.loads(response.content)["code"])
    except (orjson.JSONDecodeError, TypeError, KeyError):
        return "unreadable"


def _is_overloaded(response: httpx2.Response) -> bool:
    return response.status_code == 503 and code_of(response) == "too_many_search_requests"
