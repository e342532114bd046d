"""The probes of the official conformance tool (ard-spec, conformance/bin/conformance-test, version 0.9.1)."""

import re
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.sites import SITES
from tests.support.api import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")

URN = re.compile(r"^urn:air:([a-zA-Z0-9.-]+)(?::([a-zA-Z0-9._:-]+))?:([a-zA-Z0-9._-]+)$")
WEATHER = {
    "query": {"text": "weather forecast tools", "filter": {"type": ["application/mcp-server-card+json"]}},
    "federation": "none",
    "pageSize": 2,
}


def check_entry(entry: dict[str, Any]) -> None:
    assert URN.match(entry["identifier"])
    assert entry["displayName"]
    assert entry["type"]
    assert ("url" in entry) != ("data" in entry)
    assert all(isinstance(value, str | int | bool) or value is None for value in entry["metadata"].values())


async def test_the_list(api: Api) -> None:
    items = (await api.json("/ard/agents"))["items"]
    assert items
    for entry in items:
        check_entry(entry)
        assert entry["identifier"].split(":")[2] in SITES


async def test_search(api: Api) -> None:
    response = await api.post("/ard/search", json=WEATHER)
    assert response.status_code == 200
    results = response.json()["results"]
    assert results
    for result in results:
        check_entry(result)
        assert type(result["score"]) is int
        assert 0 <= result["score"] <= 100
        assert result["source"] == "https://registry.example/ard"


async def test_every_entry_is_found_by_its_identifier(api: Api) -> None:
    for listed in (await api.json("/ard/agents"))["items"]:
        entry = await api.json(f"/ard/agents/{quote(listed['identifier'], safe='')}")
        assert entry == listed
        check_entry(entry)
        assert not {"score", "source"} & entry.keys()


@pytest.mark.parametrize(
    ("identifier", "status", "code"),
    [
        ("urn:air:ard-conformance.invalid:probe:not-found", 404, "NOT_FOUND"),
        ("not-a-valid-ard-urn", 400, "INVALID_ARGUMENT"),
    ],
)
async def test_look_ups_that_fail(api: Api, identifier: str, status: int, code: str) -> None:
    response = await api.get(f"/ard/agents/{quote(identifier, safe='')}")
    assert (response.status_code, response.json()["errorCode"]) == (status, code)
    assert response.json()["message"]


async def test_explore(api: Api) -> None:
    question = {"query": {"text": "weather"}, "resultType": {"facets": [{"field": "type"}]}}
    answer = (await api.post("/ard/explore", json=question)).json()
    assert answer["resultType"] == "facets"
    assert answer["facets"]["type"]["buckets"]
