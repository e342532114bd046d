"""The fast path of query parameters accepts and refuses exactly what the framework does."""

from functools import cache
from typing import Any
from urllib.parse import urlencode

import httpx2
import psycopg
import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from registry.api import discover
from registry.api.documents import openapi
from registry.api.schemas.discovery import Discovered
from registry.core.model.listing import StaleCursor
from registry.core.search_filters import COUNTED, FILTERS
from registry.edge import problems
from registry.edge.routing import QueryRoute, StrictRoute, strict_router
from registry.store.engine import libpq
from tests.support.api import Api
from tests.support.database import rows

QUESTION = "/api/discover?q=send+a+parcel"
NAMES = (
    "q",
    "limit",
    "cursor",
    "sort",
    "facets",
    "highlights",
    "include_unverified",
    "unique",
    *(row.name for row in FILTERS),
    "nothing",
)
VALUES = st.one_of(
    st.sampled_from(["", "true", "false", "0", "7", "999", "-1", "1e3", "adp", "mcp,a2a", "relevance", "score", "nope",
                     "verified,community", "none", "free", "api:x", "geo:address", "2026-11-20", "2026-02-30", "en,de",
                     "2026-11-20T00:00:00Z", "dev", "x.example", ",", "format,tld"]),
    st.text(max_size=12),
)  # fmt: skip


class RepeatingVerbs:
    """A substitute for `Waypost` whose response is the arguments of the call."""

    @property
    def search(self) -> "RepeatingVerbs":
        return self

    async def discover(self, query: Any, cursor: str | None, facets: Any) -> Any:
        raise StaleCursor(repr((query, cursor, facets)))


def both_ways() -> tuple[httpx2.AsyncClient, httpx2.AsyncClient]:
    """Return clients of the same operation, as the framework reads it and by the fast path."""
    framework, straight = (_client(_application(route_class)) for route_class in (StrictRoute, QueryRoute))
    return framework, straight


@cache
def _application(route_class: type[StrictRoute]) -> FastAPI:
    router = strict_router(route_class)
    router.add_api_route("/api/discover", discover.discover, response_model=Discovered)
    app = FastAPI()
    app.include_router(router)
    problems.install(app)
    app.state.waypost, app.state.base_url = RepeatingVerbs(), "https://registry.example"
    return app


def _client(app: FastAPI) -> httpx2.AsyncClient:
    async def with_id(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "waypost.request_id": "1"}, receive, send)

    return httpx2.AsyncClient(transport=httpx2.ASGITransport(with_id), base_url="http://testserver")


@given(st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=5))
@settings(max_examples=300)
async def test_parameters_are_read_as_the_framework_reads_them(parameters: list[tuple[str, str]]) -> None:
    framework, straight = both_ways()
    path = "/api/discover?" + urlencode(parameters, errors="replace")
    expected, actual = await framework.get(path), await straight.get(path)
    assert (actual.status_code, actual.json()) == (expected.status_code, expected.json())


async def test_every_parameter_reaches_the_query() -> None:
    parameters = {
        "q": "x", "limit": "3", "cursor": "abc", "sort": "score", "facets": ",".join(COUNTED), "format": "adp",
        "include_unverified": "true", "auth_type": "none,oauth2", "pricing_type": "free", "trust_level": "verified",
        "protocol": "mcp", "semantic_type": "api:payment", "side_effects": "false", "domain": "a.b.dev", "tld": "dev",
        "category": "email", "language": "EN", "min_score": "1", "max_score": "99", "seen_since": "2026-11-20",
        "seen_within_days": "1", "updated_after": "2026-11-20T01:00:00+01:00", "highlights": "true", "unique": "false",
        "callable": "true", "identity": "host-checked",
    }  # fmt: skip
    framework, straight = both_ways()
    expected, actual = [await client.get("/api/discover", params=parameters) for client in (framework, straight)]
    assert set(parameters) == set(NAMES) - {"nothing"}
    assert "Query(text='x', limit=3" in actual.json()["detail"]
    assert actual.json()["detail"] == expected.json()["detail"]


def test_the_fast_path_refuses_path_parameters() -> None:
    router = strict_router(QueryRoute)
    with pytest.raises(TypeError, match="query parameters"):

        @router.get("/x/{name}")
        async def of_a_path(name: str) -> None: ...


def test_the_openapi_document_is_the_same_on_both_paths() -> None:
    framework, straight = (openapi(_application(route_class)) for route_class in (StrictRoute, QueryRoute))
    assert framework == straight


async def test_response_bytes_match_the_documented_schema(own_api: Api) -> None:
    shape = TypeAdapter(Discovered)
    for suffix in ("", "&highlights=true", "&facets=format,tld", "&sort=freshness", "&format=adp", "&limit=0"):
        response = await own_api.get(QUESTION + suffix)
        assert shape.validate_json(response.content, strict=True) == response.json()
    nonsense = await own_api.get("/api/discover?q=zzzz+qqqq&format=adp")
    assert shape.validate_json(nonsense.content, strict=True)["suggestions"]


async def test_a_restart_of_the_database_causes_no_internal_error(own_api: Api) -> None:
    """Every connection is cut, and for a while none can be had; no client sees an internal error."""
    url = own_api.store.engine.url
    assert (await own_api.get(QUESTION)).status_code == 200
    terminate = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{url.database}'"
    with psycopg.connect(libpq(url.set(database="postgres")), autocommit=True) as admin:
        assert len(admin.execute(terminate.encode()).fetchall()) > 0
        responses = [await own_api.get(f"{QUESTION}&limit={n}") for n in range(1, 6)]
        assert [response.status_code for response in responses] == [200] * 5
        admin.execute(f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS false'.encode())
        admin.execute(terminate.encode())
        refused = [await own_api.get(f"{QUESTION}&limit={n}") for n in range(6, 11)]
        assert {response.status_code for response in refused} == {503}
        assert all(int(response.headers["retry-after"]) > 0 for response in refused)
        admin.execute(f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS true'.encode())
    assert (await own_api.get(QUESTION + "&limit=11")).status_code == 200
    assert await rows(own_api.store, "SELECT 1") == [(1,)]
