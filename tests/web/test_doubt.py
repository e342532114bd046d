"""No page about a host whose identity is in doubt praises it, and every one of them says what is in doubt."""

import re

import pytest

from registry.core.merging.trust import IDENTITIES
from tests.api.sites import PIGEON
from tests.api.test_trust import CLAIMS, DOUBT, PAYPAL, with_impostors
from tests.support.api import Api
from tests.web.sending import ASKING, send

OF_HOST = (
    "/s/{host}", "/s/{host}/c/{host}", "/s/{host}/evidence", "/s/{host}/history", "/s/{host}/crawl",
    "/s/{host}/recheck", "/s/{host}/report", "/claim/{host}", "/owner/{host}", "/opt-out/{host}",
)  # fmt: skip
UNLISTED = "login.paypa1.com"
PRAISED = re.compile(
    r'class="(?:grade|score) (?:high|middle|low)|class="tag good"[^>]*>owner|href="[^"]*#(?:host-checked|owner-proven)"'
)


async def test_every_page_of_a_doubtful_host_says_so(own_api: Api) -> None:
    await with_impostors(own_api)
    name = (await own_api.json(f"/api/services/{CLAIMS}"))["data"]["manifest"]["capabilities"][0]["name"]
    for path in OF_HOST:
        page = (await own_api.get(path.format(host=CLAIMS).replace(f"/c/{CLAIMS}", f"/c/{name}"))).text
        assert f'href="/rubric#in-doubt">identity in doubt</a> {DOUBT}' in page, path
        assert '<main id="content" tabindex="-1" class="doubtful">' in page and not PRAISED.search(page), path
        genuine = (await own_api.get(path.format(host=PAYPAL).replace(f"/c/{PAYPAL}", "/c/refund"))).text
        assert "identity in doubt" not in genuine and "doubtful" not in genuine, path
    assert "grade high" in (await own_api.get(f"/s/{PAYPAL}")).text


async def test_search_engines_are_not_shown_a_doubtful_host(own_api: Api) -> None:
    await with_impostors(own_api)
    for host, is_shown in ((PAYPAL, True), (CLAIMS, False)):
        page = (await own_api.get(f"/s/{host}", headers=ASKING)).text
        assert ('content="noindex"' not in page, 'rel="canonical"' in page, "ld+json" in page) == (is_shown,) * 3
        assert (f"/s/{host}</loc>" in (await own_api.get("/sitemap/1.xml")).text) is is_shown


async def test_lists_say_it_beside_the_name(own_api: Api) -> None:
    await with_impostors(own_api)
    for path in ("/", "/search", f"/search?q={CLAIMS}"):
        _, *rows = (await own_api.get(path, headers=ASKING)).text.split('<p class="row-title">')
        [row] = [row for row in rows if row.startswith(f'<a href="/s/{CLAIMS}"')]
        title, _, rest = row.partition("</p>")
        assert 'href="/rubric#in-doubt"' in title and not PRAISED.search(row) and "score plain" in rest, path
    assert DOUBT in (await own_api.get("/search")).text
    assert 'href="/rubric#in-doubt"' in (await own_api.get("/changes")).text


async def test_the_badge_of_a_doubtful_host_has_no_score(own_api: Api) -> None:
    await with_impostors(own_api)
    badge = (await own_api.get(f"/badge/{CLAIMS}.svg")).text
    assert 'aria-label="waypost: identity in doubt"' in badge and "#57606a" in badge
    assert "#15692f" not in badge and " of 100" not in badge
    assert "of 100, host checked" in (await own_api.get(f"/badge/{PAYPAL}.svg")).text


@pytest.mark.parametrize("path", ["/claim/{host}", "/owner/{host}", "/opt-out/{host}"])
async def test_a_host_that_is_not_listed_is_doubted_by_its_name(own_api: Api, path: str) -> None:
    page = (await own_api.get(path.format(host=UNLISTED))).text
    assert "It uses the name of PayPal; this host is not on paypal.com." in page and 'class="doubtful"' in page


async def test_the_page_that_follows_a_form_says_it(own_api: Api) -> None:
    await with_impostors(own_api)
    claim = await send(own_api, f"/claim/{CLAIMS}", {"proof": "file"})
    assert DOUBT in (await own_api.get(claim.headers["location"], headers=ASKING)).text


async def test_every_word_is_explained_where_it_links(own_api: Api) -> None:
    page = (await own_api.get("/rubric")).text
    for word, about in IDENTITIES.items():
        assert re.search(rf'<dt id="{word}"><span class="tag {about.colour}">{about.label}</span></dt>', page)
    links = re.findall(r'href="/rubric#([a-z-]+)"', (await own_api.get("/search")).text)
    assert links and set(links) <= set(IDENTITIES)
    for old in ("verified", "community", "unverified"):
        for path in ("/", "/search", f"/s/{PIGEON}", "/stats"):
            shown = re.sub(r"<[^>]*>", " ", (await own_api.get(path, headers=ASKING)).text)
            assert not re.search(rf"\b{old}\b", shown), (path, old)
