"""Checks of sites over HTTP: who may ask, who may read, and when the answer is gone. The test is the worker."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from jsonschema_rs import validator_for

from registry.actions.site_checks import KEPT_FOR, MAX_OF_CLIENT, MAX_OF_DOMAIN, result_of_visit
from registry.core.access.holds import Hold
from registry.core.visiting.visits import HostJob
from registry.store.records import OptOutRecord
from tests.api.sites import PIGEON, SITES
from tests.support.api import Api
from tests.support.builders import NOW, visit
from tests.support.database import rows

pytestmark = pytest.mark.slow  # a database and an index for each

PATH = "/api/checks"
NEW_HOST = "never-seen.com"


async def asked(api: Api, target: Any = PIGEON, client: str = "203.0.113.9") -> httpx2.Response:
    return await api.post(PATH, json={"target": target}, headers={"X-Forwarded-For": client})


async def made(api: Api, host: str = PIGEON) -> None:
    """Make the waiting checks, as a worker does, of a host that serves what the registry knows of it."""
    for due in await api.waypost.site_checks.take(10):
        job = HostJob(due.host, whole_plan=True, named=True)
        result = result_of_visit(due.host, visit(job, SITES[host]), now=NOW)
        await api.waypost.site_checks.settle(due.id, result, sent=7)


async def test_a_check_is_private_to_its_asker_and_can_be_passed_on(own_api: Api) -> None:
    answer = await asked(own_api)
    assert (answer.status_code, answer.headers["cache-control"]) == (202, "no-store, no-transform")
    url = answer.json()["data"]["status_url"]
    assert answer.headers["location"] == url
    path = url[url.index("/api/") :]
    waiting = (await own_api.json(path))["data"]
    assert (waiting["state"], waiting["worker"], waiting["listed"], waiting["result"]) == ("waiting", False, True, None)
    await made(own_api)
    done = await own_api.get(path)
    assert "private" in done.headers["cache-control"] or "no-store" in done.headers["cache-control"]
    data = done.json()["data"]
    assert (data["state"], data["result"]["outcome"], data["result"]["host"]) == ("done", "found", PIGEON)
    assert data["result"]["documents"][0]["format"] and data["result"]["score"] > 0
    wrong = path[:-43] + "A" * 43
    for other in (wrong, f"{PATH}/none", f"{PATH}/" + "x" * 100, path.replace("wp_check", "wp_claim")):
        assert (await own_api.get(other)).status_code == 404, other


async def test_answers_have_the_documented_shape(own_api: Api) -> None:
    described = await own_api.json("/openapi.json")
    schema = described["paths"][f"{PATH}/{{token}}"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    path = (await asked(own_api)).json()["data"]["status_url"].partition("registry.example")[2]
    await made(own_api)
    check = validator_for({**schema, "components": described["components"]})
    check.validate(await own_api.json(path))


@pytest.mark.parametrize(
    "target",
    ["", "no host", "localhost", "http://pigeonpost.dev/", "https://10.0.0.1/", "https://pigeonpost.dev:8443/",
     "ftp://x.com/", "a" * 2_048, "\u202e.com", "https://[::1]/", "x@y.com", "\x00"],
)  # fmt: skip
async def test_what_is_no_public_host_is_refused_without_being_repeated(api: Api, target: str) -> None:
    answer = await asked(api, target)
    assert answer.status_code == 400, answer.text
    assert len(target) < 8 or target not in answer.text


@pytest.mark.parametrize("body", [{}, {"target": 1}, [], {"target": "x" * 3_000}])
async def test_bodies_of_another_shape_are_refused(api: Api, body: Any) -> None:
    assert (await api.post(PATH, json=body)).status_code == 400


async def test_hosts_that_are_never_visited_are_not_checked(own_api: Api) -> None:
    async with own_api.store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord(NEW_HOST, NEW_HOST, "file", "test", NOW)])
        await uow.holds.put(Hold("held.com", "held.com", "blocked", True, "operator", "", NOW))
    assert (await asked(own_api, f"www.{NEW_HOST}")).json()["type"] == "/api/problems/opted-out"
    assert (await asked(own_api, "held.com")).json()["type"] == "/api/problems/blocked"


async def test_a_site_that_opts_out_meanwhile_is_not_visited(own_api: Api) -> None:
    await asked(own_api, NEW_HOST)
    async with own_api.store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord(NEW_HOST, NEW_HOST, "file", "test", NOW)])
    assert await own_api.waypost.site_checks.take(10) == []


async def test_nobody_uses_up_the_checks_of_a_client_or_a_site(own_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await asked(own_api, NEW_HOST)).status_code == 202
    too_soon = await asked(own_api, NEW_HOST, "203.0.113.10")
    assert (too_soon.status_code, too_soon.json()["code"]) == (429, "too_soon")
    assert 0 < int(too_soon.headers["retry-after"]) <= 60
    monkeypatch.setattr("registry.actions.site_checks.AGAIN_AFTER", timedelta())
    states = [(await own_api.waypost.site_checks.ask(f"h{n}.com", client="one")) for n in range(MAX_OF_CLIENT + 1)]
    assert [getattr(one, "why", None) for one in states] == [None] * MAX_OF_CLIENT + ["client_budget"]
    states = [await own_api.waypost.site_checks.ask(f"h{n}.{NEW_HOST}", client=f"c{n}") for n in range(MAX_OF_DOMAIN)]
    assert [getattr(one, "why", None) for one in states] == [None] * (MAX_OF_DOMAIN - 1) + ["domain_budget"]


async def test_a_check_and_its_result_are_deleted_after_a_day(own_api: Api) -> None:
    path = (await asked(own_api)).json()["data"]["status_url"].partition("registry.example")[2]
    await made(own_api)
    clients = await rows(own_api.store, "SELECT client FROM site_checks")
    assert "203.0.113.9" not in str(clients)
    later = replace(own_api.waypost.site_checks, _clock=lambda: own_api.waypost.site_checks._clock() + KEPT_FOR)
    assert await later.status(path.rpartition("/")[2]) is None
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE site_checks SET expires_at = now()")
    assert (await own_api.get(path)).status_code == 404
    await own_api.waypost.frontier.erase_clients()
    assert await rows(own_api.store, "SELECT FROM site_checks") == []


async def test_checks_of_one_domain_are_made_one_after_the_other(own_api: Api) -> None:
    for host in (NEW_HOST, f"www.{NEW_HOST}", "other-site.com"):
        assert (await asked(own_api, host)).status_code == 202
    first = await own_api.waypost.site_checks.take(10)
    assert sorted(one.domain for one in first) == [NEW_HOST, "other-site.com"]
    assert await own_api.waypost.site_checks.take(10) == ()
    await own_api.waypost.site_checks.settle(first[0].id, {"outcome": "absent"}, sent=1)
    await own_api.waypost.site_checks.settle(first[1].id, {"outcome": "absent"}, sent=1)
    assert [one.host for one in await own_api.waypost.site_checks.take(10)] == [f"www.{NEW_HOST}"]


async def test_a_domain_that_is_being_visited_is_not_checked_now(own_api: Api) -> None:
    await own_api.waypost.frontier.submit(NEW_HOST)
    await asked(own_api, NEW_HOST)
    lease = "lease_token = gen_random_uuid(), next_visit_at = now() + interval '1 hour'"
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql(f"UPDATE domains SET {lease} WHERE domain = '{NEW_HOST}'")
    assert await own_api.waypost.site_checks.take(10) == ()
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE domains SET lease_token = NULL, next_visit_at = now()")
    assert len(await own_api.waypost.site_checks.take(10)) == 1
    due = await rows(own_api.store, f"SELECT next_visit_at > now() FROM domains WHERE domain = '{NEW_HOST}'")
    assert due == [(True,)], "its visit waits for the check"
