"""`POST /ard/search`: what it returns, how it pages, what it refuses."""

from typing import Any

import pytest

from registry.edge.problems import MEDIA_TYPE
from tests.api.sites import CARD, PIGEON, TOOLS
from tests.support.api import Api, make_client

pytestmark = pytest.mark.asyncio(loop_scope="module")

A2A = "application/a2a-agent-card+json"


async def search(api: Api, text: str = "parcel", path: str = "/ard/search", **members: Any) -> dict[str, Any]:
    query = {"text": text, **{name: members.pop(name) for name in ("filter", "@context") if name in members}}
    response = await api.post(path, json={"query": query, **members})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def found(api: Api, **filters: Any) -> list[str]:
    """Return the hosts that answer a broad question under a filter."""
    answer = await search(api, "book a table, weather, parcels, bikes, shoes", filter=filters, pageSize=100)
    return [result["metadata"]["waypost:host"] for result in answer["results"]]


async def test_a_result_is_a_service_of_discover(api: Api) -> None:
    (row,) = (await api.json("/api/discover", q="weather forecast", limit=1))["data"]
    (result,) = (await search(api, "weather forecast", pageSize=1))["results"]
    assert result["metadata"]["waypost:host"] == row["service"]["domain"] == TOOLS
    assert result["score"] == round(100 * row["relevance"])
    assert result["metadata"]["waypost:qualityScore"] == row["service"]["score"]
    assert result["metadata"]["waypost:confident"] is row["confident"]


async def test_the_order_is_that_of_discover(api: Api) -> None:
    text = "sell something to visitors"
    rows = (await api.json("/api/discover", q=text, limit=50))["data"]
    answer = await search(api, text, pageSize=100)
    assert [result["metadata"]["waypost:host"] for result in answer["results"]] == [
        row["service"]["domain"] for row in rows
    ]
    assert "pageToken" not in answer


async def test_it_is_the_door_for_agent_cards(api: Api) -> None:
    (card,) = (await search(api, "book a table", filter={"type": A2A}))["results"]
    assert (card["type"], card["url"]) == (A2A, f"https://{CARD}/.well-known/agent-card.json")
    assert card["identifier"] == f"urn:air:{CARD}:a2a:concierge"


@pytest.mark.parametrize(
    "spelling",
    ["application/agent-card+json", "APPLICATION/A2A-Agent-Card+JSON; charset=utf-8", " application/a2a+json "],
)
async def test_types_are_read_in_any_spelling(api: Api, spelling: str) -> None:
    assert await found(api, type=[spelling, "image/png"]) == [CARD]


@pytest.mark.parametrize(
    ("filters", "hosts"),
    [
        ({"publisher": CARD}, {CARD}),
        ({"publisher": [CARD.upper(), f"urn:ai:{TOOLS}:x:y"]}, {CARD, TOOLS}),
        ({"publisher": "pigeonpost.example"}, set()),  # the host is api.pigeonpost.example
        ({"metadata.waypost:domain": "pigeonpost.example"}, {PIGEON}),
        ({"publisher": CARD, "type": "application/mcp-server-card+json"}, set()),
        ({"publisher": "not a host"}, set()),
        ({"identifier": f"urn:air:{CARD}:a2a:concierge"}, {CARD}),
        ({"identifier": f"URN:AI:{CARD}:a2a:concierge"}, {CARD}),
        ({"identifier": f"urn:air:{CARD}:adp:concierge"}, set()),
        ({"metadata.waypost:format": ["mcp-server-card", "nonsense"]}, {TOOLS}),
        ({"metadata.waypost:authType": "api_key", "metadata.waypost:format": ["a2a", "awp"]}, {CARD}),
        ({"type": "application/zip"}, set()),
        ({"type": A2A, "metadata.waypost:format": "adp"}, set()),
        ({"https://agenticresourcediscovery.org/ns#publisher": CARD}, {CARD}),
    ],
)
async def test_filters_narrow(api: Api, filters: dict[str, Any], hosts: set[str]) -> None:
    assert set(await found(api, **filters)) == hosts


async def test_keys_are_read_through_the_context(api: Api) -> None:
    context = {"ard": "https://agenticresourcediscovery.org/ns#", "kind": {"@id": "ard:type"}}
    answer = await search(api, "table", filter={"kind": [A2A], "ard:publisher": CARD}, **{"@context": context})
    assert len(answer["results"]) == 1


@pytest.mark.parametrize("size", [1, 2, 3])
async def test_pages_hold_every_entry_once(api: Api, size: int) -> None:
    text = "sell something to visitors"
    whole = [result["identifier"] for result in (await search(api, text, pageSize=100))["results"]]
    paged: list[str] = []
    token: dict[str, str] = {}
    while True:
        answer = await search(api, text, pageSize=size, **token)
        assert len(answer["results"]) <= size
        paged += [result["identifier"] for result in answer["results"]]
        if "pageToken" not in answer:
            break
        token = {"pageToken": answer["pageToken"]}
    assert paged == whole
    assert len(set(whole)) == len(whole) >= 3


async def test_a_token_belongs_to_its_query(api: Api) -> None:
    token = (await search(api, "sell something to visitors", pageSize=1))["pageToken"]
    for body in (
        {"query": {"text": "weather"}, "pageToken": token},
        {"query": {"text": "sell something to visitors", "filter": {"type": A2A}}, "pageToken": token},
        {"query": {"text": "weather"}, "pageToken": "nonsense"},
        {"query": {"text": "weather"}, "pageToken": ""},
    ):
        response = await api.post("/ard/search", json=body)
        if body["pageToken"] == "":
            assert response.status_code == 200, "an empty token is the first page"
            continue
        assert (response.status_code, response.json()["type"]) == (400, "/api/problems/invalid-cursor")
        assert response.json()["errorCode"] == "INVALID_ARGUMENT"


async def test_the_doubled_route_answers_as_well(api: Api) -> None:
    assert await search(api, path="/ard/search/search") == await search(api)


async def test_referrals_are_given_when_they_are_asked_for(api: Api) -> None:
    assert "referrals" not in await search(api)
    assert (await search(api, federation="referrals"))["referrals"] == []
    peers = ("https://finder.example.org/api", "https://other.example.org/search")
    settings = api.waypost.settings.model_copy(update={"ard_peers": peers})
    api.waypost.settings, before = settings, api.waypost.settings
    try:
        async with make_client(api.waypost, settings) as client:
            body = {"query": {"text": "parcel"}, "federation": "referrals"}
            answer = (await client.post("/ard/search", json=body)).json()
    finally:
        api.waypost.settings = before
    assert answer["results"] == (await search(api))["results"]
    assert answer["referrals"] == [
        {
            "identifier": f"urn:air:{host}:registry:example",
            "displayName": host,
            "type": "application/ai-registry+json",
            "url": url,
        }
        for host, url in (
            ("finder.example.org", "https://finder.example.org/api/search"),
            ("other.example.org", "https://other.example.org/search"),
        )
    ]


_LONG = "x" * 600


@pytest.mark.parametrize(
    "body",
    [
        None, 7, [], "x", {}, {"query": {}}, {"query": {"text": " \n"}}, {"query": {"text": 7}}, {"query": "x"},
        {"query": {"text": "x"}, "more": 1}, {"query": {"text": "x", "<script>": 1}},
        {"query": {"text": "x"}, "text": 1},
        {"query": {"text": "x"}, "federation": "all"}, {"query": {"text": "x"}, "pageSize": 0},
        {"query": {"text": "x"}, "pageSize": "5"}, {"query": {"text": "x"}, "pageSize": 1.5},
        {"query": {"text": "x"}, "pageSize": True}, {"query": {"text": "x"}, "pageToken": 7},
        {"query": {"text": "x"}, "pageToken": "x" * 5_000},
        {"query": {"text": "x", "filter": []}}, {"query": {"text": "x", "filter": {"type": 7}}},
        {"query": {"text": "x", "filter": {"type": []}}}, {"query": {"text": "x", "filter": {"type": [7]}}},
        {"query": {"text": "x", "filter": {"type": [_LONG]}}}, {"query": {"text": "x", "filter": {"type": ["a"] * 51}}},
        {"query": {"text": "x", "filter": {"tags": "a"}}}, {"query": {"text": "x", "filter": {_LONG: "a"}}},
        {"query": {"text": "x", "filter": {"": "a"}}}, {"query": {"text": "x", "filter": {"type.more": "a"}}},
        {"query": {"text": "x", "filter": {"trustManifest.attestations.type": "SOC2"}}},
        {"query": {"text": "x", "filter": {f"acme{number}": "a" for number in range(30)}}},
        {"query": {"text": "x", "@context": "https://evil.example/context"}}, {"query": {"text": "x", "@context": 7}},
        {"query": {"text": "x", "@context": {"a": 7}}}, {"query": {"text": "x", "@context": {"a": _LONG}}},
        {"query": {"text": "x", "@context": {str(number): "a:b" for number in range(60)}}},
        {"query": {"text": "x", "@context": {"type": "https://acme.com/ns#type"}, "filter": {"type": "a"}}},
        {"query": {"text": "x", "filter": {"identifier": ["urn:air:a.example:a2a:a", "urn:air:b.example:adp:b"]}}},
    ],
)  # fmt: skip
async def test_bad_bodies_are_refused_with_a_reason(api: Api, body: Any) -> None:
    response = await api.post("/ard/search", json=body)
    problem = response.json()
    assert (response.status_code, response.headers["content-type"]) == (400, MEDIA_TYPE)
    assert problem["errorCode"] == "INVALID_ARGUMENT"
    assert problem["message"] == problem["detail"]
    assert not any(echo in response.text for echo in ("<script>", "evil", "acme", "xxx"))


@pytest.mark.parametrize("content", [b"", b"{", b'{"query": {"text": "a", "text": "b"}}', b'{"a": NaN}', b"[" * 5_000])
async def test_unreadable_bodies_are_refused(api: Api, content: bytes) -> None:
    response = await api.post("/ard/search", content=content)
    assert (response.status_code, response.json()["errorCode"]) == (400, "INVALID_ARGUMENT")


async def test_large_pages_are_reduced(api: Api) -> None:
    assert (await search(api, pageSize=10**9))["results"]


async def test_problems_of_the_edge_have_the_members_too(api: Api) -> None:
    response = await api.post("/ard/search", content=b" " * 5_000_000)
    assert (response.status_code, response.json()["errorCode"]) == (413, "INVALID_ARGUMENT")
    settings = api.waypost.settings.model_copy(update={"read_rate": 1})
    async with make_client(api.waypost, settings) as client:
        answers = [await client.get("/ard") for _ in range(3)]
        other = await client.get("/api/rubric")
    assert (answers[-1].status_code, answers[-1].json()["errorCode"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert other.status_code == 429
    assert "errorCode" not in other.json()
    response = await api.get("/ard/nothing")
    assert (response.status_code, response.json()["errorCode"]) == (404, "NOT_FOUND")
    response = await api.get("/ard/search")
    assert (response.status_code, response.headers["allow"]) == (405, "OPTIONS, POST")


async def test_browsers_may_ask_from_anywhere(api: Api) -> None:
    for response in (
        await api.post("/ard/search", json={"query": {"text": "parcel"}}),
        await api.client.options("/ard/search"),
    ):
        assert response.headers["access-control-allow-origin"] == "*"
