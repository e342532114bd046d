"""The Meilisearch engine when it is down, slow, failing or overloaded: refusals in time, circuit breaker, recovery."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from registry.core.model.listing import Filters, SearchUnavailable
from registry.core.ranking import parse_query
from registry.search.backend import IndexState, make_document
from registry.search.meilisearch import query_client
from registry.search.meilisearch.backend import MeiliBackend
from registry.search.meilisearch.query_client import TRIPS_AFTER, CircuitBreaker, QueryClient
from tests.search.capture import Answer, Call, Capture, Script, captured
from tests.search.contract import MAIL
from tests.search.test_meilisearch_calls import KEYS, answer, build
from tests.support.hang import HANG_SECONDS

pytestmark = pytest.mark.usefixtures("long_time_limits")

BUDGET, WAIT = query_client.BUDGET_SECONDS, query_client.WAIT_SECONDS  # the values that `long_time_limits` replaces


@pytest.fixture
def refusing_url() -> Iterator[str]:
    """Yield a URL whose port refuses connections: it is bound, so that no process listens on it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@asynccontextmanager
async def asking(script: Script, **options: Any) -> AsyncIterator[tuple[QueryClient, Capture]]:
    """Yield a client of a server that answers by the script, and the server."""
    with captured(script) as server:
        client = QueryClient(server.url, "key", **options)
        yield client, server
        await client.close()


def test_a_refusal_takes_less_than_a_second() -> None:
    assert WAIT < BUDGET < 1 - query_client.GRACE_SECONDS


async def test_an_unavailable_engine_is_an_error_and_never_an_empty_answer(refusing_url: str) -> None:
    backend = MeiliBackend(refusing_url, KEYS, "services")
    assert (await backend.health()).state is IndexState.AWAY
    with capture_logs() as logs:
        for _ in range(TRIPS_AFTER + 1):
            with pytest.raises(SearchUnavailable):
                await backend.candidates(parse_query("email"), Filters(), 10)
        with pytest.raises(SearchUnavailable):
            await backend.upsert([make_document(MAIL)])
        with pytest.raises(SearchUnavailable):
            await build(backend)
    assert len(logs) <= 1, logs  # the line of the outage
    await backend.close()


@pytest.mark.usefixtures("recordings")
async def test_a_query_to_a_hanging_engine_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_client, "BUDGET_SECONDS", 0.05)
    leave = threading.Event()

    def hang(_: Call) -> Answer:
        leave.wait(60)
        return answer(29)

    async with asking(hang) as (client, _):
        with pytest.raises(SearchUnavailable, match="too slow"):
            await client.multi_search([])
        leave.set()


async def test_a_response_that_arrived_while_the_loop_was_busy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop checks the time after the deadline, while the response has arrived and is some turns of the loop
    away. That is no failure of the engine."""
    monkeypatch.setattr(query_client, "GRACE_SECONDS", 60.0)
    async with query_client.in_time(time.monotonic()):
        time.sleep(2 * query_client.LATE_SECONDS)  # noqa: ASYNC251  (this loop does something else)
        for _ in range(20):
            await asyncio.sleep(0)


async def test_a_late_query_without_a_response_times_out() -> None:
    with pytest.raises(TimeoutError):
        async with query_client.in_time(time.monotonic()):
            time.sleep(2 * query_client.LATE_SECONDS)  # noqa: ASYNC251
            await asyncio.Event().wait()


@pytest.mark.usefixtures("recordings")
async def test_a_failed_query_is_retried_once() -> None:
    answers = iter([Answer(500, {"code": "internal"}), answer(29)])
    async with asking(lambda _: next(answers)) as (client, _):
        assert len(await client.multi_search([])) == 2


@pytest.mark.parametrize("fault", [ConnectionResetError(), AttributeError("getpeername"), httpx2.ReadError("")])
async def test_a_broken_connection_is_reported_as_unavailable(refusing_url: str, fault: Exception) -> None:
    """The second exception comes from below the client: see `asking`."""

    async def breaks(*_: object, **__: object) -> None:
        raise fault

    client = QueryClient(refusing_url, "key")
    with pytest.MonkeyPatch.context() as patched, pytest.raises(SearchUnavailable):
        patched.setattr(httpx2.AsyncClient, "post", breaks)
        await client.multi_search([])
    await client.close()


@pytest.mark.parametrize("body", [None, {}, [], {"results": [{"hits": [{"r": "no base64"}]}]}, "text"])
async def test_an_unreadable_response_is_reported_as_unavailable(body: object) -> None:
    async with asking(lambda _: Answer(200, body)) as (client, _):
        with pytest.raises(SearchUnavailable):
            await client.multi_search([])


@pytest.mark.usefixtures("recordings")
@pytest.mark.parametrize(
    ("number", "questions", "calls", "says"),
    [
        (40, 1, 1, "too many"),  # refused by load: not retried
        (None, TRIPS_AFTER + 10, 2 * TRIPS_AFTER, None),  # repeated failures open the circuit breaker
        (32, 5, 1, None),  # a refused key opens it at once
    ],
)
async def test_a_failing_engine_is_not_asked_again_and_again(
    number: int | None, questions: int, calls: int, says: str | None
) -> None:
    """`number`: of the recorded response."""
    failure = Answer(500, {"code": "internal"}) if number is None else answer(number)
    async with asking(lambda _: failure) as (client, server):
        for _ in range(questions):
            with pytest.raises(SearchUnavailable, match=says):
                await client.multi_search([])
        assert len(server.calls) == calls


def test_the_circuit_breaker_closes_after_a_success() -> None:
    breaker = CircuitBreaker()
    for _ in range(TRIPS_AFTER):
        assert breaker.admits(10.0)
        breaker.failed(10.0, 2.0)
    assert not breaker.admits(11.9)
    assert breaker.admits(12.0)
    assert not breaker.admits(12.0)  # one query at a time probes
    breaker.failed(12.0, 2.0)
    breaker.trying = False
    assert not breaker.admits(13.9)
    assert breaker.admits(14.0)
    breaker.succeeded()
    breaker.trying = False
    assert breaker.admits(14.0) and breaker.admits(14.0)


@pytest.mark.usefixtures("recordings")
async def test_concurrent_queries_are_limited() -> None:
    """The server holds each query until three have arrived, so that they are concurrent."""
    meet = threading.Barrier(3, timeout=HANG_SECONDS)

    def script(_: Call) -> Answer:
        meet.wait()
        return answer(29)

    async with asking(script, at_once=3) as (client, server):
        results = await asyncio.gather(*(client.multi_search([]) for _ in range(12)))
        assert (len(results), server.most_at_once) == (12, 3)
