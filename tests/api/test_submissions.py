"""Lists of submitted hosts over HTTP: their answers, keys and states, and what is refused."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.store.submissions import SubmissionListRecord
from tests.api.sites import NEW, PIGEON, SITES
from tests.support import shapes
from tests.support.api import PUBLIC_URL, Api
from tests.support.builders import ADP, Page, adp_manifest, crawl
from tests.support.database import rows
from tests.support.shapes import assert_shape

EMPTY = "empty.pigeonpost.example"
PATH = "/api/submissions"


async def submitted(api: Api, *hosts: str, **headers: str) -> Any:
    response = await api.post(PATH, json={"hosts": list(hosts)}, headers=headers)
    assert response.status_code == 202, response.text
    return response.json()["data"]


async def test_the_states_of_a_list_are_shown_at_its_address(own_api: Api) -> None:
    data = await submitted(own_api, f"https://{NEW.upper()}/path", PIGEON, "10.0.0.1", NEW)
    UUID(data["id"])
    assert (data["status_url"], data["accepted"]) == (f"{PUBLIC_URL}{PATH}/{data['id']}", 2)
    assert [(one["index"], one["code"]) for one in data["refused"]][1] == (3, "repeated")
    assert data["refused"][0]["says"] and data["refused"][0]["retry_at"] is None
    path = f"{PATH}/{data['id']}"
    status = (await own_api.json(path))["data"]
    assert [(host["domain"], host["state"]) for host in status["hosts"]] == [(NEW, "waiting"), (PIGEON, "waiting")]
    assert (status["counts"], status["done"]) == ({"waiting": 2, "refused": 2}, 0)
    assert [host["visited_since"] for host in status["hosts"]] == [False, False]
    assert (status["is_complete"], status["next_offset"], status["refused"]) == (True, None, data["refused"])

    broken = adp_manifest(NEW, "fold") | {"capabilities": [{"name": "fold"}]}
    await crawl(own_api.store, {**SITES, NEW: {ADP: Page(broken)}}, datetime.now(UTC))
    host = (await own_api.json(path))["data"]["hosts"][0]
    assert (host["state"], host["outcome"]) == ("listed", "found") and host["reasons"] and host["next_visit_at"]
    assert (host["visited_since"], host["next_step"]["page"]) == (True, "check")
    finding = host["findings"][0]
    assert (finding["severity"], finding["document"]) == ("error", f"https://{NEW}{ADP}")
    assert finding["pointer"] and finding["says"] and finding["fix"]
    assert host["finding_count"] >= len(host["findings"])


async def test_a_host_without_a_service_has_the_reasons(own_api: Api) -> None:
    data = await submitted(own_api, NEW)
    await crawl(own_api.store, {**SITES, NEW: {ADP: Page(b'{"spec_version": "1.0", }')}}, datetime.now(UTC))
    status = (await own_api.json(f"{PATH}/{data['id']}"))["data"]
    (host,) = status["hosts"]
    assert host["state"] == "not_listed" and any("malformed" in reason for reason in host["reasons"])
    assert status["counts"] == {"not_listed": 1}


async def test_a_visit_before_the_submission_does_not_make_it_done(own_api: Api) -> None:
    await submitted(own_api, PIGEON)
    await crawl(own_api.store, SITES, datetime.now(UTC))
    again = await submitted(own_api, PIGEON)
    assert (again["accepted"], again["refused"]) == (1, [])
    status = (await own_api.json(f"{PATH}/{again['id']}"))["data"]
    (host,) = status["hosts"]
    assert (host["state"], host["visited_since"], status["done"]) == ("listed", False, 0)
    assert host["recheck_bound"] == "too_soon" and host["recheck_at"] > host["last_visit_at"]


async def test_lists_are_read_in_pages(own_api: Api) -> None:
    data = await submitted(own_api, *(f"host-{number}.com" for number in range(5)))
    first = (await own_api.json(f"{PATH}/{data['id']}", limit=3))["data"]
    second = (await own_api.json(f"{PATH}/{data['id']}", limit=3, offset=first["next_offset"]))["data"]
    names = [host["domain"] for page in (first, second) for host in page["hosts"]]
    assert names == [f"host-{number}.com" for number in range(5)] and second["next_offset"] is None


async def test_nobody_else_finds_a_list(own_api: Api) -> None:
    data = await submitted(own_api, NEW)
    for unknown in (data["id"][:-1] + ("0" if data["id"][-1] != "0" else "1"), "1", "x" * 300, "%00", "é"):
        response = await own_api.get(f"{PATH}/{unknown}")
        assert response.status_code == 404
        assert_shape(shapes.FAILED, response.json())
    response = await own_api.get(f"{PATH}/{data['id']}")
    assert response.headers["cache-control"] == "private, no-cache, no-transform"


async def test_a_repeated_request_gets_the_same_answer(own_api: Api) -> None:
    keys = {"Idempotency-Key": '"8e03978e-40d5-43dd-bc93-6894a57f9324"'}
    first = await submitted(own_api, NEW, "10.0.0.1", **keys)
    assert await submitted(own_api, NEW, "10.0.0.1", **keys) == first
    assert await submitted(own_api, NEW, "10.0.0.1", **{"Idempotency-Key": keys["Idempotency-Key"].strip('"')}) == first
    other = await own_api.post(PATH, json={"hosts": [PIGEON]}, headers=keys)
    assert (other.status_code, other.json()["type"]) == (422, "/api/problems/idempotency-key-reused")
    assert_shape(shapes.FAILED, other.json())
    assert await rows(own_api.store, "SELECT count(*) FROM submission_lists") == [(1,)]
    assert (await submitted(own_api, NEW, "10.0.0.1"))["id"] != first["id"]


async def test_a_request_in_progress_is_a_conflict(own_api: Api) -> None:
    import hashlib

    body = json.dumps({"hosts": [NEW]}).encode()
    async with own_api.store.begin() as uow:
        record = SubmissionListRecord(UUID(int=1), datetime.now(UTC), None, hashlib.sha256(body).digest(), [])
        await uow.submissions.add_list(record, client="203.0.113.7", key="k")
    response = await own_api.post(PATH, content=body, headers={"Idempotency-Key": "k"})
    assert (response.status_code, response.json()["type"]) == (409, "/api/problems/request-in-progress")
    assert int(response.headers["retry-after"]) > 0


@pytest.mark.parametrize("key", ["", '""', "a b", "x" * 256, "\u00e9".encode(), "a\tb"])
async def test_malformed_keys_are_refused(own_api: Api, key: str | bytes) -> None:
    response = await own_api.client.post(PATH, json={"hosts": [NEW]}, headers=[(b"Idempotency-Key", key)])
    assert (response.status_code, response.json()["success"]) == (400, False)
    twice = [(b"Idempotency-Key", b"a"), (b"Idempotency-Key", b"b")]
    assert (await own_api.client.post(PATH, json={"hosts": [NEW]}, headers=twice)).status_code == 400


@pytest.mark.parametrize(
    "body", [{}, [], "x", {"hosts": NEW}, {"hosts": []}, {"hosts": [1]}, {"hosts": [NEW] * 1_001}, {"hosts": [[NEW]]}]
)
async def test_bodies_of_another_shape_are_refused(own_api: Api, body: Any) -> None:
    response = await own_api.post(PATH, json=body)
    assert (response.status_code, response.json()["type"]) == (400, "/api/problems/invalid-body")
    assert await rows(own_api.store, "SELECT count(*) FROM submission_lists") == [(0,)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=40) | st.sampled_from([NEW, "localhost", "a.b.", "xn--a", "[::1]"]), min_size=1))
@pytest.mark.asyncio(loop_scope="module")
async def test_no_name_is_a_fault(api: Api, names: list[str]) -> None:
    response = await api.post(PATH, content=json.dumps({"hosts": names}))
    assert response.status_code in (202, 400), response.text
    if response.status_code == 202:
        data = response.json()["data"]
        assert data["accepted"] + len(data["refused"]) == len(names)
        assert (await api.get(f"{PATH}/{data['id']}")).status_code == 200


async def test_a_list_takes_one_submission_and_work_by_its_length(own_api: Api) -> None:
    response = await own_api.post(PATH, json={"hosts": ["10.0.0.1"] * 1_000})
    assert response.status_code == 202
    assert {'"submissions"', '"work"'} <= {
        part.split(";")[0] for part in response.headers["ratelimit-policy"].split(", ")
    }
    work = next(part for part in response.headers["ratelimit"].split(", ") if part.startswith('"work"'))
    assert f"r={1_000_000 - 100};" in work or int(work.split("r=")[1].split(";")[0]) <= 1_000_000 - 100
