"""An owner's webhook, from the claim to the signed message: `waypost serve`, a worker, a site and a receiver."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import orjson
import pytest

from registry.core.access.claims import FILE_PATH
from tests.support.builders import adp_manifest
from tests.support.database import until_true
from tests.support.hang import HANG_SECONDS
from tests.support.receivers import Receiver
from tests.support.running import new_data_folder
from tests.support.sites import Answer, Reply, Sites

pytestmark = pytest.mark.slow  # processes and a database

SHOP, HOST = "shop.example", "hooks.shop.example"
URL = f"https://{HOST}/hook"
OWNER = f"/api/owner/{SHOP}"


def manifest(*capabilities: str) -> Reply:
    return Reply(orjson.dumps(adp_manifest(SHOP, *capabilities)))


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def site() -> dict[str, Answer]:
    return {"/.well-known/agent": manifest("create_parcel")}


@pytest.fixture
async def api(
    tmp_path: Path, database_url: str, receiver: Receiver, site: dict[str, Answer]
) -> AsyncIterator[httpx2.AsyncClient]:
    async with Sites({HOST: receiver, SHOP: site}) as web:
        with new_data_folder(tmp_path / "data", web, web.write_authority(tmp_path), database_url) as data_folder:
            serving = data_folder.start("serve", "--port", "0")
            data_folder.start("worker")
            base = (await serving.line_with("the API answers at")).split()[4]
            async with httpx2.AsyncClient(base_url=base, timeout=HANG_SECONDS) as client:
                yield client


async def answered(api: httpx2.AsyncClient, method: str, path: str, token: str = "", json: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    response = await api.request(method, path, headers=headers, json=json)
    assert response.status_code < 300, response.text
    return response.json()


async def proven(api: httpx2.AsyncClient, site: dict[str, Answer]) -> str:
    """Publish the text of a claim on the site and return the owner's token."""
    claim = (await answered(api, "POST", "/api/claims", json={"domain": SHOP, "method": "file"}))["data"]
    assert claim["at"] == f"https://{SHOP}{FILE_PATH}"
    site[FILE_PATH] = Reply(claim["publish"], type="text/plain")
    checked = await answered(api, "POST", f"/api/claims/{claim['id']}/check?wait=20", claim["claim_token"])
    assert checked["data"]["state"] == "proven", checked
    token: str = checked["data"]["owner_token"]
    return token


async def test_an_owner_is_told_of_a_change_by_a_signed_message(
    api: httpx2.AsyncClient, receiver: Receiver, site: dict[str, Answer]
) -> None:
    await answered(api, "POST", "/api/services?wait=20", json={"domain": SHOP})
    token = await proven(api, site)
    wanted = {"url": URL, "types": ["service.*", "ownership.*"]}
    webhook = (await answered(api, "PUT", f"{OWNER}/webhook", token, wanted))["data"]
    receiver.secret = webhook["secret"]  # from now on the receiver verifies each message

    async def is_active() -> bool:
        return bool((await answered(api, "GET", OWNER, token))["data"]["webhook"]["state"] == "active")

    await until_true(is_active)
    assert receiver.challenges == 1 and not receiver.messages

    site["/.well-known/agent"] = manifest("create_parcel", "track_parcel")
    await answered(api, "POST", f"{OWNER}/recheck", token)
    [(first, content)] = await receiver.received(1)
    assert (content["type"], content["data"]["events"]) == ("feed.changed", 1)
    address = urlsplit(content["data"]["url"])
    [event] = (await answered(api, "GET", f"{address.path}?{address.query}"))["events"]
    assert (event["type"], event["entity"]["id"]) == ("service.changed", SHOP)
    assert [added["name"] for added in event["payload"]["capabilities"]["added"]] == ["track_parcel"]

    await answered(api, "PUT", f"{OWNER}/note", token, {"note": "Closed on Sundays."})
    second, content = (await receiver.received(2))[1]
    assert first != second
    page = await answered(api, "GET", f"/api/feed?types=ownership.*,service.*&cursor={content['data']['cursor']}")
    assert page["events"] == []
    await answered(api, "DELETE", f"{OWNER}/token", token)
    said = [event["type"] for event in (await answered(api, "GET", "/api/feed?types=ownership.*"))["events"]]
    assert said == ["ownership.proven", "ownership.changed", "ownership.ended"]
