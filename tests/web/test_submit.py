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
    path = await submitted(own_api, f" https://{NEW.upper()}/path\r\n\r\n{PIGEON}, {NEW}\n")
    page = await shown(own_api, path)
    assert "0 of 2 hosts are done." in page, "that one was visited before does not count"
    assert 'data-live="/api/submissions/' in page
    assert "Number 3 of your list: The same host stands earlier in the list." in page
    assert f'href="/s/{PIGEON}"' in page

    broken = adp_manifest(NEW, "fold") | {"capabilities": [{"name": "fold" + HOSTILE}]}
    await crawl(own_api.store, {**SITES, NEW: {ADP: Page(broken)}}, datetime.now(UTC))
    page = await shown(own_api, path)
    assert "2 of 2 hosts are done." in page
    assert "data-live" not in page
    assert "in its documents" in page
    assert "Mend the findings." in page and "It can be visited again <time" in page
    assert "<svg" not in page


async def test_a_host_that_was_just_visited_says_so(own_api: Api) -> None:
    await submitted(own_api, PIGEON)
    await crawl(own_api.store, SITES, datetime.now(UTC))
    page = await shown(own_api, await submitted(own_api, PIGEON))
    assert "0 of 1 host is done." in page and "data-live" not in page
    assert "a limit forbids another visit now" in page and 'class="note"' in page
    recheck = await own_api.get(f"/s/{PIGEON}/recheck", headers=ASKING)
    assert "It can be visited again <time" in recheck.text
    refused = await send(own_api, f"/s/{PIGEON}/recheck", {})
    assert (refused.status_code, faults(refused.content)) == (429, None)
    assert "less than 60 seconds ago" in refused.text and "Error: " in refused.text


async def test_a_visit_asked_for_on_the_page_of_a_list_leads_back_to_it(own_api: Api) -> None:
    path = await submitted(own_api, PIGEON)
    answer = await send(own_api, f"/s/{PIGEON}/recheck", {"list": path.rpartition("/")[2]})
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    for elsewhere in ("//evil.example", "../..", path, ""):
        answer = await send(own_api, f"/s/{PIGEON}/recheck", {"list": elsewhere})
        assert answer.headers["location"] == f"/s/{PIGEON}/recheck"


async def test_a_host_that_is_not_listed_has_the_reasons(own_api: Api) -> None:
    path = await submitted(own_api, NEW)
    await crawl(own_api.store, {**SITES, NEW: {ADP: Page(b'{"spec_version": "1.0", }')}}, datetime.now(UTC))
    page = await shown(own_api, path)
    assert "not listed" in page
    assert "it cannot be read. Check and mend it." in page
    assert "malformed" not in page, "it is said once, in a sentence"


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
    for hosts, says in (("", "at least one host"), (" ,;\n", "at least one host"), ("a.com " * 1_001, "at most 1000")):
        answer = await send(own_api, PATH, {"hosts": hosts})
        assert (answer.status_code, faults(answer.content)) == (400, None)
        assert says in answer.text
    answer = await send(own_api, PATH, {"hosts": "x" * 3_000})
    assert answer.status_code == 400
    assert "<svg" not in answer.text
    assert "longer than 253 characters" in answer.text


async def test_refused_names_stay_in_the_form_each_with_its_words(own_api: Api) -> None:
    written = f"10.0.0.1\n\n{HOSTILE}, \0\n\u202e.com"
    answer = await send(own_api, PATH, {"hosts": written})
    assert (answer.status_code, faults(answer.content)) == (400, None)
    for line in ("Line 1:", "Line 3:", "Line 4:", "Give a host name, not an IP address.", "invisible or control"):
        assert line in answer.text, line
    assert "<title>Error: Submit hosts" in answer.text and "10.0.0.1\n\n&#34;" in answer.text
    assert "autofocus" in answer.text and "<svg" not in answer.text and "note good" not in answer.text
    mixed = await send(own_api, PATH, {"hosts": f"{PIGEON}\nlocalhost\n{NEW} {NEW}\nhttps://host.com:8443/"})
    assert (mixed.status_code, faults(mixed.content)) == (400, None)
    assert "2 names are accepted: " in mixed.text and 'href="/submissions/' in mixed.text
    assert "localhost\nhttps://host.com:8443/</textarea>" in mixed.text
    assert "Line 1:" in mixed.text and "Line 2:" in mixed.text and "without a port" in mixed.text
    one = await send(own_api, PATH, {"hosts": f"{NEW}\n{NEW}"})
    assert one.status_code == 303, "a name written twice is no fault"


async def test_submissions_of_a_client_are_limited(own_api: Api) -> None:
    async with limited(own_api, 2) as api:
        for _ in range(2):
            await submitted(api, NEW)
        answer = await send(api, PATH, {"hosts": NEW})
        assert (answer.status_code, faults(answer.content)) == (429, None)
        assert "Too many requests" in answer.text
        assert int(answer.headers["retry-after"]) > 0
        assert (await api.get(PATH, headers=ASKING)).status_code == 200
