"""A name that can be taken for another one is told as such wherever it is shown, and shown in A-labels."""

from tests.api.conftest import Api

PAYPAL = "раураl.com"  # Cyrillic, but for its last letter
SHOWN = "xn--l-7sba6dbr.com"


async def test_a_look_alike_is_told_when_it_is_submitted_and_in_its_status(own_api: Api) -> None:
    queued = (await own_api.post("/api/services?wait=0", json={"domain": PAYPAL})).json()["data"]
    assert (queued["domain"], queued["confusable"]) == (SHOWN, True)
    status = (await own_api.json(f"/api/services/{SHOWN}/status"))["data"]
    assert (status["domain"], status["confusable"]) == (SHOWN, True)
    plain = (await own_api.post("/api/services?wait=0", json={"domain": "plain-new.com"})).json()["data"]
    assert plain["confusable"] is False


async def test_lists_and_details_tell_it_too(own_api: Api) -> None:
    [*listed] = (await own_api.json("/api/services"))["data"]
    assert listed and all(one["confusable"] is False for one in listed)
    shown = (await own_api.json(f"/api/services/{listed[0]['domain']}"))["data"]
    assert shown["confusable"] is False
