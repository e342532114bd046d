"""Opting out through the API: anybody may ask, the site says it, a worker looks, the answer tells what came of it."""

from datetime import UTC, datetime

import pytest

from registry.actions.keeping.opt_out import Proof, Said
from tests.api.conftest import PUBLIC_URL, Api
from tests.api.sites import PIGEON

pytestmark = pytest.mark.slow  # a database and an index for each

URL = f"/api/opt-outs/{PIGEON}"


async def looked(api: Api, *said: Said) -> None:
    """What a worker does."""
    for request in await api.waypost.opt_outs_waiting():
        await api.waypost.settle_opt_out(request, Proof(said))


async def test_a_site_that_says_so_is_out_of_every_answer_with_the_commit(own_api: Api) -> None:
    before = await own_api.json("/api/discover", q="create a parcel", include_unverified="true")
    assert PIGEON in str(before["data"])
    response = await own_api.post("/api/opt-outs", json={"domain": PIGEON.upper() + "."})
    assert response.status_code == 202, response.text
    data = response.json()["data"]
    assert (data["domain"], data["opted_out"], data["request"]["verdict"]) == (PIGEON, False, None)
    assert data["status_url"] == PUBLIC_URL + URL
    assert (await own_api.get(f"/api/services/{PIGEON}")).status_code == 200, "asking alone does nothing"

    await looked(own_api, Said("file", f"https://{PIGEON}/.well-known/waypost-optout.txt"))

    after = await own_api.json("/api/discover", q="create a parcel", include_unverified="true")
    assert PIGEON not in str(after["data"]), "though the index was not told yet"
    listed = await own_api.json("/api/services", include_unverified="true", limit="100")
    assert PIGEON not in str(listed)
    assert PIGEON not in str(await own_api.json("/api/health"))
    for path in ("", "/capabilities/create_parcel", "/manifest/awp"):
        assert (await own_api.get(f"/api/services/{PIGEON}{path}")).status_code == 404
    assert (await own_api.post("/api/services?wait=0", json={"domain": PIGEON})).status_code == 403
    told = (await own_api.json(URL))["data"]
    assert (told["opted_out"], told["how"], told["request"]["verdict"]) == (True, "file", "opted_out")


async def test_what_the_site_does_not_say_changes_nothing(own_api: Api) -> None:
    await own_api.post("/api/opt-outs", json={"domain": PIGEON})
    await looked(own_api)
    again = (await own_api.post("/api/opt-outs", json={"domain": PIGEON})).json()["data"]
    assert again["request"]["verdict"] == "no_proof"
    assert again["request"]["again_at"] > datetime.now(UTC).isoformat()
    assert (await own_api.get(f"/api/services/{PIGEON}")).status_code == 200


async def test_coming_back_is_asked_for_in_the_same_way(own_api: Api) -> None:
    await own_api.post("/api/opt-outs", json={"domain": PIGEON})
    await looked(own_api, Said("dns", f"_waypost.{PIGEON}"))
    back = await own_api.post("/api/opt-outs", json={"domain": PIGEON, "undo": True})
    assert back.json()["data"]["request"]["verdict"] == "opted_out", "not within a day: it wants to be left alone"


@pytest.mark.parametrize("body", [[], {}, {"domain": 1}, {"domain": PIGEON, "undo": "yes"}, {"domain": None}])
async def test_bodies_that_say_nothing_are_refused(own_api: Api, body: object) -> None:
    assert (await own_api.post("/api/opt-outs", json=body)).status_code == 400


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "https://x.dev/", "co.uk", ""])
async def test_names_that_are_no_public_host_are_refused(own_api: Api, name: str) -> None:
    response = await own_api.post("/api/opt-outs", json={"domain": name})
    assert (response.status_code, response.json()["type"].rpartition("/")[2]) == (400, "invalid-name")
