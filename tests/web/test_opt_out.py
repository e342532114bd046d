"""Opting out on a page: the proofs, the check, its result, and the way back."""

import pytest

from registry.actions.maintenance.opt_out import Declaration
from registry.core.names.opt_out import FILE_PATH, TXT_LABEL
from registry.web.public_forms import OPT_OUT as PATH
from tests.api.sites import PIGEON
from tests.api.test_opt_outs import settle_requests
from tests.support.api import Api
from tests.support.database import execute
from tests.web.sending import ASKING, limited, send
from tests.web.test_html import faults

pytestmark = pytest.mark.slow  # a database and an index for each

STATE = f"{PATH}/{PIGEON}"


async def shown(api: Api, path: str = STATE) -> str:
    answer = await api.get(path, headers=ASKING)
    assert (answer.status_code, faults(answer.content)) == (200, None)
    return answer.text


async def test_an_opt_out_is_checked_and_shown(own_api: Api) -> None:
    page = await shown(own_api, PATH)
    assert FILE_PATH in page
    assert TXT_LABEL in page
    assert "No check has been requested." in await shown(own_api)
    answer = await send(own_api, PATH, {"host": f" {PIGEON.upper()}. ", "confirm": PIGEON})
    assert (answer.status_code, answer.headers["location"]) == (303, STATE)
    page = await shown(own_api)
    assert "has not opted out" in page
    assert "Load the page again" in page
    assert (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).status_code == 200, "asking alone does nothing"

    await settle_requests(own_api, Declaration("file", f"https://{PIGEON}{FILE_PATH}"))

    page = await shown(own_api)
    assert "This site has opted out" in page
    assert "a file on the site" in page
    assert f"Remove the word opt-out from https://{PIGEON}{FILE_PATH}" in page
    assert "asked at most once a day" in page and "Check and end the opt-out" not in page
    await execute(own_api.store, "UPDATE opt_out_requests SET checked_at = checked_at - interval '1 day'")
    assert "Check and end the opt-out" in await shown(own_api)
    gone = await own_api.get(f"/s/{PIGEON}", headers=ASKING)
    assert (gone.status_code, faults(gone.content)) == (410, None)
    assert "The way back" in gone.text and "Check and end the opt-out" in gone.text
    refused = await send(own_api, f"/s/{PIGEON}/recheck", {})
    assert refused.status_code in (403, 404) and f'href="{STATE}"' in refused.text
    ledger = await own_api.get(f"/s/{PIGEON}/crawl", headers=ASKING)
    assert (ledger.status_code, faults(ledger.content)) == (410, None)
    assert "This site has opted out" in ledger.text
    badge = await own_api.get(f"/badge/{PIGEON}.svg")
    assert (badge.status_code, "not listed" in badge.text) == (200, True)
    compared = await own_api.get(f"/compare?host={PIGEON}", headers=ASKING)
    assert (compared.status_code, "No service is listed under this host." in compared.text) == (200, True)


async def test_an_owner_returns_by_dns(own_api: Api) -> None:
    await own_api.waypost.opt_outs.forget(PIGEON, opt_out="owner", evidence="claim 1")
    for path in (STATE, f"/s/{PIGEON}"):
        answer = await own_api.get(path, headers=ASKING)
        assert faults(answer.content) is None
        assert f'href="/claim/{PIGEON}"' in answer.text and f'href="/owner/{PIGEON}"' in answer.text


@pytest.mark.parametrize("confirmed", ["", "bikes.example", "api.pigeonpost.example.evil.com", "\0", "x" * 4_000])
async def test_the_name_is_typed_again_to_opt_out(own_api: Api, confirmed: str) -> None:
    answer = await send(own_api, PATH, {"host": PIGEON, "confirm": confirmed})
    assert (answer.status_code, faults(answer.content)) == (400, None)
    assert "<title>Error: " in answer.text and 'id="confirm-fault"' in answer.text
    assert f'value="{PIGEON}"' in answer.text, "what was written stays"
    assert await own_api.waypost.opt_outs.claim(10) == []


async def test_a_check_without_proof_changes_nothing(own_api: Api) -> None:
    await send(own_api, PATH, {"host": PIGEON, "confirm": PIGEON})
    await settle_requests(own_api)
    page = await shown(own_api)
    assert "Nothing changed." in page
    assert "at the earliest" in page


async def test_an_opt_out_can_be_undone(own_api: Api) -> None:
    answer = await send(own_api, PATH, {"host": PIGEON, "undo": "yes"})
    assert answer.headers["location"] == STATE
    await send(own_api, PATH, {"host": PIGEON, "confirm": PIGEON})
    await settle_requests(own_api, Declaration("dns", f"_waypost.{PIGEON}"))
    assert "a TXT record" in await shown(own_api)


async def test_what_is_no_host_is_told_at_the_form(own_api: Api) -> None:
    for name in ("", "no host", "10.0.0.1", '"><svg/onload=alert(1)>', "\0", "\u202e", "x" * 4_000):
        answer = await send(own_api, PATH, {"host": name})
        assert (answer.status_code, faults(answer.content)) == (400, None)
        assert "Not a host to visit" in answer.text
        assert "<svg" not in answer.text


async def test_requests_of_a_client_are_limited(own_api: Api) -> None:
    async with limited(own_api, 2) as api:
        for _ in range(2):
            await send(api, PATH, {"host": PIGEON, "confirm": PIGEON})
        answer = await send(api, PATH, {"host": PIGEON, "confirm": PIGEON})
        assert answer.status_code == 429
        assert "Too many requests" in answer.text
