"""Proving a host with forms: the page of a claim, whose address is secret, and the page that takes a token."""

import html
import re

import pytest
from markupsafe import escape

from registry.core.access.tokens import parse_token
from registry.web import claims
from tests.api.sites import PIGEON
from tests.support.api import Api
from tests.web.sending import ASKING, send
from tests.web.test_html import faults

pytestmark = pytest.mark.slow  # a database and an index for each

CLAIM = f"/claim/{PIGEON}"
INVENTED = "wp_{}_0123456789abcdef_" + "A" * 43


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "CHECK_SECONDS", 0)  # the test is the worker


async def claimed(api: Api, proof: str = "file", host: str = PIGEON) -> str:
    """Make a claim with the form; return the address of its page."""
    made = await send(api, f"/claim/{host}", {"proof": proof})
    assert (made.status_code, made.headers["cache-control"]) == (303, "no-store, no-transform"), made.text
    address = made.headers["location"]
    assert re.fullmatch(r"/claims/wp_claim_[0-9a-f]{16}_[\w-]{43}", address)
    return address


async def settled(api: Api, answer: str, reason: str = "") -> None:
    for check in await api.waypost.claims.take(10):
        await api.waypost.claims.settle(check.claim, answer, reason)  # type: ignore[arg-type]


async def read(api: Api, address: str, status: int = 200) -> str:
    page = await api.get(address, headers=ASKING)
    assert page.status_code == status, page.text
    assert "no-store" in page.headers["cache-control"] and faults(page.content) is None
    return html.unescape(page.text)


async def proven(api: Api, proof: str = "file", host: str = PIGEON) -> tuple[str, str]:
    """Return the address of a claim that was just proven, and the owner's token, which the page shows once."""
    address = await claimed(api, proof, host)
    assert (await send(api, address, {})).status_code == 303
    await settled(api, "published")
    shown = await send(api, address, {})
    token = re.search(r'id="owner-token">(wp_owner_[0-9a-f]{16}_[\w-]{43})<', shown.text)
    assert token is not None, shown.text
    cookie = shown.headers["set-cookie"]
    assert cookie.startswith(f"__Secure-waypost-owner={token[1]}; ")
    assert f"Path=/owner/{host}" in cookie
    assert shown.headers["cache-control"] == "no-store, no-transform"
    return address, token[1]


async def test_a_claim_has_a_page_that_tells_what_was_seen_and_what_to_do(own_api: Api) -> None:
    address = await claimed(own_api)
    page = await read(own_api, address)
    assert f"https://{PIGEON}/.well-known/waypost-claim.txt" in page and "waypost-claim=" in page
    assert '<meta name="robots" content="noindex">' in page
    assert '<meta name="referrer" content="strict-origin">' in page, "its address is in no request"
    assert "Not checked yet." in page and "none yet" in page
    sent = await send(own_api, address, {})
    assert (sent.status_code, sent.headers["location"]) == (303, address)
    page = await read(own_api, address)
    assert "Being checked: the file is read now." in page and 'id="reload">' in page
    await settled(own_api, "missing", "http_404")
    page = await read(own_api, address)
    assert "There is no file at this address (status 404)." in page and 'id="reload" hidden>' in page
    assert "when you ask, in a few seconds" in page
    early = await send(own_api, address, {})
    assert early.status_code == 429
    assert "The claim was checked just now. It can be checked again in a few seconds." in html.unescape(early.text)
    assert "Publish this value" in early.text, "the page of the claim, not a page about an error"


async def test_an_open_claim_by_dns_is_looked_up_by_itself(own_api: Api) -> None:
    address = await claimed(own_api, "dns")
    await send(own_api, address, {})
    await settled(own_api, "missing", "no_record")
    page = await read(own_api, address)
    assert "There is no TXT record of this name." in page and f"_waypost-claim.{PIGEON}" in page
    assert re.search(r"by itself <time[^>]*>in 29 minutes</time>", page)


@pytest.mark.asyncio(loop_scope="module")
async def test_the_first_page_leads_to_the_claim_of_a_host(api: Api) -> None:
    for written in (PIGEON, f" HTTPS://{PIGEON.upper()}/path?q "):
        led = await send(api, "/claims", {"host": written})
        assert (led.status_code, led.headers["location"]) == (303, CLAIM)
    for wrong in ("no host", "\0\u202e<b>", "127.0.0.1", "x" * 9_000, "https://", "a..b"):
        page = await send(api, "/claims", {"host": wrong})
        assert page.status_code == 400, wrong
        assert "This is no host name" in page.text and "<title>Error: " in page.text
        assert escape(wrong.replace("\0", "\ufffd")) in page.text, "nothing is lost"


async def test_the_owners_token_is_shown_once_to_who_asks_for_it(own_api: Api) -> None:
    address = await claimed(own_api)
    await send(own_api, address, {})
    await settled(own_api, "published")
    page = await read(own_api, address)
    assert "Show my token" in page and "wp_owner_" not in page, "to look at the page does not take it"
    assert "wp_owner_" in (await send(own_api, address, {})).text
    again = await send(own_api, address, {})
    assert (again.status_code, "set-cookie" in again.headers) == (303, False)
    page = await read(own_api, address)
    assert "the owner’s token was given out" in page and "wp_owner_" not in page


async def test_a_page_of_an_ended_or_expired_claim_leads_to_a_new_one(own_api: Api) -> None:
    address, token = await proven(own_api)
    owner = parse_token(token, "owner")
    assert owner is not None
    await own_api.waypost.ownership.give_up(owner, PIGEON)
    page = await read(own_api, address)
    assert "its owner gave it up" in page and f'href="{CLAIM}"' in page
    address = await claimed(own_api)
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE claims SET expires_at = now() - interval '1 hour'")
    page = await read(own_api, address)
    assert "This claim has expired" in page and "Check now" not in page
    assert (await send(own_api, address, {})).status_code == 303


@pytest.mark.asyncio(loop_scope="module")
async def test_other_addresses_have_no_claim(api: Api) -> None:
    long = "wp_claim_" + "A" * 5_000
    for token in (INVENTED.format("claim"), INVENTED.format("owner"), "x", "%00%E2%80%AE", long, "%2F..%2F"):
        path = f"/claims/{token}"
        for answer in (await api.get(path, headers=ASKING), await send(api, path, {})):
            assert answer.status_code == 404, token
            assert len(token) < 2 or token[:20] not in answer.text


async def test_a_token_leads_to_its_page(own_api: Api) -> None:
    address, token = await proven(own_api)
    led = await send(own_api, "/claims", {"token": f" {address.rpartition('/')[2]}\n"})
    assert (led.status_code, led.headers["location"]) == (303, address)
    led = await send(own_api, "/claims", {"token": token})
    assert (led.status_code, led.headers["location"]) == (303, f"/owner/{PIGEON}?done=sign-in")
    assert f"__Secure-waypost-owner={token}" in led.headers["set-cookie"]
    for wrong in ("", "\0\u202e", INVENTED.format("owner"), INVENTED.format("key"), "x" * 9_000):
        refused = await send(own_api, "/claims", {"token": wrong})
        assert (refused.status_code, "set-cookie" in refused.headers) == (400, False)
        assert "<title>Error: " in refused.text and "autofocus" in refused.text


@pytest.mark.asyncio(loop_scope="module")
async def test_a_refused_claim_is_told_at_its_choice(api: Api) -> None:
    for host, proof, words in (
        (PIGEON, "letter", "Choose how you prove it."),
        (PIGEON, "", "Choose how you prove it."),
        (PIGEON, "domain", "a whole domain is claimed by DNS, at the registrable domain itself"),
        ("doves.co.uk.invalid", "dns", "Not a host to claim"),
    ):
        page = await send(api, f"/claim/{host}", {"proof": proof})
        assert page.status_code == 400
        assert words in html.unescape(page.text) and "<title>Error: " in page.text and "autofocus" in page.text


@pytest.mark.asyncio(loop_scope="module")
async def test_forms_of_other_sites_are_refused(api: Api) -> None:
    for path in (CLAIM, "/claims", f"/claims/{INVENTED.format('claim')}"):
        assert (await send(api, path, {"proof": "file"}, Sec_Fetch_Site="cross-site")).status_code == 403
