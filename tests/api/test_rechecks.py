"""Visits that are asked for over HTTP, and the status of all services, in the shapes of the registry contract."""

import asyncio
from datetime import UTC, datetime

import pytest

from registry.actions.frontier.recheck import MOST_OF_CLIENT_AND_DOMAIN
from registry.core.model.documents import Outcome
from registry.store.records import OptOutRecord
from tests.api.sites import BIKES, FAILING, NEW, NOTHING, PIGEON, SITES
from tests.support import shapes
from tests.support.api import PUBLIC_URL, Api
from tests.support.builders import ADP, Page, Site, crawl, take
from tests.support.hang import HANG_SECONDS
from tests.support.shapes import assert_shape

STATUS_URL = f"{PUBLIC_URL}/api/services/{PIGEON}/status"


async def visited(api: Api, host: str, site: Site) -> None:
    """Visit the host once somebody has asked for it, as a worker does."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            async with api.store.begin() as uow:
                known = await uow.hosts.get(".".join(host.split(".")[-2:]), host)
            if known is not None and known.submitted_at is not None:
                await crawl(api.store, {**SITES, host: site}, datetime.now(UTC))
                return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("path", [f"/api/verify/{PIGEON}", f"/api/health/{PIGEON}"])
async def test_a_client_waits_for_the_visit(own_api: Api, path: str) -> None:
    worker = asyncio.create_task(visited(own_api, PIGEON, SITES[PIGEON]))
    response = await own_api.post(f"{path}?wait=20")
    await worker
    assert response.status_code == 200, response.text
    if "verify" in path:
        assert_shape(shapes.VERIFIED, response.json())
        data = response.json()["data"]
        assert (data["domain"], data["verified"], data["trust_level"]) == (PIGEON, True, "verified")
        assert (data["detail_url_ok"], data["response_time_ms"]) == (True, 20)
    else:
        assert_shape(shapes.CHECKED, response.json())
        data = response.json()["data"]
        assert (data["status"], data["response_time_ms"], data["queued"]) == ("up", 20, False)
    assert data["status_url"] == STATUS_URL


async def test_a_mended_host_is_verified_and_one_that_broke_is_told_why(own_api: Api) -> None:
    worker = asyncio.create_task(visited(own_api, NOTHING, {ADP: Page(b'{"spec_version": "1.0", }')}))
    response = await own_api.post(f"/api/verify/{NOTHING}?wait=20")
    await worker
    assert response.status_code == 422
    assert_shape(shapes.NOT_VERIFIED, response.json())
    assert any("malformed" in error for error in response.json()["errors"])


async def test_an_answer_that_does_not_wait_has_what_was_known_before(own_api: Api) -> None:
    for path, schema in (("verify", shapes.VERIFIED), ("health", shapes.CHECKED)):
        response = await own_api.post(f"/api/{path}/{PIGEON}?wait=0")
        assert response.status_code == 202, response.text
        assert_shape(schema, response.json())
        assert response.headers["location"] == STATUS_URL
    assert response.json()["data"]["queued"] is True
    assert (await own_api.post(f"/api/verify/{NOTHING}?wait=0")).json()["data"]["trust_level"] is None
    lease = await take(own_api.store, now=datetime.now(UTC))
    assert lease is not None
    assert {PIGEON, NOTHING} <= {host.host for job in lease.domains for host in job.hosts}


async def test_refusals_say_when_to_come_back(own_api: Api) -> None:
    for number in range(MOST_OF_CLIENT_AND_DOMAIN + 1):
        response = await own_api.post(f"/api/verify/{BIKES}?wait=0")
        if number == MOST_OF_CLIENT_AND_DOMAIN:
            break
        assert response.status_code == 202, response.text
        await crawl(own_api.store, SITES, datetime.now(UTC))
        if number == 0:
            early = await own_api.post(f"/api/verify/{BIKES}?wait=0")
            assert (early.status_code, early.json()["code"]) == (429, "too_soon")
            assert 30 < int(early.headers["retry-after"]) <= 60
        async with own_api.store.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE hosts SET last_visit_at = last_visit_at - interval '6 minutes'")
    assert (response.status_code, response.json()["code"]) == (429, "client_budget")
    assert_shape(shapes.FAILED, response.json())
    assert 86_000 < int(response.headers["retry-after"]) <= 86_400


async def test_unknown_hosts_are_404(own_api: Api) -> None:
    for host in ("unknown.example", NEW, "%00", "no host", "10.0.0.1"):
        for path in ("verify", "health"):
            response = await own_api.post(f"/api/{path}/{host}")
            assert response.status_code == 404, (path, host)
            assert_shape(shapes.FAILED, response.json())
    assert (await own_api.post(f"/api/health/{NOTHING}")).status_code == 404, "nothing is listed there"


async def test_a_host_that_opted_out_is_left_alone(own_api: Api) -> None:
    async with own_api.store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord(PIGEON, "pigeonpost.example", "file", "", datetime.now(UTC))])
        await uow.opt_outs.add([OptOutRecord("pigeonpost.example", PIGEON, "file", "", datetime.now(UTC))])
    response = await own_api.post(f"/api/verify/{PIGEON}")
    assert (response.status_code, response.json()["type"]) == (403, "/api/problems/opted-out")
    status = (await own_api.json(f"/api/services/{PIGEON}/status"))["data"]
    assert (status["state"], status["freshness"]["state"]) == ("opted_out", "opted_out")


async def test_a_failed_check_is_down(own_api: Api) -> None:
    down = Page(failure=Outcome.UNREACHABLE, reason="connect_timeout")
    worker = asyncio.create_task(visited(own_api, BIKES, down))
    response = await own_api.post(f"/api/health/{BIKES}?wait=20")
    await worker
    assert (response.status_code, response.json()["data"]["status"]) == (200, "down")


async def test_the_status_shows_the_worst_first(own_api: Api) -> None:
    status = await own_api.json("/api/status")
    assert_shape(shapes.STATUS, status)
    data = status["data"]
    assert (data["overall_status"], data["down"]) == ("degraded", 1)
    assert data["reasons"][0] == "1 service is down."
    assert data["healthy"] + data["degraded"] + data["down"] == data["total_monitored"] == len(data["services"])
    first, second = data["services"][:2]
    assert (first["domain"], first["status"], first["freshness"]["state"]) == (FAILING, "down", "failing")
    assert (first["uptime_percentage"], first["trust_level"]) == (0.0, "unverified")
    assert (second["status"], second["freshness"]["state"], second["uptime_percentage"]) == ("up", "fresh", 100.0)
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE services SET trust_level = 'unverified'")
        await connection.exec_driver_sql("DELETE FROM visits")
    data = (await own_api.json("/api/status"))["data"]
    assert (data["overall_status"], data["services"][0]["uptime_percentage"]) == ("down", None)
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE services SET hidden = true")
    data = (await own_api.json("/api/status"))["data"]
    assert (data["overall_status"], data["services"], data["last_updated"]) == ("degraded", [], None)
    assert data["reasons"][0] == "No service is listed."
    assert (await own_api.json("/api/health"))["data"]["status"] == "degraded"  # nothing is healthy where nothing is


async def test_every_row_has_its_state(own_api: Api) -> None:
    found = await own_api.json("/api/discover", q="send a parcel")
    assert found["data"][0]["service"]["freshness"]["state"] == "fresh"
    listed = await own_api.json("/api/services", include_unverified="true")
    states = {row["domain"]: row["freshness"]["state"] for row in listed["data"]}
    assert states[PIGEON] == "fresh" and states[FAILING] == "failing"
    assert (await own_api.json(f"/api/services/{PIGEON}"))["data"]["freshness"]["state"] == "fresh"
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE services SET seen_at = seen_at - interval '1 year'")
    row = (await own_api.json("/api/services", include_unverified="true"))["data"][0]
    assert (row["freshness"]["state"], row["freshness"]["stale"]) == ("stale", True)
    assert (await own_api.json(f"/api/services/{NOTHING}/status"))["data"]["freshness"]["state"] == "never_validated"


async def test_the_submission_limit_counts_visits_that_are_asked_for(own_api: Api) -> None:
    response = await own_api.post(f"/api/verify/{PIGEON}?wait=0")
    assert '"submissions"' in response.headers["ratelimit-policy"]
