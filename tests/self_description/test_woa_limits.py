"""An invocation takes from the limits of its client what the call that it stands for takes."""

from tests.api.sites import NEW
from tests.support.api import Api, make_client


async def test_an_invocation_is_bounded_as_its_call(own_api: Api) -> None:
    """Submissions count as submissions, and a dear question takes its units, whichever way they come."""
    config = own_api.waypost.settings.model_copy(update={"submit_rate": 2, "read_rate": 20, "submit_wait": 0})
    async with make_client(own_api.waypost, config) as client:
        body = {"input": {"domain": NEW}}
        answers = [await client.post("/woa/submit-service", json=body) for _ in range(3)]
        by_api = await client.post("/api/services", json={"domain": NEW})
        assert answers[-1].status_code == by_api.status_code == 429
        assert answers[-1].json()["limit"] == "submissions"
        dear = [{"q": f"create {number} parcels", "limit": 50} for number in range(5)]  # others than cached ones
        codes = [(await client.post("/woa/discover-services", json={"input": one})).status_code for one in dear]
    assert codes[0] == 200 and codes[-1] == 429
