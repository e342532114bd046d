"""Evidence and history as pages."""

import re

from tests.api.sites import PIGEON
from tests.support.api import Api
from tests.web.test_html import ASKING


async def test_the_evidence_is_that_of_the_api(own_api: Api) -> None:
    documents = (await own_api.json(f"/api/services/{PIGEON}/evidence"))["data"]["documents"]
    page = (await own_api.get(f"/s/{PIGEON}/evidence", headers=ASKING)).text
    for one in documents:
        assert one["sha256"] in page
    links = re.findall(r'href="(/api/services/[^"]+/raw)" download', page)
    assert len(links) == sum(one["bytes"] == "kept" for one in documents) > 0
    raw = await own_api.get(links[0])
    assert raw.headers["content-disposition"].startswith("attachment")


async def test_the_history_has_every_version_and_a_way_back(own_api: Api) -> None:
    versions = (await own_api.json(f"/api/services/{PIGEON}/history"))["data"]["versions"]
    page = (await own_api.get(f"/s/{PIGEON}/history", headers=ASKING)).text
    assert page.count("SHA-256 of the bytes") == min(len(versions), 15) > 0
    links = re.findall(r'href="(/api/services/[^"]+as_of=[^"]+)"', page)
    assert (await own_api.get(links[0].replace("&amp;", "&"))).status_code in {200, 404}
    assert "nothing was blocked, hidden or restored here" in page


async def test_a_decision_is_told(own_api: Api) -> None:
    access = own_api.waypost.access
    await access.hold(PIGEON, "quarantined", actor="operator:cli", reason="A <b>copy</b>")
    await access.release(PIGEON, "quarantined", actor="operator:cli", reason="It is none")
    page = (await own_api.get(f"/s/{PIGEON}/history", headers=ASKING)).text
    assert "<code>host.quarantined</code> by an operator of this registry: <bdi>A &lt;b&gt;copy" in page
    assert "It is none" in page


async def test_the_audit_log_is_read_page_by_page(own_api: Api) -> None:
    for number in range(51):
        await own_api.waypost.access.hold(f"host-{number}.com", "blocked", actor="key:1", reason=f"<i>{number}</i>")
    page = (await own_api.get("/audit", headers=ASKING)).text
    assert "<code>host.blocked</code> by an operator of this registry, for <bdi>host-50.com</bdi>: " in page
    assert page.count("<code>host.blocked</code>") == 50 and "&lt;i&gt;50&lt;/i&gt;" in page
    (older,) = re.findall(r'rel="next" href="([^"]+)"', page)
    last = (await own_api.get(older, headers=ASKING)).text
    assert last.count("<code>host.blocked</code>") == 1 and "host-0.com" in last and 'rel="next"' not in last
