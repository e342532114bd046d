"""A search server that is away: search says so in time, everything else goes on."""

import socket
from collections.abc import AsyncIterator

import pytest

from registry.search.meilisearch.admin import Keys
from registry.search.meilisearch.backend import MeiliBackend
from tests.api.conftest import Api


@pytest.fixture
async def engineless(own_api: Api) -> AsyncIterator[Api]:
    """The same registry, told to search on a port where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: whoever connects is refused
        away = MeiliBackend(f"http://127.0.0.1:{taken.getsockname()[1]}", Keys("s", "i", "t"), "services")
        there, own_api.waypost.search.backend = own_api.waypost.search.backend, away
        yield own_api
        own_api.waypost.search.backend = there
        await away.close()


@pytest.mark.parametrize("query", ["send an email", "天気"])
async def test_search_is_refused_for_now_and_never_empty(engineless: Api, query: str) -> None:
    for _ in range(8):  # before and after the engine is left alone for a while
        response = await engineless.get("/api/discover", params={"q": query})
        assert response.status_code == 503, response.text
        assert int(response.headers["retry-after"]) > 0
        assert response.headers["content-type"] == "application/problem+json"
        assert response.headers["cache-control"] == "no-store"


async def test_readiness_names_it_and_the_rest_goes_on(engineless: Api) -> None:
    ready = await engineless.get("/readyz")
    assert (ready.status_code, ready.json()["parts"]) == (503, {"database": "ok", "index": "away"})
    assert (await engineless.get("/api/services")).status_code == 200
