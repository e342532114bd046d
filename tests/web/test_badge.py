"""The badge: a picture that says what the service has, embeddable everywhere, with nothing in it that could run."""

from xml.etree import ElementTree

import pytest

from tests.api.sites import NOTHING, PIGEON
from tests.support.api import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_badge_says_score_and_trust(api: Api) -> None:
    service = (await api.json(f"/api/services/{PIGEON}"))["data"]
    answer = await api.get(f"/badge/{PIGEON}.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    picture = ElementTree.fromstring(answer.content)
    assert picture.get("aria-label") == f"waypost: {service['score']['value']} of 100, host checked"
    assert {element.tag.rpartition("}")[2] for element in picture.iter()} == {
        "svg",
        "title",
        "rect",
        "path",
        "g",
        "text",
    }


async def test_any_site_may_show_a_badge(api: Api) -> None:
    headers = (await api.get(f"/badge/{PIGEON}.svg")).headers
    assert headers["cross-origin-resource-policy"] == "cross-origin"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    again = await api.get(f"/badge/{PIGEON}.svg", headers={"If-None-Match": headers["etag"]})
    assert again.status_code == 304


async def test_the_badge_of_a_host_that_is_not_listed_says_so(api: Api) -> None:
    for host in (NOTHING, "unknown.example"):
        assert "not listed" in (await api.get(f"/badge/{host}.svg")).text
    assert (await api.get("/badge/no%20host.svg")).status_code == 404
