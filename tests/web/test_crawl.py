"""The ledger of a host as a page."""

import pytest

from registry.web.service import MAX_VISITS, VISITS
from tests.api.sites import FAILING, NOTHING, PIGEON
from tests.support.api import Api
from tests.web.sending import ASKING

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_ledger_says_what_was_asked_and_answered(api: Api) -> None:
    ledger = (await api.json(f"/api/services/{PIGEON}/crawl"))["data"]
    page = (await api.get(f"/s/{PIGEON}/crawl", headers=ASKING)).text
    assert ledger["host"]["next_visit"]["says"] in page
    for answer in ledger["visits"][0]["answers"]:
        assert answer["url"] in page
    assert page.count('<section class="visit"') == len(ledger["visits"])
    assert f'href="/s/{PIGEON}"' in page


async def test_hosts_without_a_service_have_one_too(api: Api) -> None:
    for host in (NOTHING, FAILING):
        assert (await api.get(f"/s/{host}/crawl", headers=ASKING)).status_code == 200
    assert (await api.get("/s/unknown.example/crawl", headers=ASKING)).status_code == 404


async def test_it_has_pages(api: Api) -> None:
    visits = (await api.json(f"/api/services/{PIGEON}/crawl", visits=MAX_VISITS))["data"]["visits"]
    beyond = await api.get(f"/s/{PIGEON}/crawl?page=2", headers=ASKING)
    assert len(visits) <= VISITS
    assert beyond.status_code == 404
    assert (await api.get(f"/s/{PIGEON}/crawl?page={'9' * 40}", headers=ASKING)).status_code == 404
    assert f'href="/s/{PIGEON}/crawl?page=1"' in beyond.text
    for page in ("0", "-1", "x"):
        assert (await api.get(f"/s/{PIGEON}/crawl?page={page}", headers=ASKING)).status_code == 200


async def test_a_host_has_one_address(api: Api) -> None:
    answer = await api.get(f"/s/{PIGEON.upper()}/crawl", headers=ASKING, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (308, f"/s/{PIGEON}/crawl")


async def test_the_page_of_the_service_leads_to_it(api: Api) -> None:
    page = (await api.get(f"/s/{PIGEON}", headers=ASKING)).text
    assert f'href="/s/{PIGEON}/crawl"' in page
    assert 'href="/check"' in page
    assert 'href="/opt-out"' in page
    assert 'href="/submit"' in page
