"""From a sentence to a call: rows say whether and where a capability can be called, and their record says the same."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from registry.actions.queries.calls import RequestedCalls, make_calls
from registry.store.cards import StoredCalls
from tests.api.sites import BIKES, CARD, ELSEWHERE, PIGEON, TOOLS
from tests.api.test_contract import LISTED
from tests.support.api import PUBLIC_URL, Api
from tests.support.builders import Page, adp_detail, adp_manifest, crawl
from tests.support.database import rows

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTIONS = ("create a parcel", "price a parcel", "rent a bicycle", "book a table", "weather forecast", "sell shoes",
             "sell hats", "greets visitors")  # fmt: skip


async def record_of(api: Api, row: dict[str, Any]) -> Any:
    assert row["record_url"].startswith(PUBLIC_URL)
    response = await api.get(row["record_url"].removeprefix(PUBLIC_URL))
    assert response.status_code == 200, response.text
    return response.json()


async def test_rows_and_records_agree(api: Api) -> None:
    seen = {}
    for question in QUESTIONS:
        for row in (await api.json("/api/discover", q=question, limit=50))["data"]:
            for capability in row["matching_capabilities"]:
                record = await record_of(api, capability)
                call, missing = record["call"], record.get("missing", {})
                assert capability["callable"] is (call is not None)
                assert capability["not_callable"] == missing.get("reason")
                assert capability["kind"] == (call and call["kind"])
                assert capability["method"] == (call and call["request"]["method"])
                assert capability["address"] == (call and call["request"]["url"])
                seen[row["service"]["domain"], capability["name"]] = capability["not_callable"] or capability["kind"]
    assert seen[PIGEON, "create_parcel"] == "http" and seen[PIGEON, "price_parcel"] == "detail_missing_at_site"
    assert seen[ELSEWHERE, "sell_shoes"] == "detail_elsewhere" and seen[BIKES, "rent_bike"] == "http"
    assert (seen[CARD, "Book a table"], seen[TOOLS, "get_forecast"]) == ("a2a_skill", "mcp_tool")


# --- the brief view


async def test_a_brief_row_has_what_leads_to_the_call(api: Api) -> None:
    answer = await api.json("/api/discover", q="rent a bicycle", view="brief")
    assert (answer["confident"], answer["nearest"], answer["query"]) == (True, False, "rent a bicycle")
    first = answer["data"][0]
    assert (first["domain"], first["trust"], first["confident"]) == (BIKES, "verified", True)
    assert first["why"] == "Matches: rent, bicycle."
    full = (await api.json("/api/discover", q="rent a bicycle"))["data"][0]["matching_capabilities"][0]
    capability = first["capability"]
    assert capability == {key: full[key] for key in capability}
    assert {"callable", "kind", "method", "address", "record_url", "side_effects", "confident"} <= capability.keys()
    missing = (await api.json("/api/discover", q="price a parcel", view="brief"))["data"][0]["capability"]
    assert (missing["callable"], missing["not_callable"]) == (False, "detail_missing_at_site")


async def test_a_brief_answer_that_is_not_confident_has_at_most_three_rows(api: Api) -> None:
    question = "tickets and parcels and bicycles and hats and shoes for weather guests on the moon"
    vague = {"q": question, "include_unverified": "true"}
    full = await api.json("/api/discover", **vague)
    assert not full["confident"] and full["result_count"] > 3
    answer = await api.json("/api/discover", **vague, view="brief")
    assert (answer["confident"], answer["nearest"], answer["next_cursor"]) == (False, True, None)
    assert [row["domain"] for row in answer["data"]] == [row["service"]["domain"] for row in full["data"][:3]]
    assert answer["suggestions"]["known_words"]


async def test_brief_pages_continue(api: Api) -> None:
    whole = await api.json("/api/discover", q="parcels", view="brief")
    first = await api.json("/api/discover", q="parcels", view="brief", limit=1)
    rest = await api.json("/api/discover", q="parcels", view="brief", cursor=first["next_cursor"])
    assert first["data"] + rest["data"] == whole["data"] and len(whole["data"]) > 1


async def test_views_are_named(api: Api) -> None:
    response = await api.get("/api/discover", params={"q": "parcels", "view": "short"})
    assert (response.status_code, response.json()["errors"]) == (400, ["view: must be full or brief"])


# --- the call in the row


async def test_one_request_leads_to_the_call(api: Api) -> None:
    """Both views show the `call` of the record; null without one."""
    for question in QUESTIONS:
        full = (await api.json("/api/discover", q=question, include="call"))["data"]
        for row in full:
            for capability in row["matching_capabilities"]:
                assert capability["call"] == (await record_of(api, capability))["call"]
                assert "call" in capability["untrusted_text"]
        answer = await api.json("/api/discover", q=question, view="brief", include="call", limit=1)
        shown = answer["data"][0]["capability"]
        assert shown["call"] == full[0]["matching_capabilities"][0]["call"] if shown else True
    assert "call" not in (await api.json("/api/discover", q="rent a bicycle"))["data"][0]["matching_capabilities"][0]


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"include": "calls"}, "include: must be one or more of call, separated by commas"),
        ({"include": "call", "limit": "11"}, "limit: must be at most 10 with include=call"),
    ],
)
async def test_what_is_included_is_bounded(api: Api, wrong: dict[str, str], fault: str) -> None:
    response = await api.get("/api/discover", params={"q": "parcels", **wrong})
    assert (response.status_code, response.json()["errors"]) == (400, [fault])


@pytest.mark.asyncio(loop_scope="function")
@pytest.mark.parametrize("stored", [40_000, 300_000])
async def test_a_call_that_is_too_large_stays_in_its_record(own_api: Api, stored: int) -> None:
    large = {"values": {"bike_id": "x" * stored}, "derived": [], "missing": []}
    async with own_api.store.engine.begin() as connection:
        statement = "UPDATE capabilities SET example = %s WHERE name = 'rent_bike'"
        await connection.exec_driver_sql(statement, (json.dumps(large),))
    row = (await own_api.json("/api/discover", q="rent a bicycle", include="call"))["data"][0]
    capability = row["matching_capabilities"][0]
    assert (capability["name"], capability["callable"], capability["call"]) == ("rent_bike", True, None)
    assert (await record_of(own_api, capability))["call"]["arguments"] == large["values"]


@pytest.mark.asyncio(loop_scope="function")
async def test_a_brief_row_has_few_bytes_whatever_a_site_writes(own_api: Api) -> None:
    """Names and addresses that clients send back are whole, or not there."""
    host, name = "verbose.example", "grow_mushrooms"
    manifest = adp_manifest(host, name, *(f"grow_mushrooms_{n}_{'y' * 150}" for n in range(3)))
    manifest |= {"name": "Mushrooms " * 40, "description": "キノコを育てる。" * 200}
    for entry in manifest["capabilities"]:
        entry["description"] = "Grows mushrooms. " + "キノコを育てる。" * 200
    endpoint = f"/v1/{'z' * 500}"
    site = {"/.well-known/agent": Page(manifest), f"/caps/{name}": Page({**adp_detail(name), "endpoint": endpoint})}
    await crawl(own_api.store, {host: site}, datetime.now(UTC).replace(microsecond=0))
    await own_api.waypost.search.reindex()
    (row, *_) = (await own_api.json("/api/discover", q="grow mushrooms", view="brief"))["data"]
    assert (row["domain"], row["capability"]["name"], row["capability"]["address"]) == (host, name, None)
    assert row["capability"]["callable"] is True and row["capability"]["description"].startswith("Grows mushrooms.")
    assert len(json.dumps(row, ensure_ascii=False).encode()) < 900


@pytest.mark.asyncio(loop_scope="function")
async def test_rows_recorded_by_an_earlier_program_are_right(own_api: Api) -> None:
    now = [await own_api.json("/api/discover", q=question) for question in QUESTIONS]
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE capabilities SET reach = NULL")
    earlier = [(await own_api.json("/api/discover", q=question, limit=50)) for question in QUESTIONS]
    assert [answer["data"] for answer in earlier] == [answer["data"] for answer in now]


@pytest.mark.asyncio(loop_scope="function")
async def test_upkeep_stores_what_an_earlier_program_did_not_record(own_api: Api) -> None:
    """The reach of capabilities, and its filter in the list and in the index; services do not count as changed."""
    wanted = "SELECT host, name, reach FROM capabilities ORDER BY host, name"
    shown = "SELECT host, listing_hash, updated_at FROM services ORDER BY host"
    before = [await rows(own_api.store, statement) for statement in (wanted, shown)]
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE capabilities SET reach = NULL")
        await connection.exec_driver_sql(
            r"UPDATE services SET listing_hash = '\x00', listing = regexp_replace("
            r"listing::text, ', \"callability\": \"[a-z]*\"', '', 'g')::jsonb"
        )
    assert await own_api.waypost.maintenance.fill_reach() == len(LISTED)
    assert [await rows(own_api.store, statement) for statement in (wanted, shown)] == before
    assert await own_api.waypost.maintenance.fill_reach() == 0


async def test_a_service_without_stored_members_has_calls() -> None:
    invocation = {"kind": "http", "endpoint": "https://a.example/x", "method": "GET"}
    capability = {"id": "look", "name": "look", "invocations": [invocation]}
    stored = StoredCalls("a.example", b"", json.dumps([[capability, None, None, None]]).encode())
    [call] = make_calls(RequestedCalls([("a.example", "look")], [stored])).values()
    assert call["example"]["url"] == "https://a.example/x"
