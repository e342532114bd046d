"""The sitemap names every listed service once."""

from xml.etree import ElementTree

import pytest

from tests.support.api import PUBLIC_URL, Api

pytestmark = pytest.mark.asyncio(loop_scope="module")


def addresses(body: bytes) -> list[str]:
    namespace = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9"}
    return [element.text or "" for element in ElementTree.fromstring(body).iterfind(".//s:loc", namespace)]


async def test_every_service_is_named_once(api: Api) -> None:
    parts = addresses((await api.get("/sitemap.xml")).content)
    named = []
    for part in parts:
        answer = await api.get(part.removeprefix(PUBLIC_URL))
        assert answer.headers["content-type"] == "application/xml"
        named += addresses(answer.content)
    services = (await api.json("/api/services", limit=100))["data"]
    assert sorted(one for one in named if "/s/" in one) == sorted(f"{PUBLIC_URL}/s/{row['domain']}" for row in services)
    for address in named:
        assert (await api.get(address.removeprefix(PUBLIC_URL), headers={"Accept": "text/html"})).status_code == 200


async def test_there_are_no_empty_pages(api: Api) -> None:
    for number in ("0", "2", "99999999999", "x"):
        assert (await api.get(f"/sitemap/{number}.xml")).status_code == 404
