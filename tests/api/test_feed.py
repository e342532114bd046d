"""`GET /api/feed` and its stream, through the whole application and over real sockets."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import jsonschema_rs
import orjson
import pytest

from registry.api import feed
from registry.core.changes.kinds import KINDS, Types
from registry.core.names.domains import registrable_domain
from registry.store.records import ChangeRecord
from tests.actions.test_prune import KEEP
from tests.api.sites import PIGEON
from tests.api.test_openapi import DOCUMENT, faults, resolved
from tests.support.api import PUBLIC_URL, Api
from tests.support.builders import ADP, Page, adp_manifest, crawl, on
from tests.support.database import until_true

NOW = datetime.now(UTC).replace(microsecond=0)
WORKING_TIME = timedelta(hours=1)


async def add(api: Api, *hosts: str, kind: str = "service.delisted", at: datetime = NOW, **data: Any) -> None:
    async with api.store.begin() as uow:
        await uow.ledger.add_changes([ChangeRecord(registrable_domain(host), host, kind, at, data) for host in hosts])


async def end(api: Api) -> str:
    """Return the cursor after the latest event."""
    cursor: str = (await api.json("/api/feed", cursor="latest"))["cursor"]
    return cursor


def ids(page: dict[str, Any]) -> list[str]:
    return [event["event_id"] for event in page["events"]]


# --- pages ----------------------------------------------------------------------------------------------------------


async def test_a_reader_that_sends_back_the_cursor_sees_each_event_once(own_api: Api) -> None:
    whole = await own_api.json("/api/feed", limit=1000)
    assert len(whole["events"]) > 5
    assert not whole["has_more"]
    seen, page = [], await own_api.json("/api/feed", limit=2)
    while page["events"]:
        seen += ids(page)
        page = await own_api.json("/api/feed", limit=2, cursor=page["cursor"])
    assert seen == ids(whole) == sorted(set(seen))
    assert page["cursor"] == whole["cursor"]
    assert {event["type"] for event in whole["events"]} <= set(KINDS)


async def test_freshness_tells_when_the_latest_event_was(own_api: Api) -> None:
    await add(own_api, "a.example", at=NOW - WORKING_TIME)
    fresh = (await own_api.json("/api/feed"))["freshness"]
    assert fresh["latest_event_at"] == (NOW - WORKING_TIME).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert 3_600 <= fresh["lag_seconds"] < 2 * 3_600  # NOW is when the module was loaded
    assert fresh["retention_days"] == own_api.waypost.settings.keep_changes_days


async def test_types_filter_and_bind_the_cursor(own_api: Api) -> None:
    await on(own_api.store).opt_outs.forget(PIGEON, opt_out="operator", reason="a secret reason", evidence="a letter")
    page = await own_api.json("/api/feed", types="host.*")
    assert [event["type"] for event in page["events"]] == ["host.blocked", "host.forgotten"]
    assert {event["entity"]["kind"] for event in page["events"]} == {"host"}
    assert "secret" not in orjson.dumps(page).decode()
    both = await own_api.json("/api/feed", types="host.forgotten,host.*", limit=1)
    other = await own_api.get("/api/feed", params={"types": "host.*", "cursor": both["cursor"]})
    assert (other.status_code, other.json()["type"]) == (400, "/api/problems/invalid-cursor")
    assert "types" in other.json()["detail"]
    assert (await own_api.get("/api/feed", params={"cursor": page["cursor"]})).status_code == 400


@pytest.mark.parametrize(
    "query",
    ["cursor=", "cursor=x", "cursor=%00", "cursor=" + "A" * 34, "cursor=" + "A" * 41, "limit=0", "limit=-1", "wait=-1",
     "types=", "types=service", "types=service.*,", "types=SERVICE.LISTED", "after=1", "limit=1&limit=2"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/api/feed", "/api/feed/stream"])
async def test_bad_input_is_a_400_that_repeats_nothing(own_api: Api, path: str, query: str) -> None:
    refused = await own_api.get(f"{path}?{query}")
    assert refused.status_code == 400, refused.text
    assert refused.headers["content-type"] == "application/problem+json"


async def test_a_cursor_that_is_too_old_names_the_dump(own_api: Api) -> None:
    await add(own_api, "old.example", at=NOW)
    page = await own_api.json("/api/feed", limit=1)
    await on(own_api.store, NOW + timedelta(days=200)).maintenance.prune(KEEP)
    for path in ("/api/feed", "/api/feed/stream"):
        expired = await own_api.get(path, params={"cursor": page["cursor"]})
        assert expired.status_code == 410
        problem = expired.json()
        assert (problem["code"], problem["dump"]) == ("cursor_expired", f"{PUBLIC_URL}/dumps/manifest.json")
        assert problem["type"] == "/api/problems/cursor-expired"
    assert (await own_api.json("/api/feed"))["events"] == []


async def test_an_opted_out_host_leaves_tombstones_without_content(own_api: Api) -> None:
    before = await own_api.json("/api/feed", limit=1000)
    name = next(event["payload"]["name"] for event in before["events"] if event["entity"]["id"] == PIGEON)
    await on(own_api.store).opt_outs.forget(PIGEON, opt_out="file", evidence="https://x/")
    after = await own_api.json("/api/feed", limit=1000)
    assert ids(after)[: len(ids(before))] == ids(before)
    of_host = [event for event in after["events"] if event["entity"]["id"] == PIGEON]
    assert of_host[0]["payload"] == {"redacted": True, "state": "fresh"}
    assert [(event["type"], event["payload"]["state"]) for event in of_host[-3:]] == [
        ("service.delisted", "opted_out"), ("host.opted_out", "opted_out"), ("host.forgotten", "opted_out"),
    ]  # fmt: skip
    assert name not in orjson.dumps(of_host).decode()


async def test_events_restored_from_a_backup_stay_redacted(own_api: Api) -> None:
    await on(own_api.store).opt_outs.forget(PIGEON, opt_out="file", evidence="https://x/")
    await add(own_api, PIGEON, f"sub.{PIGEON}", f"x{PIGEON}", kind="service.changed", name="Restored", state="fresh")
    events = (await own_api.json("/api/feed", limit=1000))["events"][-3:]
    assert [event["payload"].get("name") for event in events] == [None, None, "Restored"]


async def test_a_change_says_which_capability_changed_and_how(own_api: Api) -> None:
    cursor = await end(own_api)
    manifest = adp_manifest(PIGEON, "create_parcel", "recall_pigeon")
    manifest["description"] = "Now with recall."
    await crawl(own_api.store, {PIGEON: {ADP: Page(manifest)}}, NOW + timedelta(days=30))
    changes = await own_api.json("/api/feed", cursor=cursor)
    (payload,) = [event["payload"] for event in changes["events"] if event["entity"]["id"] == PIGEON]
    assert {"capabilities", "description"} <= set(payload["changed"])
    assert "recall_pigeon" in [entry["name"] for entry in payload["capabilities"]["added"]]
    assert payload["capabilities"]["removed"]
    assert {"op", "path", "value", "old"} == set(
        next(one for one in payload["difference"] if one["path"] == "/description")
    )
    prints = payload["fingerprint"]
    assert prints["before"] != prints["after"]
    assert payload["cause"] == "visit"
    assert payload["untrusted_text"] == ["name", "capabilities", "difference"]


async def test_events_match_the_document(own_api: Api) -> None:
    for kind in KINDS:
        await add(own_api, "a.example", kind=kind)
    schema = DOCUMENT["components"]["schemas"]["FeedPage"]
    assert faults(schema, await own_api.json("/api/feed", limit=1000)) == []


async def test_cloud_events_are_the_same_events(own_api: Api) -> None:
    plain = await own_api.get("/api/feed?limit=3&types=service.*")
    rendered = await own_api.get("/api/feed?limit=3&types=service.*", headers={"Accept": feed.CLOUD_EVENTS})
    assert rendered.headers["content-type"] == feed.CLOUD_EVENTS
    assert {response.headers["vary"] for response in (plain, rendered)} == {"Accept, Accept-Encoding"}
    schema = DOCUMENT["paths"]["/api/feed"]["get"]["responses"]["200"]["content"][feed.CLOUD_EVENTS]["schema"]
    assert list(jsonschema_rs.iter_errors(resolved(schema), rendered.json())) == []
    for event, cloud_event in zip(plain.json()["events"], rendered.json(), strict=True):
        assert cloud_event["id"] == event["event_id"]
        assert cloud_event["data"] == event["payload"]
        assert (cloud_event["source"], cloud_event["subject"]) == (PUBLIC_URL, event["entity"]["id"])
        assert cloud_event["type"] == f"dev.waypost.{event['type']}"
    link = rendered.headers["link"].partition(">")[0].removeprefix(f"<{PUBLIC_URL}")
    following = await own_api.get(link, headers={"Accept": feed.CLOUD_EVENTS})
    assert following.status_code == 200
    assert following.json()[0]["id"] > rendered.json()[-1]["id"]
    assert rendered.headers["waypost-has-more"] == "true"


@pytest.mark.parametrize(
    ("accept", "is_rendered"),
    [("*/*", False), ("application/json", False), (feed.CLOUD_EVENTS, True),
     (f"{feed.CLOUD_EVENTS}, */*;q=0.1", True), (f"application/json, {feed.CLOUD_EVENTS};q=0.5", False),
     (f"{feed.CLOUD_EVENTS};q=0", False), (f"{feed.CLOUD_EVENTS};q=x", False), (";;,q=1", False)],
)  # fmt: skip
async def test_accept_chooses_the_rendering(own_api: Api, accept: str, is_rendered: bool) -> None:
    answer = await own_api.get("/api/feed?limit=1", headers={"Accept": accept})
    assert isinstance(answer.json(), list) is is_rendered


# --- long polls -----------------------------------------------------------------------------------------------------


async def test_a_long_poll_ends_with_the_event(own_api: Api) -> None:
    cursor = await end(own_api)
    waiting = [asyncio.create_task(own_api.json("/api/feed", cursor=cursor, wait=20)) for _ in range(5)]
    await until_true(lambda: _is_waiting(own_api, 5))
    await add(own_api, "news.example")
    for page in await asyncio.gather(*waiting):
        assert [event["entity"]["id"] for event in page["events"]] == ["news.example"]


async def test_a_long_poll_goes_on_past_events_of_other_types(own_api: Api) -> None:
    cursor = (await own_api.json("/api/feed", cursor="latest", types="host.*"))["cursor"]
    waiting = asyncio.create_task(own_api.json("/api/feed", cursor=cursor, types="host.*", wait=20))
    await until_true(lambda: _is_waiting(own_api, 1))
    await add(own_api, "a.example")
    await add(own_api, "b.example", kind="host.forgotten")
    assert [event["entity"]["id"] for event in (await waiting)["events"]] == ["b.example"]


async def test_a_long_poll_ends_when_the_server_stops(own_api: Api) -> None:
    cursor = await end(own_api)
    waiting = asyncio.create_task(own_api.json("/api/feed", cursor=cursor, wait=20))
    await until_true(lambda: _is_waiting(own_api, 1))
    own_api.waypost.feed.end_waiting()
    assert (await waiting)["events"] == []


async def test_readers_that_ask_the_same_at_once_share_one_page(own_api: Api) -> None:
    actions = own_api.waypost.feed
    place = (await actions.latest()).place
    pages = await asyncio.gather(*(actions.shared_page(place, Types(), 100) for _ in range(50)))
    assert len({id(page) for page in pages}) == 1
    assert await actions.shared_page(place, Types(), 100) is not pages[0]  # and never an older one


async def _is_waiting(api: Api, count: int) -> bool:
    return api.waypost.feed._waiting == count
