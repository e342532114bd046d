"""`GET /ard/agents`, `GET /ard/agents/{identifier}` and `POST /ard/explore`."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.api.sites import AWKWARD, CARD, NOTHING, PIGEON, SITES, TOOLS
from tests.support.api import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")

URN = f"urn:air:{TOOLS}:mcp-server-card:tools"
A2A = "application/a2a-agent-card+json"


async def listed(api: Api, **params: Any) -> list[str]:
    return [entry["metadata"]["waypost:host"] for entry in (await api.json("/ard/agents", **params))["items"]]


@pytest.mark.parametrize("order", [{}, {"orderBy": "displayName"}, {"orderBy": "updatedAt DESC"}])
@pytest.mark.parametrize("size", [1, 3, 100])
async def test_pages_hold_every_entry_once(api: Api, order: dict[str, str], size: int) -> None:
    whole = await api.json("/ard/agents", pageSize=100, **order)
    paged, token = [], {}
    while True:
        page = await api.json("/ard/agents", pageSize=size, **order, **token)
        assert page.get("total") == (None if token else len(whole["items"]))
        paged += page["items"]
        if "pageToken" not in page:
            break
        token = {"pageToken": page["pageToken"]}
    assert paged == whole["items"]


async def test_everything_that_is_listed_has_entries(api: Api) -> None:
    rows = await api.json("/api/services", limit=100)
    assert set(await listed(api, pageSize=100)) == {row["domain"] for row in rows["data"]}
    assert NOTHING not in await listed(api)


async def test_lists_are_ordered(api: Api) -> None:
    names = [entry["displayName"].lower() for entry in (await api.json("/ard/agents", orderBy="displayName"))["items"]]
    assert names == sorted(names)
    times = [entry["updatedAt"] for entry in (await api.json("/ard/agents", orderBy="updatedAt DESC"))["items"]]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    ("expression", "hosts"),
    [
        (f"type = '{A2A}'", {CARD}),
        (f"type='{A2A},application/mcp-server-card+json'", {CARD, TOOLS}),
        (f"publisherId = '{CARD}, {PIGEON}' AND type = '{A2A}'", {CARD}),
        ("displayName = 'CONCI'", {CARD}),
        (f"displayName = '%' AND publisherId = '{CARD}'", set()),
        (f"type = '{A2A}' AND createdAfter > '2026-01-01'", {CARD}),
        (f"type = '{A2A}' AND updatedAfter > '2999-01-01T00:00:00Z'", set()),
        ("type = 'application/zip'", set()),
        ("type = 'application/json; profile=\"urn:waypost:format:awp\"'", {"bikes.example", AWKWARD}),
        ("", set(SITES) - {NOTHING, "flaky.example", "sloppy.example"}),
    ],
)
async def test_list_expressions(api: Api, expression: str, hosts: set[str]) -> None:
    found = set(await listed(api, filter=expression, pageSize=100))
    assert found == hosts if expression else found >= hosts


@pytest.mark.parametrize(
    "params",
    [
        {"filter": "type"}, {"filter": "type = x"}, {"filter": "type > 'x'"}, {"filter": "type = 'x' OR type = 'y'"},
        {"filter": "type = 'x' AND"}, {"filter": "secret = 'x'"}, {"filter": "createdAfter > 'yesterday'"},
        {"filter": "createdAfter > '2026-01-01T00:00:00'"}, {"filter": "createdAfter > '1066-01-01'"},
        {"filter": "displayName = 'a' AND displayName = 'b'"}, {"filter": "type = 'x'' AND 1=1"},
        {"filter": "x" * 3_000}, {"filter": "type = '" + "a," * 60 + "'"}, {"orderBy": "score"}, {"orderBy": "name; x"},
        {"pageSize": "0"}, {"pageSize": "-1"}, {"pageSize": "x"}, {"pageToken": "x"}, {"pageToken": "x" * 9_000},
        {"limit": "5"},
    ],
)  # fmt: skip
async def test_bad_lists_are_refused(api: Api, params: dict[str, str]) -> None:
    response = await api.get("/ard/agents", params=params)
    assert (response.status_code, response.json()["errorCode"]) == (400, "INVALID_ARGUMENT")


async def test_a_token_belongs_to_its_list(api: Api) -> None:
    token = (await api.json("/ard/agents", pageSize=1))["pageToken"]
    for params in ({"orderBy": "displayName"}, {"filter": "displayName = 'a'"}):
        response = await api.get("/ard/agents", params={"pageToken": token, **params})
        assert response.json()["type"] == "/api/problems/invalid-cursor"
    search = {"query": {"text": "x"}, "pageToken": token}
    assert (await api.post("/ard/search", json=search)).status_code == 400


async def test_an_entry_has_an_etag(api: Api) -> None:
    address = f"/ard/agents/{quote(URN, safe='')}"
    response = await api.get(address)
    assert response.headers["cache-control"].startswith("public")
    again = await api.get(address, headers={"If-None-Match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert (await api.client.head(address)).headers["etag"] == response.headers["etag"]


@pytest.mark.parametrize(
    "segment", [URN, quote(URN, safe=""), URN.replace(":", "%3a"), quote(URN, safe="").replace("t", "%74")]
)
async def test_an_identifier_is_decoded_once(api: Api, segment: str) -> None:
    assert (await api.json(f"/ard/agents/{segment}"))["identifier"] == URN


@pytest.mark.parametrize(
    ("segment", "status"),
    [
        (quote(quote(URN, safe=""), safe=""), 400),  # encoded twice
        (URN.upper(), 400), (URN.replace("tools.example", "Tools.example"), 404), (URN + "x", 404), (URN + ":x", 404),
        (URN.replace("mcp-server-card", "adp"), 404), (URN.replace("urn:air", "urn:ai"), 400),
        (f"urn%3Aair%3A{NOTHING}%3Aadp%3Anothing", 404), ("urn:air:a%2Fb:c:d", 400), ("urn:air:a/b:c:d", 400),
        ("%", 400), ("%zz", 400), ("%ff", 400), ("%00", 400), ("urn:air:", 400), ("urn:air:x:", 400), ("", 400),
        ("urn:air:x.example:" + "y" * 3_000, 400), ("urn:air:-.-:adp:-", 404), ("urn:air:1.2.3.4:adp:1", 404),
    ],
)  # fmt: skip
async def test_other_identifiers_are_refused(api: Api, segment: str, status: int) -> None:
    response = await api.get(f"/ard/agents/{segment}")
    assert response.status_code == status, response.text
    assert response.json()["errorCode"] == {400: "INVALID_ARGUMENT", 404: "NOT_FOUND"}[status]


# --- counts -----------------------------------------------------------------------------------------------------------


async def counted(api: Api, *facets: dict[str, Any], **query: Any) -> dict[str, Any]:
    response = await api.post("/ard/explore", json={"query": query, "resultType": {"facets": list(facets)}})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()["facets"]
    return answer


def numbers(facet: dict[str, Any]) -> dict[str, int]:
    return {bucket["value"]: bucket["count"] for bucket in facet["buckets"]}


async def test_counts_of_everything_are_those_of_the_list(api: Api) -> None:
    items = (await api.json("/ard/agents", pageSize=100))["items"]
    fields = {"type": "type", "metadata.waypost:category": "waypost:category", "publisher": "waypost:host"}
    facets = await counted(api, *({"field": field, "limit": 100} for field in fields))
    for field, key in fields.items():
        values = [entry.get(key) or entry["metadata"].get(key) for entry in items]
        assert numbers(facets[field]) == {value: values.count(value) for value in values if value}
        assert "otherCount" not in facets[field]


async def test_counts_of_a_question_are_those_of_its_results(api: Api) -> None:
    text = "sell something to visitors"
    results = (await api.post("/ard/search", json={"query": {"text": text}, "pageSize": 100})).json()["results"]
    types = [result["type"] for result in results]
    facets = await counted(api, {"field": "type"}, {"field": "metadata.waypost:trustLevel"}, text=text)
    assert numbers(facets["type"]) == {kind: types.count(kind) for kind in types}
    assert sum(numbers(facets["metadata.waypost:trustLevel"]).values()) == len(results)


async def test_limits_and_filters_of_counts(api: Api) -> None:
    facets = await counted(api, {"field": "publisher", "limit": 2}, {"field": "type", "minCount": 2})
    total = (await api.json("/ard/agents"))["total"]
    assert len(facets["publisher"]["buckets"]) == 2
    assert facets["publisher"]["otherCount"] == total - 2
    assert min(numbers(facets["type"]).values()) >= 2
    narrowed = await counted(api, {"field": "publisher"}, filter={"type": A2A})
    assert numbers(narrowed["publisher"]) == {CARD: 1}
    assert await counted(api, {"field": "type"}, filter={"type": "image/png"}) == {"type": {"buckets": []}}
    prefixed = await counted(
        api, {"field": "a:type"}, **{"@context": {"a": "https://agenticresourcediscovery.org/ns#"}}
    )
    assert sum(numbers(prefixed["a:type"]).values()) == total


@pytest.mark.parametrize(
    "body",
    [
        {}, {"resultType": "facets"}, {"resultType": {"facets": []}}, {"resultType": {"facets": [{"field": "tags"}]}},
        {"resultType": {"facets": [{"field": "type"}] * 11}}, {"resultType": {"facets": [{}]}},
        {"resultType": {"facets": [{"field": "identifier"}]}},
        {"resultType": {"facets": [{"field": "type", "limit": 0}]}},
        {"resultType": {"facets": [{"field": "type", "x": 1}]}}, {"resultType": {"facets": [{"field": "x" * 999}]}},
        {"query": 7, "resultType": {"facets": [{"field": "type"}]}},
        {"query": {"filter": {"x": "y"}}, "resultType": {"facets": [{"field": "type"}]}},
    ],
)  # fmt: skip
async def test_bad_counts_are_refused(api: Api, body: Any) -> None:
    response = await api.post("/ard/explore", json=body)
    assert (response.status_code, response.json()["errorCode"]) == (400, "INVALID_ARGUMENT")


async def test_the_description_names_the_operations(api: Api) -> None:
    about = await api.json("/ard")
    assert about == await api.json("/ard/")
    for name in ("search", "explore", "agents", "openapi"):
        path = about[name].removeprefix("https://registry.example")
        assert (await api.get(path)).status_code in (200, 405)
