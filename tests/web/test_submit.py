"""Submitting hosts on a page, and the page of a list."""

import re
from datetime import UTC, datetime

import pytest

from registry.web.public_forms import SUBMIT as PATH
from tests.api.sites import NEW, PIGEON, SITES
from tests.support.api import Api
from tests.support.builders import ADP, Page, adp_manifest, crawl
from tests.web.sending import ASKING, limited, send
from tests.web.test_html import faults

pytestmark = pytest.mark.slow  # a database and an index for each

HOSTILE = '"><svg/onload=alert(1)>'


async def submitted(api: Api, hosts: str) -> str:
    """Submit the hosts and return the path of their page."""
    answer = await send(api, PATH, {"hosts": hosts})
    assert answer.status_code == 303, answer.text[:500]
    assert re.fullmatch("/submissions/[0-9a-f-]{36}", answer.headers["location"])
    return str(answer.headers["location"])


async def shown(api: Api, path: str) -> str:
    answer = await api.get(path, headers=ASKING)
    assert (answer.status_code, faults(answer.content)) == (200, None)
    assert answer.headers["cache-control"] == "private, no-cache"
    return answer.text


async def test_a_list_has_a_page_with_the_state_of_each_host(own_api: Api) -> None:
    path = await submitted(own_api, f" https://{NEW.upper()}/path\r\n\r\n{PIGEON}, 10.0.0.1;{NEW}\n")
    page = await shown(own_api, path)
    assert "1 of 2 hosts are done." in page
    assert 'data-live="/api/submissions/' in page
    assert "Number 3 of your list: Not the name of a public host." in page
    assert "Number 4 of your list: The same host stands earlier in the list." in page
    assert f'href="/s/{PIGEON}"' in page

    broken = adp_manifest(NEW, "fold") | {"capabilities": [{"name": "fold" + HOSTILE}]}
    await crawl(own_api.store, {**SITES, NEW: {ADP: Page(broken)}}, datetime.now(UTC))
    page = await shown(own_api, path)
    assert "2 of 2 hosts are done." in page
    assert "data-live" not in page
    assert "in its documents" in page
    assert "<svg" not in page


async def test_a_host_that_is_not_listed_has_the_reasons(own_api: Api) -> None:
    path = await submitted(own_api, NEW)
    await crawl(own_api.store, {**SITES, NEW: {ADP: Page(b'{"spec_version": "1.0", }')}}, datetime.now(UTC))
    page = await shown(own_api, path)
    assert "not listed" in page
    assert "malformed" in page


async def test_long_lists_have_pages(own_api: Api) -> None:
    path = await submitted(own_api, " ".join(f"host-{number}.com" for number in range(25)))
    first = await shown(own_api, path)
    assert "host-19.com" in first
    assert "host-20.com" not in first
    assert f'href="{path}?offset=20"' in first
    second = await shown(own_api, f"{path}?offset=20")
    assert "host-24.com" in second
    assert f'href="{path}?offset=0"' in second
    assert "No host of this list was accepted on this page" in await shown(own_api, f"{path}?offset=900")


async def test_what_cannot_be_submitted_is_told_at_the_form(own_api: Api) -> None:
    for hosts, says in (("", "at least one host"), (" ,;\n", "at least one host"), ("a.com " * 1_001, "1 to 1000")):
        answer = await send(own_api, PATH, {"hosts": hosts})
        assert (answer.status_code, faults(answer.content)) == (400, None)
        assert says in answer.text
    answer = await send(own_api, PATH, {"hosts": HOSTILE + "x" * 3_000})
    assert answer.status_code == 400
    assert "The name is too long." in answer.text
    assert "<svg" not in answer.text
    page = await shown(own_api, await submitted(own_api, f"{HOSTILE} \0 \u202e.com {PIGEON}"))
    assert page.count("Not the name of a public host.") == 3


async def test_submissions_of_a_client_are_limited(own_api: Api) -> None:
    async with limited(own_api, 2) as api:
        for _ in range(2):
            await submitted(api, NEW)
        answer = await send(api, PATH, {"hosts": NEW})
        assert (answer.status_code, faults(answer.content)) == (429, None)
        assert "Too many requests" in answer.text
        assert int(answer.headers["retry-after"]) > 0
        assert (await api.get(PATH, headers=ASKING)).status_code == 200
