"""A mirror refuses what its origin decides, and says where to ask. Its own opt-outs and blocks still hold."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from registry.store.mirroring import MirrorRecord
from tests.api.sites import PIGEON
from tests.api.test_ownership import bearer, claimed
from tests.support.api import Api
from tests.support.builders import on
from tests.web.sending import send

pytestmark = pytest.mark.slow  # a database and an index for each

ORIGIN = "https://origin.example"
OWNER_TOKEN = "wp_owner_0123456789abcdef_" + "x" * 43


@pytest.fixture
async def mirror(own_api: Api) -> AsyncIterator[Api]:
    await become_mirror(own_api)
    yield own_api


async def become_mirror(api: Api) -> None:
    async with api.store.begin() as uow:
        await uow.mirroring.put(MirrorRecord(ORIGIN, "following"))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/services?wait=0", {"domain": PIGEON}),
        ("POST", "/api/claims", {"domain": PIGEON, "method": "dns"}),
        ("POST", f"/api/verify/{PIGEON}?wait=0", None),
        ("POST", f"/api/health/{PIGEON}?wait=0", None),
        ("POST", "/api/reports", {"domain": PIGEON, "reason": "It copies our service.", "code": "wrong"}),
        ("POST", "/api/feedback", {"domain": PIGEON, "verdict": "wrong"}),
        ("GET", f"/api/owner/{PIGEON}", None),
        ("POST", f"/api/owner/{PIGEON}/call-checks", None),
        ("POST", f"/api/owner/{PIGEON}/recheck", None),
        ("POST", f"/api/owner/{PIGEON}/hide", None),
        ("POST", f"/api/owner/{PIGEON}/show", None),
        ("PUT", f"/api/owner/{PIGEON}/note", {"note": "Closed."}),
        ("PUT", f"/api/owner/{PIGEON}/canonical", {"canonical": None}),
        ("PUT", f"/api/owner/{PIGEON}/webhook", {"url": f"https://{PIGEON}/hook"}),
        ("DELETE", f"/api/owner/{PIGEON}/webhook", None),
        ("POST", f"/api/owner/{PIGEON}/token", None),
        ("DELETE", f"/api/owner/{PIGEON}/token", None),
        ("POST", f"/api/owner/{PIGEON}/opt-out", None),
    ],
)
async def test_what_the_origin_decides_is_refused(mirror: Api, method: str, path: str, body: object) -> None:
    refused = await mirror.client.request(method, path, json=body, headers=bearer(OWNER_TOKEN))
    assert (refused.status_code, refused.json()["type"]) == (403, "/api/problems/mirrored"), refused.text
    assert refused.json()["origin"] == f"{ORIGIN}/api/services/{PIGEON}"


async def test_a_list_of_hosts_is_refused(mirror: Api) -> None:
    refused = await mirror.post("/api/submissions", json={"hosts": [PIGEON, "not a name"]})
    assert (refused.status_code, refused.json()["type"]) == (403, "/api/problems/mirrored"), refused.text
    assert refused.json()["origin"] == ORIGIN
    assert ORIGIN in (await send(mirror, "/submit", {"hosts": PIGEON})).text


async def test_a_claim_from_before_is_not_checked(own_api: Api) -> None:
    claim = await claimed(own_api)
    await become_mirror(own_api)
    headers, url = bearer(claim["claim_token"]), f"/api/claims/{claim['id']}"
    assert (await own_api.post(f"{url}/check?wait=0", headers=headers)).json()["type"] == "/api/problems/mirrored"
    assert (await own_api.get(url, headers=headers)).json()["data"]["state"] == "open"


@pytest.mark.parametrize(
    ("path", "form"),
    [
        (f"/claim/{PIGEON}", {"proof": "file"}),
        (f"/owner/{PIGEON}", {"token": OWNER_TOKEN, "action": "sign-in"}),
        (f"/s/{PIGEON}/recheck", {}),
        (f"/s/{PIGEON}/report", {"code": "wrong", "reason": "It copies our service."}),
    ],
)
async def test_a_page_says_where_to_ask(mirror: Api, path: str, form: dict[str, str]) -> None:
    page = await send(mirror, path, form)
    assert page.status_code in (400, 403), page.text
    assert f"{ORIGIN}/api/services/{PIGEON}" in page.text


async def test_ownership_is_known_at_the_origin(mirror: Api) -> None:
    assert (await mirror.json(f"/api/services/{PIGEON}"))["data"]["ownership"]["state"] == "at_origin"
    for path in (f"/s/{PIGEON}", f"/claim/{PIGEON}"):
        page = (await mirror.get(path)).text
        assert "This registry is a mirror" in page and "Nobody has proved" not in page


async def test_opt_outs_and_blocks_of_the_mirror_still_hold(mirror: Api) -> None:
    asked = await mirror.post("/api/opt-outs", json={"domain": PIGEON})
    assert asked.status_code == 202, asked.text
    await on(mirror.store, datetime.now(UTC)).access.hold(PIGEON, "blocked", actor="operator:cli", reason="by us")
    assert (await mirror.get(f"/api/services/{PIGEON}")).status_code == 404
