"""The head of every page: what a tab, a search engine and a link in a chat show of it."""

import json
import re
import struct
from collections import Counter
from html import unescape
from typing import Any

import pytest

from tests.api.sites import AWKWARD, PIGEON
from tests.support.api import PUBLIC_URL, Api
from tests.web.paths import ERRORS, PAGES
from tests.web.test_html import ASKING
from tests.web.test_sitemap import addresses

pytestmark = pytest.mark.asyncio(loop_scope="module")

DISTINCT = [
    *(path for path in PAGES if "?" not in path),
    "/search?q=send+a+parcel",
    "/search?category=email",
    "/search?sort=name",
    "/compare?host=" + PIGEON,
]


def found(page: str, pattern: str) -> str | None:
    match = re.search(pattern, page, re.DOTALL)
    return None if match is None else unescape(match[1])


async def head_of(api: Api, path: str) -> tuple[dict[str, str | None], str]:
    page = (await api.get(path, headers=ASKING)).text
    names = {
        "title": "<title>(.*?)</title>",
        "h1": "<h1>(.*?)</h1>",
        "canonical": '<link rel="canonical" href="([^"]*)">',
        "robots": '<meta name="robots" content="([^"]*)">',
        "description": '<meta name="description" content="([^"]*)">',
        "og:title": '<meta property="og:title" content="([^"]*)">',
        "og:description": '<meta property="og:description" content="([^"]*)">',
        "og:url": '<meta property="og:url" content="([^"]*)">',
        "og:image": '<meta property="og:image" content="([^"]*)">',
    }
    return {name: found(page, pattern) for name, pattern in names.items()}, page


async def test_titles_differ_and_name_the_page(api: Api) -> None:
    titles = {path: (await head_of(api, path))[0]["title"] or "" for path in DISTINCT}
    assert [title for title, count in Counter(titles.values()).items() if count > 1] == []
    for path, title in titles.items():
        name, _, registry = title.rpartition(" – ")
        assert (registry, name.strip() == name, len(name) >= 3) == ("waypost", True, True), path
    assert titles["/search?q=send+a+parcel"] == "send a parcel – search – waypost"


@pytest.mark.parametrize("path", [*PAGES, *ERRORS])
async def test_a_page_is_for_search_engines_or_says_that_it_is_not(api: Api, path: str) -> None:
    head, _ = await head_of(api, path)
    assert (head["canonical"] is None) is (head["robots"] == "noindex")
    assert head["og:url"] == head["canonical"]
    assert head["og:title"] is not None and head["title"] == head["og:title"] + " – waypost"
    assert head["description"] and head["og:description"] == head["description"]
    assert head["og:image"] and (await api.get(head["og:image"].removeprefix(PUBLIC_URL))).content[:4] == b"\x89PNG"
    if path in ERRORS:
        assert head["canonical"] is None
    elif head["canonical"] is not None:
        again, _ = await head_of(api, head["canonical"].removeprefix(PUBLIC_URL))
        assert again["canonical"] == head["canonical"]


@pytest.mark.parametrize(
    "path",
    [
        "/audit", "/search?q=parcel", "/compare", f"/claim/{PIGEON}", f"/owner/{PIGEON}", f"/opt-out/{PIGEON}",
        f"/s/{PIGEON}/crawl", f"/s/{PIGEON}/recheck", f"/s/{PIGEON}/report",
    ],
)  # fmt: skip
async def test_pages_of_no_use_to_strangers_are_not_indexed(api: Api, path: str) -> None:
    assert (await head_of(api, path))[0]["robots"] is not None


async def test_every_page_of_the_sitemap_is_for_search_engines(api: Api) -> None:
    for part in addresses((await api.get("/sitemap.xml")).content):
        for address in addresses((await api.get(part.removeprefix(PUBLIC_URL))).content):
            assert (await head_of(api, address.removeprefix(PUBLIC_URL)))[0]["canonical"] == address


async def test_robots_txt_names_the_sitemap(api: Api) -> None:
    lines = (await api.get("/robots.txt")).text.splitlines()
    (address,) = [line.removeprefix("Sitemap: ") for line in lines if line.startswith("Sitemap: ")]
    assert address == PUBLIC_URL + "/sitemap.xml"


async def json_ld(api: Api, path: str) -> Any:
    _, page = await head_of(api, path)
    text = re.search('<script type="application/ld\\+json">(.*?)</script>', page, re.DOTALL)
    if text is None:
        return None
    assert not set("<>&\u202e") & set(text[1])
    return json.loads(text[1])


async def test_the_start_page_says_how_it_is_searched(api: Api) -> None:
    said = await json_ld(api, "/")
    template = said["potentialAction"]["target"]["urlTemplate"]
    path = template.removeprefix(PUBLIC_URL).replace("{search_term_string}", "send%20a%20parcel")
    assert (await head_of(api, path))[0]["title"] == "send a parcel – search – waypost"


async def test_a_service_is_described_in_the_terms_of_search_engines(api: Api) -> None:
    said = await json_ld(api, f"/s/{PIGEON}")
    assert (said["@type"], said["url"]) == ("WebAPI", f"https://{PIGEON}/")
    assert said["mainEntityOfPage"] == f"{PUBLIC_URL}/s/{PIGEON}"
    awkward = await json_ld(api, f"/s/{AWKWARD}")
    assert awkward["description"] == "Greets <script>alert(1)</script> visitors politely."
    assert await json_ld(api, f"/s/{PIGEON}/history") is None


async def test_programs_that_read_no_page_get_an_icon(api: Api) -> None:
    icon = await api.get("/favicon.ico")
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/x-icon")
    _, kind, count = struct.unpack("<HHH", icon.content[:6])
    assert (kind, count, len(icon.content) < 2_000) == (1, 1, True)
