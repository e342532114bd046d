"""Cached responses have the same bytes as fresh ones, and never show hidden services."""

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from registry.api import response_cache
from registry.api.response_cache import LIFETIME_SECONDS, ResponseCache
from registry.core.model.listing import SearchUnavailable
from tests.api.sites import PIGEON
from tests.support.api import Api

QUESTION = "/api/discover?q=send+a+parcel"


class Searches:
    """Counts the queries that reach the engine."""

    def __init__(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        original_candidates = api.waypost.search.backend.candidates

        async def counted(*arguments: Any) -> Any:
            self.asked += 1
            return await original_candidates(*arguments)

        monkeypatch.setattr(api.waypost.search.backend, "candidates", counted)


async def test_a_repeated_query_costs_no_search(own_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_cache, "LIFETIME_SECONDS", 600)  # a busy machine may need longer for these requests
    searches = Searches(own_api, monkeypatch)
    first = await own_api.get(QUESTION)
    second = await own_api.get(QUESTION)
    assert searches.asked == 1
    assert (second.status_code, second.content) == (200, first.content)
    differing = {"x-request-id", "ratelimit"}
    assert {name: value for name, value in second.headers.items() if name not in differing} == {
        name: value for name, value in first.headers.items() if name not in differing
    }
    assert second.headers["x-request-id"] != first.headers["x-request-id"]
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


async def test_kept_responses_are_limited_and_take_the_ids_of_clients(
    own_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_cache, "LIFETIME_SECONDS", 600)
    identity = {"Accept-Encoding": "identity", "X-Request-Id": "6f1c3a52-70cf-4d47-9e39-0f2f4d8f0a51"}
    answers = [await own_api.get(QUESTION, headers=identity) for _ in range(3)]
    assert {answer.headers["x-request-id"] for answer in answers} == {identity["X-Request-Id"]}
    left = [int(answer.headers["ratelimit"].split("r=")[1].split(";")[0]) for answer in answers]
    assert left == [left[0], left[0] - 1, left[0] - 2]
    zipped = [await own_api.get(QUESTION, headers={"Accept-Encoding": "gzip"}) for _ in range(2)]
    assert {answer.headers["content-encoding"] for answer in zipped} == {"gzip"}
    assert {answer.content for answer in zipped} == {answers[0].content}


async def test_hidden_services_are_in_no_cached_response(own_api: Api) -> None:
    """A host is forgotten while the same query is sent all the time and the index still holds it."""
    assert PIGEON in (await own_api.get(QUESTION)).text
    await own_api.waypost.opt_outs.forget(PIGEON, opt_out="operator", reason="asked")
    await asyncio.sleep(LIFETIME_SECONDS)
    for _ in range(3):
        assert PIGEON not in (await own_api.get(QUESTION)).text
        assert PIGEON not in (await own_api.get(QUESTION + "&facets=domain&limit=0")).text
    assert PIGEON not in (await own_api.get(QUESTION)).text


async def test_a_change_committed_after_caching_is_seen(own_api: Api) -> None:
    """The change is made in a transaction that is still open when the response is cached."""
    domain = ".".join(PIGEON.split(".")[-2:])
    async with own_api.store.begin() as uow:
        await uow.services.hide(domain, [PIGEON])
        await asyncio.sleep(LIFETIME_SECONDS)
        assert PIGEON in (await own_api.get(QUESTION)).text
        await asyncio.sleep(LIFETIME_SECONDS / 2)
        assert PIGEON in (await own_api.get(QUESTION)).text
    await asyncio.sleep(LIFETIME_SECONDS)
    assert PIGEON not in (await own_api.get(QUESTION)).text


async def test_a_new_commit_of_the_index_invalidates_the_cache(own_api: Api) -> None:
    first = await own_api.json("/api/discover", q="send a parcel")
    await own_api.waypost.search.reindex()
    await asyncio.sleep(LIFETIME_SECONDS)
    assert (await own_api.json("/api/discover", q="send a parcel"))["generation"] != first["generation"]


async def test_an_unavailable_engine_is_reported_at_once_and_not_cached(
    own_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> Any:
        raise SearchUnavailable("the search engine does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(own_api.waypost.search.backend, "candidates", fail)
        response = await own_api.get(QUESTION)
        assert (response.status_code, response.headers["cache-control"]) == (503, "no-store")
        assert int(response.headers["retry-after"]) >= 1
        assert response.json()["type"] == "/api/problems/unavailable"
    assert (await own_api.get(QUESTION)).status_code == 200


class Front:
    """A cache in front of an application whose response is its own count of requests."""

    def __init__(self, size: int = 10, status: int = 200) -> None:
        self.now = 0.0
        self.takes = 0.0
        self.asked = 0
        self.size, self.status = size, status
        self.cache = ResponseCache(self._answer, clock=lambda: self.now)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        self.now += self.takes
        await send({"type": "http.response.start", "status": self.status, "headers": [(b"etag", b'"1"')]})
        await send({"type": "http.response.body", "body": b"x" * self.size, "more_body": True})
        await send({"type": "http.response.body", "body": str(self.asked).encode()})

    async def ask(self, query: bytes, path: str = "/api/discover") -> bytes:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": []}
        await self.cache(scope, None, send)  # type: ignore[arg-type]  # nothing is received
        return b"".join(message.get("body", b"") for message in sent)


async def test_a_response_is_cached_from_the_time_of_its_request() -> None:
    front = Front()
    front.takes = 0.25
    assert await front.ask(b"q=a") == await front.ask(b"q=a") == b"x" * 10 + b"1"
    front.now = LIFETIME_SECONDS - 0.01
    assert (await front.ask(b"q=a"))[10:] == b"1"
    front.now = LIFETIME_SECONDS
    assert (await front.ask(b"q=a"))[10:] == b"2"
    assert (await front.ask(b"q=a", "/api/services"))[10:] == b"3"


async def test_a_response_slower_than_its_lifetime_is_not_reused() -> None:
    front = Front()
    front.takes = LIFETIME_SECONDS
    assert [(await front.ask(b"q=a"))[10:] for _ in range(2)] == [b"1", b"2"]


async def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_cache, "MAX_ANSWERS", 3)
    front = Front()
    for query in (b"a", b"b", b"c", b"a", b"d"):
        await front.ask(query)
    assert front.asked == 4
    await front.ask(b"b")
    assert front.asked == 4
    await front.ask(b"a")  # stored first, so it was evicted for d
    assert front.asked == 5
    for query in (b"q" * 5_000, b"q" * 5_000):
        await front.ask(query)
    assert front.asked == 7
    monkeypatch.setattr(response_cache, "MAX_BYTES", 2_000)
    large = Front(size=30)
    for _ in range(2):
        await large.ask(b"a")
    assert large.asked == 2
    assert large.cache._bytes == 0


async def test_expired_responses_are_removed() -> None:
    front = Front()
    for query in (b"a", b"b"):
        await front.ask(query)
    front.now = LIFETIME_SECONDS
    await front.ask(b"c")
    assert list(front.cache._responses) == [b"c"]


@pytest.mark.parametrize("status", [304, 400, 500, 503])
async def test_only_successful_responses_are_cached(status: int) -> None:
    front = Front(status=status)
    await front.ask(b"q=a")
    await front.ask(b"q=a")
    assert front.asked == 2
