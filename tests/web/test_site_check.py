"""Checking a site on a page: asked with a form, read at a secret address, by whoever has it."""

import re
from typing import Any

import pytest

from registry.actions.site_checks import result_of_visit
from registry.core.visiting.visits import HostJob
from tests.api.sites import PIGEON, SITES
from tests.support.api import Api
from tests.support.builders import NOW, Page, Site, adp_manifest, visit
from tests.web.sending import ASKING, send
from tests.web.test_html import faults

pytestmark = pytest.mark.slow  # a database and an index for each

HOSTILE = "</textarea><script>alert(1)</script><svg/onload=alert(1)>\u202e"
NEW_HOST = "never-seen.com"


async def asked(api: Api, target: str) -> str:
    """Return the path of the result, to which the form leads."""
    answer = await send(api, "/check", {"target": target})
    assert answer.status_code == 303, answer.text[:300]
    assert "no-store" in answer.headers["cache-control"]
    assert re.fullmatch(r"/check/wp_check_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", answer.headers["location"])
    return str(answer.headers["location"])


async def made(api: Api, site: Site) -> None:
    for due in await api.waypost.site_checks.take(10):
        job = HostJob(due.host, whole_plan=True, named=True)
        await api.waypost.site_checks.settle(due.id, result_of_visit(due.host, visit(job, site), now=NOW), sent=7)


async def shown(api: Api, path: str) -> str:
    page = await api.get(path, headers=ASKING)
    assert page.status_code == 200 and "no-store" in page.headers["cache-control"]
    assert faults(page.content) is None
    assert 'content="noindex"' in page.text
    return str(page.text)


async def test_a_site_is_checked_and_the_page_leads_to_its_entry(own_api: Api) -> None:
    path = await asked(own_api, PIGEON)
    waiting = await shown(own_api, path)
    assert "No process of this registry makes visits now" in waiting and "waypost worker" in waiting
    await made(own_api, SITES[PIGEON])
    done = await shown(own_api, path)
    assert "A document for agents was found" in done
    assert f'<a href="/s/{PIGEON}">listed</a>' in done
    assert "Everybody who has this address can read this page" in done


async def test_an_unlisted_site_learns_what_to_mend_and_where_to_submit_it(own_api: Api) -> None:
    path = await asked(own_api, f"https://{NEW_HOST}/")
    document: Any = adp_manifest(NEW_HOST, "fold") | {"base_url": f"http://{NEW_HOST}", "name": HOSTILE}
    await made(own_api, {"/.well-known/agent": Page(document)})
    page = await shown(own_api, path)
    assert f'/submit?hosts={NEW_HOST}"' in page
    assert "/reasons/adp.base_url" in page and f"{NEW_HOST}/.well-known/agent" in page
    assert "<svg" not in page and page.count("<script") == 1 and "\u202e" not in page


async def test_a_site_without_documents_learns_where_they_are_served(own_api: Api) -> None:
    path = await asked(own_api, NEW_HOST)
    await made(own_api, {})
    page = await shown(own_api, path)
    assert "Nothing was found at any address" in page and 'href="/formats"' in page


@pytest.mark.parametrize("target", ["no host", "http://pigeonpost.dev/", "10.0.0.1", HOSTILE, "a" * 3_000, "\x00"])
async def test_what_cannot_be_checked_is_told_at_the_field_and_stays(api: Api, target: str) -> None:
    answer = await send(api, "/check", {"target": target})
    assert answer.status_code == 400
    assert "<title>Error:" in answer.text and 'id="target-fault"' in answer.text
    assert faults(answer.content) is None
    assert "<svg" not in answer.text


async def test_a_limit_is_told_at_once(own_api: Api) -> None:
    await asked(own_api, NEW_HOST)
    again = await send(own_api, "/check", {"target": NEW_HOST})
    assert again.status_code == 429 and "less than a minute ago" in again.text


@pytest.mark.parametrize("token", ["none", "x" * 5_000, "wp_check_0123456789abcdef_" + "A" * 43, "%00"])
async def test_other_addresses_have_no_page(api: Api, token: str) -> None:
    assert (await api.get(f"/check/{token}", headers=ASKING)).status_code in (400, 404, 414)
