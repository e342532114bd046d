"""Copies in /api/discover: one row, what it says of the others, and how to see them all."""

from typing import Any

from tests.actions.catalogue import put
from tests.search.folding_contract import POST, copies_of
from tests.support.api import Api


async def discover(api: Api, **params: Any) -> Any:
    return await api.json("/api/discover", q="pigeon post local couriers in every town", limit=50, **params)


async def test_a_row_stands_for_its_copies_unless_all_are_asked_for(own_api: Api) -> None:
    copies = copies_of(POST, 39)
    await put(own_api.store, POST, *copies)
    await own_api.waypost.search.drain()
    folded = await discover(own_api)
    row = folded["data"][0]
    assert [entry["service"]["name"] for entry in folded["data"]].count("Pigeon Post") == 1
    assert row["service"]["domain"] == "pigeons.example"
    assert row["alike"] == row["alike_of_others"] == [copy.host for copy in copies[:5]]
    assert row["alike_total"] == 39
    everything = await discover(own_api, unique="false")
    assert everything["total"] == folded["total"] + 39
    assert {entry["alike_total"] for entry in everything["data"]} == {0}
    assert (await discover(own_api, unique="true"))["data"] == folded["data"]
    assert (await own_api.get("/api/discover?q=x&unique=no")).status_code == 400
    assert (await discover(own_api, domain="copy017.example"))["data"][0]["service"]["domain"] == "copy017.example"
    named = await own_api.json("/api/discover", q="copy017.example")
    assert (named["data"][0]["service"]["domain"], named["confident"]) == ("copy017.example", True)
