"""Opting out through the API: anyone may request it, a worker checks the site, and the status shows the result."""

from datetime import UTC, datetime

import pytest

from registry.actions.maintenance.opt_out import MAX_OPEN, Declaration, Proof
from tests.api.sites import PIGEON
from tests.support.api import PUBLIC_URL, Api

pytestmark = pytest.mark.slow  # a database and an index for each

URL = f"/api/opt-outs/{PIGEON}"


async def settle_requests(api: Api, *declarations: Declaration) -> None:
    """Settle the open requests with this proof, as a worker does."""
    for request in await api.waypost.opt_outs.claim(10):
        await api.waypost.opt_outs.settle(request, Proof(declarations))


async def test_an_opt_out_with_proof_takes_effect_with_its_commit(own_api: Api) -> None:
    before = await own_api.json("/api/discover", q="create a parcel", include_unverified="true")
    assert PIGEON in str(before["data"])
    response = await own_api.post("/api/opt-outs", json={"domain": PIGEON.upper() + "."})
    assert response.status_code == 202, response.text
    data = response.json()["data"]
    assert (data["domain"], data["opted_out"], data["request"]["verdict"]) == (PIGEON, False, None)
    assert data["status_url"] == PUBLIC_URL + URL
    assert (await own_api.get(f"/api/services/{PIGEON}")).status_code == 200, "asking alone does nothing"

    await settle_requests(own_api, Declaration("file", f"https://{PIGEON}/.well-known/waypost-optout.txt"))

    # A question that was not asked before: a cached answer lives for one second.
    after = await own_api.json("/api/discover", q="create a new parcel", include_unverified="true")
    assert PIGEON not in str(after["data"]), "though the index was not told yet"
    listed = await own_api.json("/api/services", include_unverified="true", limit="100")
    assert PIGEON not in str(listed)
    assert PIGEON not in str(await own_api.json("/api/health"))
    for path in ("/capabilities/create_parcel", "/manifest/awp"):
        assert (await own_api.get(f"/api/services/{PIGEON}{path}")).status_code == 404
    refusals = [await own_api.get(f"/api/services/{PIGEON}{path}") for path in ("", "/status")]
    refusals.append(await own_api.post("/api/services?wait=0", json={"domain": PIGEON}))
    assert [refusal.status_code for refusal in refusals] == [410, 410, 403]
    for refusal in refusals:
        body = refusal.json()
        assert (body["domain"], body["how"], body["status_url"]) == (PIGEON, "file", PUBLIC_URL + URL)
        assert f"https://{PIGEON}/.well-known/waypost-optout.txt" in body["way_back"]
        assert body["way_back"] in body["detail"]
    status = (await own_api.json(URL))["data"]
    assert (status["opted_out"], status["how"], status["request"]["verdict"]) == (True, "file", "opted_out")


async def test_a_request_without_proof_changes_nothing(own_api: Api) -> None:
    await own_api.post("/api/opt-outs", json={"domain": PIGEON})
    await settle_requests(own_api)
    repeated = (await own_api.post("/api/opt-outs", json={"domain": PIGEON})).json()["data"]
    assert repeated["request"]["verdict"] == "no_proof"
    assert repeated["request"]["again_at"] > datetime.now(UTC).isoformat()
    assert (await own_api.get(f"/api/services/{PIGEON}")).status_code == 200


@pytest.mark.parametrize(
    ("confirmed", "status"), [(PIGEON, 202), (f" {PIGEON.upper()}. ", 202), ("pigeonpost.example", 400), ("", 400)]
)
async def test_a_name_that_is_typed_again_has_to_be_the_same(own_api: Api, confirmed: str, status: int) -> None:
    answer = await own_api.post("/api/opt-outs", json={"domain": PIGEON, "confirm": confirmed})
    assert answer.status_code == status
    if status == 400:
        assert answer.json()["code"] == "not_confirmed"
        assert len(await own_api.waypost.opt_outs.claim(10)) == 0


async def test_a_readmission_is_not_possible_within_a_day(own_api: Api) -> None:
    await own_api.post("/api/opt-outs", json={"domain": PIGEON})
    await settle_requests(own_api, Declaration("dns", f"_waypost.{PIGEON}"))
    readmission = await own_api.post("/api/opt-outs", json={"domain": PIGEON, "undo": True})
    assert readmission.json()["data"]["request"]["verdict"] == "opted_out", (
        "not within a day: it wants to be left alone"
    )


@pytest.mark.parametrize("body", [[], {}, {"domain": 1}, {"domain": PIGEON, "undo": "yes"}, {"domain": None}])
async def test_invalid_bodies_are_refused(own_api: Api, body: object) -> None:
    assert (await own_api.post("/api/opt-outs", json=body)).status_code == 400


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "https://x.dev/", "co.uk", ""])
async def test_names_of_no_public_host_are_refused(own_api: Api, name: str) -> None:
    response = await own_api.post("/api/opt-outs", json={"domain": name})
    assert (response.status_code, response.json()["type"].rpartition("/")[2]) == (400, "invalid-name")


async def test_a_client_with_many_open_requests_is_told_to_wait(own_api: Api) -> None:
    for number in range(MAX_OPEN):
        assert (await own_api.post("/api/opt-outs", json={"domain": f"a{number}.com"})).status_code == 202
    refused = await own_api.post("/api/opt-outs", json={"domain": "one-more.com"})
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
    assert refused.json()["type"] == "/api/problems/rate-limited"
    repeated = await own_api.post("/api/opt-outs", json={"domain": "a0.com"})
    assert repeated.status_code == 202, "it waits already"
