"""Answers that are kept: the same bytes as a fresh one, and never what is hidden."""

import asyncio
from collections.abc import Hashable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from registry.actions.answering import standing
from registry.actions.answering.standing import TRUST_SECONDS
from registry.api import kept
from registry.api.kept import Kept
from registry.core.listing import SearchUnavailable
from tests.api.conftest import Api
from tests.api.sites import PIGEON

QUESTION = "/api/discover?q=send+a+parcel"


async def settled(api: Api) -> Hashable:
    """A token that holds: the transactions of the set-up have ended."""
    for _ in range(3_000):
        token: Any = api.waypost.standing()
        await asyncio.sleep(0.02)
        if token is not None and token == api.waypost.standing() and token[2] == 0:
            return token
    raise AssertionError("the catalogue never comes to rest")


class Searches:
    """Counts what reaches the engine."""

    def __init__(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        inner = api.waypost.search.backend.candidates

        async def counted(*arguments: Any) -> Any:
            self.asked += 1
            return await inner(*arguments)

        monkeypatch.setattr(api.waypost.search.backend, "candidates", counted)


async def test_the_same_question_again_costs_no_search(own_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "TRUST_SECONDS", 600)  # a busy machine may take longer for some of these answers
    searches = Searches(own_api, monkeypatch)
    await settled(own_api)
    first = await own_api.get(QUESTION)
    again = await own_api.get(QUESTION)
    assert searches.asked == 1
    assert (again.status_code, again.content) == (200, first.content)
    differing = {"x-request-id", "ratelimit"}
    assert {name: value for name, value in again.headers.items() if name not in differing} == {
        name: value for name, value in first.headers.items() if name not in differing
    }
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    for tags in (first.headers["etag"], f'"x", W/{first.headers["etag"]}', "*"):
        unchanged = await own_api.get(QUESTION, headers={"If-None-Match": tags})
        assert (unchanged.status_code, unchanged.content) == (304, b"")
        assert unchanged.headers["etag"] == first.headers["etag"]
    assert (await own_api.get(QUESTION, headers={"If-None-Match": '"x"'})).content == first.content
    head = await own_api.client.head(QUESTION)
    assert (head.status_code, head.content) == (200, b"")
    assert searches.asked == 1
    await own_api.get(QUESTION + "&limit=3")
    assert searches.asked == 2


async def test_what_is_hidden_is_in_no_kept_answer(own_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """An opt-out and a delisting, while the same question is asked all the time and the index still knows the host."""
    await settled(own_api)
    assert PIGEON in (await own_api.get(QUESTION)).text
    await own_api.waypost.forget(PIGEON, opt_out=True, reason="asked")
    await asyncio.sleep(TRUST_SECONDS)
    for _ in range(3):
        assert PIGEON not in (await own_api.get(QUESTION)).text
        assert PIGEON not in (await own_api.get(QUESTION + "&facets=domain&limit=0")).text
    await settled(own_api)
    assert PIGEON not in (await own_api.get(QUESTION)).text


async def test_a_change_that_was_begun_before_and_ends_after_is_seen(own_api: Api) -> None:
    """Its number was drawn already when the answer was kept."""
    await settled(own_api)
    domain = ".".join(PIGEON.split(".")[-2:])
    async with own_api.store.begin() as uow:
        await uow.services.hide(domain, [PIGEON])
        await asyncio.sleep(TRUST_SECONDS)
        assert PIGEON in (await own_api.get(QUESTION)).text
        await asyncio.sleep(TRUST_SECONDS / 2)
        assert PIGEON in (await own_api.get(QUESTION)).text
    await asyncio.sleep(TRUST_SECONDS)
    assert PIGEON not in (await own_api.get(QUESTION)).text


async def test_a_new_commit_of_the_index_is_a_new_answer(own_api: Api) -> None:
    before = await settled(own_api)
    first = await own_api.json("/api/discover", q="send a parcel")
    await own_api.waypost.reindex()
    await asyncio.sleep(TRUST_SECONDS)
    assert await settled(own_api) != before
    assert (await own_api.json("/api/discover", q="send a parcel"))["generation"] != first["generation"]


async def test_an_engine_that_is_away_is_told_at_once_and_not_remembered(
    own_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> Any:
        raise SearchUnavailable("the search engine does not answer")

    with monkeypatch.context() as broken:
        broken.setattr(own_api.waypost.search.backend, "candidates", away)
        answer = await own_api.get(QUESTION)
        assert (answer.status_code, answer.headers["cache-control"]) == (503, "no-store")
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.json()["type"] == "/api/problems/unavailable"
    assert (await own_api.get(QUESTION)).status_code == 200


class Front:
    """Kept in front of an application that answers its own count; `token` is what stands."""

    def __init__(self, size: int = 10, status: int = 200) -> None:
        self.token: Hashable | None = 1
        self.now = 0.0
        self.asked = 0
        self.size, self.status = size, status
        self.kept = Kept(self._answer, lambda: self.token, clock=lambda: self.now)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        await send({"type": "http.response.start", "status": self.status, "headers": [(b"etag", b'"1"')]})
        await send({"type": "http.response.body", "body": b"x" * self.size, "more_body": True})
        await send({"type": "http.response.body", "body": str(self.asked).encode()})

    async def ask(self, question: bytes, path: str = "/api/discover") -> bytes:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "query_string": question, "headers": []}
        await self.kept(scope, None, send)  # type: ignore[arg-type]  # nothing is received
        return b"".join(message.get("body", b"") for message in sent)


async def test_another_token_drops_everything_and_none_keeps_nothing() -> None:
    front = Front()
    assert await front.ask(b"q=a") == await front.ask(b"q=a") == b"x" * 10 + b"1"
    front.token = None
    assert (await front.ask(b"q=a"))[10:] == b"2"
    front.token = 2
    assert (await front.ask(b"q=a"))[10:] == (await front.ask(b"q=a"))[10:] == b"3"
    front.now = kept.KEPT_SECONDS + 1
    assert (await front.ask(b"q=a"))[10:] == b"4"
    assert (await front.ask(b"q=a", "/api/services"))[10:] == b"5"


async def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_ANSWERS", 3)
    front = Front()
    for question in (b"a", b"b", b"c", b"a", b"d"):
        await front.ask(question)
    assert front.asked == 4
    await front.ask(b"a")
    assert front.asked == 4  # b was asked for longest ago
    await front.ask(b"b")
    assert front.asked == 5
    for question in (b"q" * 5_000, b"q" * 5_000):
        await front.ask(question)
    assert front.asked == 7
    monkeypatch.setattr(kept, "MOST_BYTES", 2_000)
    large = Front(size=30)
    for _ in range(2):
        await large.ask(b"a")
    assert large.asked == 2
    assert large.kept._bytes == 0


@pytest.mark.parametrize("status", [304, 400, 500, 503])
async def test_only_whole_answers_are_kept(status: int) -> None:
    front = Front(status=status)
    await front.ask(b"q=a")
    await front.ask(b"q=a")
    assert front.asked == 2
