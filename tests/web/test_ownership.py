"""Proving a host and deciding about it, with forms."""

import html
import re

import pytest

from registry.web import ownership
from tests.api.sites import PIGEON
from tests.support.api import Api
from tests.web.test_html import ASKING
from tests.web.test_signals import FOREIGN, FORM

pytestmark = pytest.mark.slow  # a database and an index for each

CLAIM, OWNER = f"/claim/{PIGEON}", f"/owner/{PIGEON}"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "CHECK_SECONDS", 0)  # the test is the worker


async def claimed(api: Api) -> str:
    """Return the claim token that the page shows."""
    page = await api.client.post(CLAIM, headers=FORM, content="method=file&scope=host")
    assert (page.status_code, page.headers["cache-control"]) == (200, "no-store, no-transform")
    assert f"https://{PIGEON}/.well-known/waypost-claim.txt" in page.text
    assert "waypost-claim=" in page.text
    found = re.search(r'name="token" value="(wp_claim_[^"]+)"', page.text)
    assert found is not None
    return found[1]


async def owned(api: Api) -> str:
    """Return the owner's token, which the page shows after the proof."""
    token = await claimed(api)
    waiting = await api.client.post(f"{CLAIM}/check", headers=FORM, content=f"token={token}")
    assert "Publish this value" in waiting.text
    for check in await api.waypost.claims.take(10):
        await api.waypost.claims.settle(check.claim, "published")
    proven = await api.client.post(f"{CLAIM}/check", headers=FORM, content=f"token={token}")
    assert "It is yours" in proven.text
    found = re.search(r"wp_owner_[0-9a-f]{16}_[\w-]{43}", proven.text)
    assert found is not None
    again = await api.client.post(f"{CLAIM}/check", headers=FORM, content=f"token={token}")
    assert "wp_owner_" not in re.sub(r'placeholder="[^"]*"', "", again.text)
    return found[0]


async def decided(api: Api, token: str, action: str, text: str = "", status: int = 200) -> str:
    page = await api.client.post(OWNER, headers=FORM, content=f"token={token}&action={action}&text={text}")
    assert page.status_code == status, page.text
    assert "no-store" in page.headers["cache-control"]
    return html.unescape(page.text)


async def test_the_life_of_an_entry_with_forms(own_api: Api) -> None:
    token = await owned(own_api)
    report = {"domain": PIGEON, "code": "wrong", "reason": "It is not what it says."}
    assert (await own_api.post("/api/reports", json=report)).status_code == 200
    verdict = {"domain": PIGEON, "capability": "create_parcel", "verdict": "call_failed", "status": 404, "note": "<b>"}
    assert (await own_api.post("/api/feedback", json=verdict)).status_code == 201
    page = await decided(own_api, token, "")
    assert "wrong, open" in page and "call failed (404), 1 client" in page and "<bdi><b></bdi>" in page
    assert "<dd>not checked</dd>" in await decided(own_api, token, "no-call-checks")
    assert "<dd>checked</dd>" in await decided(own_api, token, "call-checks")
    for page in (f"/s/{PIGEON}", "/search?q=parcel", "/search"):
        assert (await own_api.get(page, headers=ASKING)).text.count(">owner proven<") == 1, page
    assert "no: hidden by you" in await decided(own_api, token, "hide")
    assert (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).status_code == 404
    assert "<dd>yes</dd>" in await decided(own_api, token, "show")
    await decided(own_api, token, "note", "Closed+on+%3Cb%3ESundays")
    page = (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).text
    assert "Closed on &lt;b&gt;Sundays" in page
    await decided(own_api, token, "recheck")
    shown = await decided(own_api, token, "webhook", f"https%3A%2F%2F{PIGEON}%2Fhook")
    assert "whsec_" in shown
    assert "whsec_" not in await decided(own_api, token, "no-webhook")
    rotated = re.search(r"wp_owner_[0-9a-f]{16}_[\w-]{43}", await decided(own_api, token, "rotate"))
    assert rotated is not None
    await decided(own_api, token, "hide", status=400)
    assert "wp_owner_" not in (await own_api.get(OWNER, headers=ASKING)).text.replace("<code>wp_owner_</code>", "")
    await decided(own_api, rotated[0], "opt-out")
    assert (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).status_code == 410


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("token=&action=hide&text=", 400), ("token=wp_owner_0123456789abcdef_" + "A" * 43 + "&action=hide&text=", 400),
        ("token=x%00%E2%80%AE&action=show&text=", 400), ("token=x&action=explode&text=", 400),
    ],
)  # fmt: skip
async def test_without_a_token_nothing_changes(own_api: Api, content: str, status: int) -> None:
    page = await own_api.client.post(OWNER, headers=FORM, content=content)
    assert page.status_code == status
    assert (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).status_code == 200


@pytest.mark.parametrize("path", [CLAIM, f"{CLAIM}/check", OWNER])
async def test_forms_of_other_sites_are_refused(own_api: Api, path: str) -> None:
    assert (await own_api.client.post(path, headers=FOREIGN, content="method=file")).status_code == 403


async def test_a_claim_token_is_for_its_host(own_api: Api) -> None:
    token = await claimed(own_api)
    other = await own_api.client.post("/claim/api.other.example/check", headers=FORM, content=f"token={token}")
    assert other.status_code == 400
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    assert (await own_api.client.post(f"{CLAIM}/check", headers=FORM, content=f"token={wrong}")).status_code == 401
    assert (await own_api.client.post(f"{CLAIM}/check", headers=FORM, content="token=none")).status_code == 400


async def test_a_method_or_scope_that_is_none_is_asked_for_again(own_api: Api) -> None:
    page = await own_api.client.post(CLAIM, headers=FORM, content="method=letter&scope=host")
    assert page.status_code == 400
    assert 'class="fault"' in page.text
