"""Feedback over HTTP: what is kept, what is refused, and who reads it."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.actions.feedback import MAX_OF_CLIENT
from tests.api.sites import NOTHING, PIGEON
from tests.api.test_admin import ask, key_for
from tests.api.test_ownership import OWNER, bearer, proven
from tests.support.api import Api
from tests.support.database import rows

pytestmark = pytest.mark.slow  # a database and an index for each

PATH = "/api/feedback"
FAILED = {
    "domain": PIGEON, "capability": "create_parcel", "q": "send a parcel", "verdict": "call_failed", "status": 404,
    "note": "It <b>answers</b>\u202e not found.",
}  # fmt: skip


async def refused(api: Api, body: Any) -> tuple[int, str, str]:
    response = await api.post(PATH, json=body)
    problem = response.json()
    return response.status_code, problem["type"].rpartition("/")[2], problem["detail"]


async def test_what_was_kept_is_answered_and_read_by_owner_and_operator(own_api: Api) -> None:
    response = await own_api.post(PATH, json=FAILED)
    assert (response.status_code, response.headers["cache-control"]) == (201, "no-store"), response.text
    kept = response.json()["data"]
    assert (kept["domain"], kept["capability"], kept["verdict"], kept["status"]) == (
        PIGEON, "create_parcel", "call_failed", 404,
    )  # fmt: skip
    assert kept["q"] == "send a parcel" and "\u202e" not in kept["note"]
    assert not kept["replaced"] and {"capability", "q", "note"} <= set(kept["untrusted_text"])
    again = {"domain": f"HTTPS://{PIGEON.upper()}/x", "capability": "create_parcel", "verdict": "right"}
    assert (await own_api.post(PATH, json=again)).json()["data"]["replaced"]
    assert (await own_api.post(PATH, json={**FAILED, "capability": "track_parcel"})).status_code == 201

    owner = (await own_api.get(OWNER, headers=bearer(await proven(own_api)))).json()["data"]
    counts = {(one["capability"], one["verdict"], one["status"]): one["count"] for one in owner["feedback"]["figures"]}
    assert counts == {("create_parcel", "right", None): 1, ("track_parcel", "call_failed", 404): 1}
    assert [one["q"] for one in owner["feedback"]["texts"]] == ["send a parcel"]
    assert "feedback.texts.note" in owner["untrusted_text"]

    key = await key_for(own_api, "reports")
    data = (await ask(own_api, "GET", f"/api/admin/feedback/{PIGEON}", key)).json()["data"]
    assert (data["figures"], data["texts"]) == (owner["feedback"]["figures"], owner["feedback"]["texts"])
    (of_host,) = (await ask(own_api, "GET", "/api/admin/feedback", key)).json()["data"]["hosts"]
    assert (of_host["domain"], of_host["right"], of_host["wrong"], of_host["call_failed"]) == (PIGEON, 1, 0, 1)
    other = await key_for(own_api, "audit")
    for path in ("/api/admin/feedback", f"/api/admin/feedback/{PIGEON}"):
        assert (await own_api.get(path)).status_code == 401
        assert (await ask(own_api, "GET", path, other)).status_code == 403


REFUSED: tuple[tuple[dict[str, Any], int, str, str], ...] = (
    ({"domain": "unknown.example"}, 404, "unknown-service", "domain"),
    ({"domain": "10.0.0.1"}, 404, "unknown-service", "domain"),
    ({"domain": NOTHING}, 404, "unknown-service", "domain"),
    ({"capability": "no_such"}, 404, "unknown-capability", "name"),
    ({"verdict": "bad"}, 400, "invalid-body", "verdict: "),
    ({"verdict": None}, 400, "invalid-body", "verdict: "),
    ({"verdict": "wrong"}, 400, "invalid-body", "status: only with the verdict call_failed"),
    ({"status": 99}, 400, "invalid-body", "status: "),
    ({"status": 600}, 400, "invalid-body", "status: "),
    ({"status": True}, 400, "invalid-body", "status: "),
    ({"status": "404"}, 400, "invalid-body", "status: "),
    ({"note": "x" * 501}, 400, "invalid-body", "note: "),
    ({"q": "x" * 401}, 400, "invalid-body", "q: "),
    ({"note": ["x"]}, 400, "invalid-body", "note: "),
    ({"rating": 5}, 400, "invalid-body", ""),
)


async def test_what_cannot_be_kept_is_refused_with_the_reason(own_api: Api) -> None:
    for change, status, kind, says in REFUSED:
        answer = await refused(own_api, FAILED | change)
        assert answer[:2] == (status, kind) and says in answer[2], (change, answer)
    assert await rows(own_api.store, "SELECT count(*) FROM feedback") == [(0,)]


async def test_a_client_is_told_when_it_may_give_more(own_api: Api) -> None:
    given = (await own_api.post(PATH, json=FAILED)).status_code
    async with own_api.store.begin() as uow:
        await uow._connection.exec_driver_sql(
            "INSERT INTO feedback SELECT domain, host, gen_random_uuid(), 'c' || n, verdict, status, q, note, client,"
            f" at FROM feedback, generate_series(2, {MAX_OF_CLIENT}) n"
        )
    response = await own_api.post(PATH, json=FAILED | {"capability": "track_parcel"})
    assert (given, response.status_code, response.json()["code"]) == (201, 429, "client_budget")
    assert 0 < int(response.headers["retry-after"]) <= 86_400


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(["domain", "capability", "q", "verdict", "status", "note", "x"]),
        st.text(max_size=30) | st.none() | st.integers() | st.just("right"),
    )
)
@pytest.mark.asyncio(loop_scope="module")
async def test_no_body_is_a_fault(api: Api, body: dict[str, Any]) -> None:
    response = await api.post(PATH, content=json.dumps(body))
    assert response.status_code in (400, 404), response.text
