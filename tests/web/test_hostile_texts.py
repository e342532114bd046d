"""Pages about services whose texts attack: nothing runs, nothing is hidden, nothing breaks the page."""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import html5lib
import pytest
from playwright.sync_api import Browser

from registry.actions.queries.discover import SearchActions
from registry.search.embedded import EmbeddedBackend
from registry.store.engine import make_engine
from registry.store.recorded import RecordedListener
from registry.store.unit_of_work import Store
from registry.wiring import Waypost, utc_now
from registry.wiring.reference import Reference
from tests.support import database
from tests.support.api import _settings
from tests.support.builders import Site, crawl
from tests.support.serving import serving
from tests.web.hostile import LENGTHY, MANY, MANY_CAPABILITIES, SHOUTING, SITES, TEMPLATE
from tests.web.looking import LOOKS, Look, launched, looking
from tests.web.paths import LINKS

pytestmark = pytest.mark.slow

PATHS = (
    "/",
    "/search",
    "/search?q=parcel",
    LINKS.service(SHOUTING),
    LINKS.service(LENGTHY),
    LINKS.service(MANY),
    LINKS.to("/s/{host}", {"page": 4}, host=MANY),
)


@pytest.fixture(scope="module")
def hostile_url(
    database_server: str, database_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("hostile")
    with database.new_database(database_server, "hostile", database_template) as name:
        asyncio.run(crawled(database.on(database_server, name), folder, {0: SITES}))
        with serving(database_server, (name, folder), tmp_path_factory.mktemp("served")) as url:
            yield url


async def crawled(url: str, folder: Path, webs: Mapping[int, Mapping[str, Site]]) -> None:
    """Crawl each of the webs, the earliest first, and index what was found. Keys: how many days ago."""
    store, now = Store(make_engine(url, pool_size=2)), datetime.now(UTC).replace(microsecond=0)
    try:
        for days in sorted(webs, reverse=True):
            await crawl(store, webs[days], now - timedelta(days=days))
        backend = EmbeddedBackend(folder / "index")
        waypost = Waypost(
            _settings(folder),
            store,
            lambda: SearchActions(store, utc_now, backend),
            RecordedListener(store),
            Reference(store),
        )
        await waypost.search.reindex()
        await waypost.close()
    finally:
        await store.close()


@pytest.fixture(scope="module")
def window(hostile_url: str) -> Iterator[Browser]:
    with launched() as opened:
        yield opened


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[:40])
def test_nothing_runs_and_nothing_breaks(window: Browser, hostile_url: str, path: str) -> None:
    with looking(window, hostile_url) as look:
        look.open(path)
        assert look.status == 200, look.page.locator("main").inner_text()
        _check(look)


@pytest.mark.parametrize("host", [SHOUTING, LENGTHY])
def test_the_page_of_a_capability_holds_as_well(window: Browser, hostile_url: str, host: str) -> None:
    with looking(window, hostile_url) as look:
        look.open(LINKS.service(host))
        look.page.locator(".capability h3 a").first.click()
        look.page.wait_for_url("**/c/**")
        assert look.page.get_by_role("heading", name="Call it", exact=True).count() == 1
        _check(look)


def _check(look: Look) -> None:
    look.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = {}
    for width, theme in LOOKS:
        look.appear(theme, width)
        found[width, theme] = look.violations() + (["wider than the window"] if look.overflows() else [])
    assert {look_of: faults for look_of, faults in found.items() if faults} == {}
    assert look.complaints == []  # a dialog, a blocked script or a request that failed would be here
    assert look.foreign() == []
    assert look.page.locator("main :is(script, img[src=x], svg)").count() == 0
    links = look.page.eval_on_selector_all("a", "all => all.map(one => one.protocol)")
    assert set(links) <= {"http:", "https:"}
    html5lib.HTMLParser(strict=True).parse(look.page.content().encode())


def test_links_to_listed_sites_say_that_the_site_wrote_them(window: Browser, hostile_url: str) -> None:
    with looking(window, hostile_url, script=False) as look:
        look.open(LINKS.service(SHOUTING))
        foreign = look.page.locator("a[href^='https://hostile.example']")
        assert foreign.count() > 0
        relations = [foreign.nth(index).get_attribute("rel") for index in range(foreign.count())]
        assert set(relations) == {"nofollow noopener ugc"}


def test_hidden_characters_are_shown(window: Browser, hostile_url: str) -> None:
    with looking(window, hostile_url) as look:
        look.open(LINKS.service(SHOUTING))
        text = look.page.locator("body").inner_text()
        assert not set("\u202e\u2066\u200b\u0007") & set(text)


def test_a_template_in_a_text_is_a_text(window: Browser, hostile_url: str) -> None:
    with looking(window, hostile_url) as look:
        look.open(LINKS.service(SHOUTING))
        assert TEMPLATE in look.page.locator("main").inner_text()


def test_long_lists_have_pages(window: Browser, hostile_url: str) -> None:
    with looking(window, hostile_url, script=False) as look:
        look.open(LINKS.service(MANY))
        seen = set(look.page.locator(".capability h3").all_inner_texts())
        while (following := look.page.locator("a[rel=next]")).count():
            with look.page.expect_navigation():
                following.click()
            seen |= set(look.page.locator(".capability h3").all_inner_texts())
        assert len(seen) == MANY_CAPABILITIES


def test_search_as_you_type_shows_names_as_texts(window: Browser, hostile_url: str) -> None:
    with looking(window, hostile_url) as look:
        look.open("/")
        look.page.keyboard.press("Tab")
        look.page.locator("#q").press_sequentially("track parcels with couriers")
        look.page.locator(".suggest a").first.wait_for()
        assert look.page.locator(".suggest svg, .suggest script, .suggest img").count() == 0
        assert look.violations() == []
        look.page.keyboard.press("ArrowDown")
        assert look.page.locator(".suggest a[aria-selected=true]").count() == 1
        look.page.keyboard.press("Escape")
        assert look.page.evaluate("document.activeElement.id") == "q"
        look.page.keyboard.press("Enter")
        look.page.wait_for_url("**/search?q=track+parcels+with+couriers")
        assert (look.complaints, look.foreign()) == ([], [])
