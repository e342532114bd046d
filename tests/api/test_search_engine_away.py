"""An unavailable search server: search responds 503 in time, everything else works."""

import socket
from collections.abc import AsyncIterator

import pytest

from registry.search.meilisearch.admin import Keys
from registry.search.meilisearch.backend import MeiliBackend
from tests.support.api import Api


@pytest.fixture
async def api_without_engine(own_api: Api) -> AsyncIterator[Api]:
    """The same registry, configured to search on a port that refuses connections."""
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
        unreachable = MeiliBackend(f"http://127.0.0.1:{bound_socket.getsockname()[1]}", Keys("s", "i", "t"), "services")
        original, own_api.waypost.search.backend = own_api.waypost.search.backend, unreachable
        yield own_api
        own_api.waypost.search.backend = original
        await unreachable.close()


@pytest.mark.parametrize("query", ["send an email", "天気"])
async def test_search_without_its_engine_is_a_503_and_never_empty(api_without_engine: Api, query: str) -> None:
    for _ in range(8):  # before and after the circuit breaker opens
        response = await api_without_engine.get("/api/discover", params={"q": query})
        assert response.status_code == 503, response.text
        assert int(response.headers["retry-after"]) > 0
        assert response.headers["content-type"] == "application/problem+json"
        assert response.headers["cache-control"] == "no-store"


async def test_readiness_names_the_engine_and_the_rest_works(api_without_engine: Api) -> None:
    ready = await api_without_engine.get("/readyz")
    assert (ready.status_code, ready.json()["parts"]) == (503, {"database": "ok", "index": "away"})
    assert (await api_without_engine.get("/api/services")).status_code == 200
