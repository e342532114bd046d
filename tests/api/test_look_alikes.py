"""A name that can be confused with another is flagged in every response, and shown in A-labels."""

from tests.support.api import Api

PAYPAL = "раураl.com"  # Cyrillic, except for its last letter
SHOWN = "xn--l-7sba6dbr.com"


async def test_a_confusable_name_is_flagged_in_submission_and_status(own_api: Api) -> None:
    queued = (await own_api.post("/api/services?wait=0", json={"domain": PAYPAL})).json()["data"]
    assert (queued["domain"], queued["confusable"]) == (SHOWN, True)
    status = (await own_api.json(f"/api/services/{SHOWN}/status"))["data"]
    assert (status["domain"], status["confusable"]) == (SHOWN, True)
    plain = (await own_api.post("/api/services?wait=0", json={"domain": "plain-new.com"})).json()["data"]
    assert plain["confusable"] is False


async def test_lists_and_details_have_the_flag_too(own_api: Api) -> None:
    [*listed] = (await own_api.json("/api/services"))["data"]
    assert listed and all(service["confusable"] is False for service in listed)
    detail = (await own_api.json(f"/api/services/{listed[0]['domain']}"))["data"]
    assert detail["confusable"] is False
