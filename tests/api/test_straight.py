"""The way past the framework is the same way: what is read, refused and told is what the framework would."""

from typing import Any
from urllib.parse import urlencode

import httpx2
import psycopg
import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.api import discover, problems
from registry.api.documents import openapi
from registry.api.params import FACETS, FILTER_NAMES
from registry.api.schemas import Discovered
from registry.api.straight import Straight
from registry.api.strict import QueryRoute, StrictRoute, strict_router
from registry.core.listing import StaleCursor
from registry.store.engine import libpq
from tests.api.conftest import Api
from tests.support.database import rows

QUESTION = "/api/discover?q=send+a+parcel"
NAMES = ("q", "limit", "cursor", "sort", "facets", "highlights", "include_unverified", *FILTER_NAMES, "nothing")
VALUES = st.one_of(
    st.sampled_from(["", "true", "false", "0", "7", "999", "-1", "1e3", "adp", "mcp,a2a", "relevance", "score", "nope",
                     "verified,community", "none", "free", "api:x", "geo:address", "2026-11-20", "2026-02-30", "en,de",
                     "dev", "x.example", ",", "format,tld"]),
    st.text(max_size=12),
)  # fmt: skip


class Asked:
    """In the place of the verbs: what it was asked with is its answer."""

    async def discover(self, query: Any, cursor: str | None, facets: Any) -> Any:
        raise StaleCursor(repr((query, cursor, facets)))


def both_ways() -> tuple[httpx2.AsyncClient, httpx2.AsyncClient]:
    """The same operation as the framework reads it, and straight."""
    made = []
    for route_class in (StrictRoute, QueryRoute):
        router = strict_router(route_class)
        router.add_api_route("/api/discover", discover.discover, response_model=Discovered)
        app = FastAPI()
        app.include_router(router)
        problems.install(app)
        app.state.waypost, app.state.base_url = Asked(), "https://registry.example"
        (route,) = router.routes
        front = Straight(app, [route] if isinstance(route, QueryRoute) else [])

        async def with_id(scope: Any, receive: Any, send: Any, front: Straight = front) -> None:
            await front({**scope, "waypost.request_id": "1"}, receive, send)

        made.append(httpx2.AsyncClient(transport=httpx2.ASGITransport(with_id), base_url="http://testserver"))
    return made[0], made[1]


@given(st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=5))
@settings(max_examples=300)
async def test_parameters_are_read_as_the_framework_reads_them(given: list[tuple[str, str]]) -> None:
    framework, straight = both_ways()
    path = "/api/discover?" + urlencode(given, errors="replace")
    expected, answered = await framework.get(path), await straight.get(path)
    assert (answered.status_code, answered.json()) == (expected.status_code, expected.json())


async def test_every_parameter_arrives() -> None:
    given = {
        "q": "x", "limit": "3", "cursor": "abc", "sort": "score", "facets": ",".join(FACETS), "format": "adp",
        "include_unverified": "true", "auth_type": "none,oauth2", "pricing_type": "free", "trust_level": "verified",
        "protocol": "mcp", "semantic_type": "api:payment", "side_effects": "false", "domain": "a.b.dev", "tld": "dev",
        "language": "EN", "min_score": "1", "max_score": "99", "seen_since": "2026-11-20", "seen_within_days": "1",
        "highlights": "true",
    }  # fmt: skip
    framework, straight = both_ways()
    expected, answered = [await one.get("/api/discover", params=given) for one in (framework, straight)]
    assert set(given) == set(NAMES) - {"nothing"}
    assert "Query(text='x', limit=3" in answered.json()["detail"]
    assert answered.json()["detail"] == expected.json()["detail"]


def test_only_operations_of_query_parameters_can_be_read_so() -> None:
    router = strict_router(QueryRoute)
    with pytest.raises(TypeError, match="query parameters"):

        @router.get("/x/{name}")
        async def of_a_path(name: str) -> None: ...


def test_the_document_is_the_frameworks() -> None:
    documents = []
    for route_class in (StrictRoute, QueryRoute):
        app = FastAPI()
        router = strict_router(route_class)
        router.add_api_route("/api/discover", discover.discover, response_model=Discovered)
        app.include_router(router)
        documents.append(openapi(app))
    assert documents[0] == documents[1]


async def test_bytes_are_of_the_shape_that_is_documented(own_api: Api) -> None:
    for more in ("", "&highlights=true", "&facets=format,tld", "&sort=freshness", "&format=adp", "&limit=0"):
        answer = await own_api.get(QUESTION + more)
        shown = Discovered.model_validate_json(answer.content, strict=True)
        assert shown.model_dump(mode="json", exclude_unset=True) == answer.json()
    nonsense = await own_api.get("/api/discover?q=zzzz+qqqq&format=adp")
    assert Discovered.model_validate_json(nonsense.content, strict=True).suggestions is not None


async def test_a_restart_of_the_database_is_no_fault_of_ours(own_api: Api) -> None:
    """Every connection is cut, and for a while there is none to be had; nobody is told of a fault."""
    url = own_api.store.engine.url
    assert (await own_api.get(QUESTION)).status_code == 200
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{url.database}'"
    with psycopg.connect(libpq(url.set(database="postgres")), autocommit=True) as admin:
        assert len(admin.execute(cut.encode()).fetchall()) > 0
        answers = [await own_api.get(f"{QUESTION}&limit={n}") for n in range(1, 6)]
        assert [one.status_code for one in answers] == [200] * 5
        admin.execute(f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS false'.encode())
        admin.execute(cut.encode())
        away = [await own_api.get(f"{QUESTION}&limit={n}") for n in range(6, 11)]
        assert {one.status_code for one in away} == {503}
        assert all(int(one.headers["retry-after"]) > 0 for one in away)
        admin.execute(f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS true'.encode())
    assert (await own_api.get(QUESTION + "&limit=11")).status_code == 200
    assert await rows(own_api.store, "SELECT 1") == [(1,)]


async def test_a_fault_of_ours_says_nothing_but_its_id(own_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("secret")

    monkeypatch.setattr(type(own_api.waypost), "discover", broken)
    monkeypatch.setattr(type(own_api.waypost), "list_services", broken)
    for path in (QUESTION, "/api/services"):
        answer = await own_api.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
        assert answer.json()["instance"] == "urn:uuid:" + answer.headers["x-request-id"]
        assert "secret" not in answer.text
        assert answer.headers["access-control-allow-origin"] == "*"
