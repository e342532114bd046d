"""`POST /api/discover`: each of several needs is answered as if it was the only one."""

from typing import Any

import pytest

from registry.api.discover_many import MAX_BODY_BYTES
from registry.settings import Settings
from tests.api.sites import BIKES
from tests.support.api import Api, make_client

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def asked(api: Api, *needs: Any, query: str = "", status: int = 200) -> Any:
    response = await api.post(f"/api/discover{query}", json={"needs": list(needs)})
    assert response.status_code == status, response.text
    assert response.headers["cache-control"] == "no-store"
    return response.json()


async def test_every_need_has_the_answer_of_its_own_request(api: Api) -> None:
    answer = await asked(
        api, "rent a bicycle", {"q": "track a parcel", "limit": 1, "format": None}, {"q": "zzyzx"},
        {"q": "a bicycle", "format": ["a2a", "adp"], "highlights": True, "facets": ["format"]},
    )  # fmt: skip
    assert answer["success"] is True
    assert answer["data"] == [
        await api.json("/api/discover", q="rent a bicycle"),
        await api.json("/api/discover", q="track a parcel", limit=1),
        await api.json("/api/discover", q="zzyzx"),
        await api.json("/api/discover", q="a bicycle", format="a2a,adp", highlights="true", facets="format"),
    ]
    first = answer["data"][0]
    assert (first["data"][0]["service"]["domain"], first["confident"]) == (BIKES, True)
    more = await asked(api, {"q": "a bicycle", "limit": 1, "cursor": answer["data"][0]["next_cursor"]}, "a bicycle")
    assert more["data"][1]["success"] is True


async def test_every_need_may_have_its_own_view(api: Api) -> None:
    answer = await asked(
        api, "rent a bicycle", {"q": "rent a bicycle", "view": "full"}, query="?view=brief&include=call"
    )
    assert answer["data"] == [
        await api.json("/api/discover", q="rent a bicycle", view="brief", include="call"),
        await api.json("/api/discover", q="rent a bicycle", include="call"),
    ]


async def test_parameters_of_the_query_hold_for_needs_without_their_own(api: Api) -> None:
    answer = await asked(api, "rent a bicycle", {"q": "rent a bicycle", "limit": 2}, query="?limit=1&highlights=true")
    assert [one["result_count"] for one in answer["data"]] == [1, 2]
    assert all("highlights" in row for one in answer["data"] for row in one["data"])


@pytest.mark.parametrize(
    ("need", "slug", "detail"),
    [
        (7, "invalid-body", "needs.1: must be a text, or an object with the member q"),
        ("  ", "invalid-parameter", "needs.1: q: is required and must not be blank"),
        ({}, "invalid-parameter", "needs.1: q: is required"),
        ({"q": ["a"]}, "invalid-parameter", "needs.1: q: must be a text"),
        ({"q": 7}, "invalid-parameter", "needs.1: q: must be a text"),
        ({"q": "a", "limit": "many"}, "invalid-parameter", "needs.1: limit: must be a whole number"),
        ({"q": "a", "limit": 1.5}, "invalid-parameter", "needs.1: limit: must be a text, a whole number"),
        ({"q": "a", "tag": ["x,y"]}, "invalid-parameter", "needs.1: tag: must be a text, a whole number"),
        ({"q": "a", "a<b>": {}}, "invalid-parameter", "needs.1: a member: must be a text, a whole number"),
        ({"q": "a", "formats": "a2a"}, "unknown-parameter", "needs.1: Unknown query parameter formats (did you mean"),
        ({"q": "a", "cursor": "x"}, "invalid-cursor", "needs.1: cursor: start again"),
    ],
)  # fmt: skip
async def test_a_bad_need_has_a_problem_in_its_place(api: Api, need: Any, slug: str, detail: str) -> None:
    answer = await asked(api, "rent a bicycle", need, "track a parcel")
    assert [one["success"] for one in answer["data"]] == [True, False, True]
    problem = answer["data"][1]["problem"]
    assert (problem["type"], problem["success"]) == (f"/api/problems/{slug}", False)
    assert problem["detail"].startswith(detail)
    alone = await asked(api, need, status=problem["status"])
    assert (alone["type"], alone["detail"]) == (problem["type"], problem["detail"].replace("needs.1", "needs.0"))


async def test_if_no_need_can_be_answered_the_first_problem_is_the_answer(api: Api) -> None:
    answer = await asked(api, {"q": "a", "limit": "x"}, 7, status=400)
    assert answer["type"] == "/api/problems/invalid-parameter"
    assert [fault.partition(" must")[0] for fault in answer["errors"]] == ["needs.0: limit:", "needs.1:"]


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (b'{"needs": ["a",]}', 400, "There is a comma before a closing bracket. (line 1, column 16)"),
        (b'["a"]', 400, "the body: must be an object"),
        (b"{}", 400, "needs: is required"),
        (b'{"needs": []}', 400, "needs: must have at least 1 items"),
        (b'{"needs": "a"}', 400, "needs: must be an array"),
        (b'{"needs": [%s]}' % b",".join([b'"a"'] * 11), 400, "needs: must have at most 10 items"),
        (b'{"needs": ["a"], "other": 1}', 400, "the body: has a member that is not defined here"),
        (b'{"needs": ["%s"]}' % (b"a" * MAX_BODY_BYTES), 413, "The body of this operation may have at most"),
    ],
)  # fmt: skip
async def test_a_body_of_another_shape_is_refused_with_the_place(
    api: Api, body: bytes, status: int, detail: str
) -> None:
    response = await api.post("/api/discover", content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["status"]) == (status, status), response.text
    assert response.json()["detail"].startswith(detail)


async def test_a_bad_parameter_of_the_query_is_refused(api: Api) -> None:
    for query, detail in (("?limit=x", "limit: must be"), ("?q=a", "Unknown query parameter q"), ("?cursor=a", "Unk")):
        assert (await asked(api, "rent a bicycle", query=query, status=400))["detail"].startswith(detail)


async def test_every_need_counts_as_a_request(api: Api, tmp_path: Any) -> None:
    settings = Settings(data=tmp_path, public_url="https://registry.example", read_rate=24)
    async with make_client(api.waypost, settings) as client:
        first = await client.post("/api/discover", json={"needs": ["a bicycle"] * 10})
        assert first.status_code == 200
        assert ";r=14;" in first.headers["ratelimit"]
        await client.post("/api/discover", json={"needs": ["a bicycle"] * 10})
        partly = await client.post("/api/discover", json={"needs": ["a bicycle", {"q": "a bicycle", "limit": 50}]})
        assert [one["success"] for one in partly.json()["data"]] == [True, False]
        assert partly.json()["data"][1]["problem"]["type"] == "/api/problems/rate-limited"
        refused = await client.post("/api/discover", json={"needs": ["a bicycle"] * 10})
        assert (refused.status_code, refused.json()["type"]) == (429, "/api/problems/rate-limited")


async def test_a_condition_of_the_request_is_not_one_of_its_needs(api: Api) -> None:
    etag = (await api.get("/api/discover?q=a%20bicycle")).headers["etag"]
    response = await api.post("/api/discover", json={"needs": ["a bicycle"]}, headers={"If-None-Match": etag})
    assert response.status_code == 200
    assert response.json()["data"] == [await api.json("/api/discover", q="a bicycle")]
