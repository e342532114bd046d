"""The Meilisearch engine when it is away, slow, ill or crowded: refused in time, left alone, asked again, healed."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator

import httpx2
import pytest

from registry.core.listing import Filters, SearchUnavailable
from registry.core.ranking import ask
from registry.search.backend import IndexState, make_document
from registry.search.meilisearch import asking
from registry.search.meilisearch.asking import TRIPS_AFTER, Asker, Breaker
from registry.search.meilisearch.backend import MeiliBackend
from tests.search.capture import Answer, Call, captured
from tests.search.contract import MAIL
from tests.search.test_meilisearch_calls import KEYS, answer, build

pytestmark = pytest.mark.usefixtures("patient")

BUDGET, WAIT = asking.BUDGET_SECONDS, asking.WAIT_SECONDS  # as they are outside of these tests


@pytest.fixture
def nobody() -> Iterator[str]:
    """Where nobody listens: the port is bound, so that nobody begins to, and whoever connects is refused."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_refusing_takes_less_than_a_second() -> None:
    assert WAIT < BUDGET < 1 - asking.GRACE_SECONDS


async def test_an_engine_that_is_away_is_an_error_never_an_empty_answer(nobody: str) -> None:
    backend = MeiliBackend(nobody, KEYS, "services")
    assert (await backend.health()).state is IndexState.AWAY
    for _ in range(TRIPS_AFTER + 1):
        with pytest.raises(SearchUnavailable):
            await backend.candidates(ask("email"), Filters(), 10)
    with pytest.raises(SearchUnavailable):
        await backend.upsert([make_document(MAIL)])
    with pytest.raises(SearchUnavailable):
        await build(backend)
    await backend.close()


@pytest.mark.usefixtures("recordings")
async def test_an_engine_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "BUDGET_SECONDS", 0.05)
    leave = threading.Event()

    def hang(_: Call) -> Answer:
        leave.wait(60)
        return answer(29)

    with captured(hang) as server:
        asker = Asker(server.url, "key")
        with pytest.raises(SearchUnavailable, match="too slow"):
            await asker.ask([])
        leave.set()
        await asker.close()


async def test_an_answer_that_came_while_we_were_busy_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline is over when the loop comes to look, and the answer lies there, some turns of the loop away: that is
    not the engine's fault."""
    monkeypatch.setattr(asking, "GRACE_SECONDS", 60.0)
    async with asking.in_time(time.monotonic()):
        time.sleep(2 * asking.LATE_SECONDS)  # noqa: ASYNC251  (this loop does something else)
        for _ in range(20):
            await asyncio.sleep(0)


async def test_who_comes_late_does_not_wait_for_long() -> None:
    with pytest.raises(TimeoutError):
        async with asking.in_time(time.monotonic()):
            time.sleep(2 * asking.LATE_SECONDS)  # noqa: ASYNC251
            await asyncio.Event().wait()


@pytest.mark.usefixtures("recordings")
async def test_a_fault_is_tried_once_more() -> None:
    answers = iter([Answer(500, {"code": "internal"}), answer(29)])
    with captured(lambda _: next(answers)) as server:
        asker = Asker(server.url, "key")
        assert len(await asker.ask([])) == 2
        await asker.close()


@pytest.mark.parametrize("fault", [ConnectionResetError(), AttributeError("getpeername"), httpx2.ReadError("")])
async def test_a_connection_that_breaks_is_no_fault_of_ours(nobody: str, fault: Exception) -> None:
    """The second one comes from below the client: see `asking`."""

    async def breaks(*_: object, **__: object) -> None:
        raise fault

    asker = Asker(nobody, "key")
    with pytest.MonkeyPatch.context() as patched, pytest.raises(SearchUnavailable):
        patched.setattr(httpx2.AsyncClient, "post", breaks)
        await asker.ask([])
    await asker.close()


@pytest.mark.parametrize("body", [None, {}, [], {"results": [{"hits": [{"r": "no base64"}]}]}, "text"])
async def test_an_answer_that_cannot_be_read_is_none(body: object) -> None:
    with captured(lambda _: Answer(200, body)) as server:
        asker = Asker(server.url, "key")
        with pytest.raises(SearchUnavailable):
            await asker.ask([])
        await asker.close()


@pytest.mark.usefixtures("recordings")
async def test_a_server_that_sheds_is_not_asked_again() -> None:
    with captured(lambda _: answer(40)) as server:
        asker = Asker(server.url, "key")
        with pytest.raises(SearchUnavailable, match="too many"):
            await asker.ask([])
        assert len(server.calls) == 1
        await asker.close()


async def test_an_engine_that_fails_again_and_again_is_left_alone_for_a_while() -> None:
    with captured(lambda _: Answer(500, {"code": "internal"})) as server:
        asker = Asker(server.url, "key")
        for _ in range(TRIPS_AFTER + 10):
            with pytest.raises(SearchUnavailable):
                await asker.ask([])
        assert len(server.calls) == 2 * TRIPS_AFTER
        await asker.close()


@pytest.mark.usefixtures("recordings")
async def test_a_key_that_is_refused_is_not_sent_again_and_again() -> None:
    with captured(lambda _: answer(32)) as server:
        asker = Asker(server.url, "key")
        for _ in range(5):
            with pytest.raises(SearchUnavailable):
                await asker.ask([])
        assert len(server.calls) == 1
        await asker.close()


def test_the_breaker_heals() -> None:
    breaker = Breaker()
    for _ in range(TRIPS_AFTER):
        assert breaker.admits(10.0)
        breaker.failed(10.0, 2.0)
    assert not breaker.admits(11.9)
    assert breaker.admits(12.0)
    assert not breaker.admits(12.0)  # one question at a time tries
    breaker.failed(12.0, 2.0)
    breaker.trying = False
    assert not breaker.admits(13.9)
    assert breaker.admits(14.0)
    breaker.succeeded()
    breaker.trying = False
    assert breaker.admits(14.0) and breaker.admits(14.0)


@pytest.mark.usefixtures("recordings")
async def test_no_more_are_asked_at_once_than_there_are_places() -> None:
    """The server holds each question until three are there, so that they do meet."""
    meet = threading.Barrier(3, timeout=60)

    def script(_: Call) -> Answer:
        meet.wait()
        return answer(29)

    with captured(script) as server:
        asker = Asker(server.url, "key", at_once=3)
        answered = await asyncio.gather(*(asker.ask([]) for _ in range(12)))
        assert (len(answered), server.most_at_once) == (12, 3)
        await asker.close()
