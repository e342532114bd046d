"""The documentation in a real browser: one finds the way through it, and no page is endless."""

import re

import pytest
from playwright.sync_api import Browser, expect

from registry.web.guides import BY_SLUG
from tests.web.looking import looking

pytestmark = pytest.mark.slow

MAX_HEIGHT = 12_000
"""Pixels of a page in a window 1,280 wide."""


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_from_the_documentation_to_an_operation_its_shape_and_its_errors(
    browser: Browser, pages_url: str, script: bool
) -> None:
    with looking(browser, pages_url, width=320, script=script) as look:
        look.open("/")
        page = look.page
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Docs").click()
        page.get_by_role("link", name="API reference", exact=True).click()
        page.get_by_role("link", name="Discovery").click()
        page.get_by_role("link", name="GET /api/discover", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("GET /api/discover")
        page.get_by_text(re.compile("^Discovered: ")).click()
        page.get_by_role("region", name="Members of Discovered").get_by_role("link", name="DiscoverRow").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("DiscoverRow")
        page.go_back()
        page.get_by_role("link", name="invalid-cursor").click()
        page.get_by_text(re.compile("operations of the API give this answer")).click()
        page.get_by_role("link", name="GET /api/feed", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("GET /api/feed")
        assert (look.complaints, look.overflows() if script else False) == ([], False)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_an_operator_finds_how_to_leave(browser: Browser, pages_url: str, script: bool) -> None:
    with looking(browser, pages_url, script=script) as look:
        page = look.open("/docs").page
        page.get_by_role("link", name="From submission to opt-out").click()
        expect(page.locator("main dl").first).to_contain_text("Name in robots.txt")
        page.get_by_role("navigation", name="On this page").get_by_role("link", name="7. Opt out").click()
        assert page.url.endswith("/docs/operators#7-opt-out")
        page.get_by_role("link", name="crawler", exact=True).click()
        assert page.url.endswith("/docs/crawler-limits#leaving")
        expect(page.locator("#leaving")).to_be_in_viewport()
        assert look.complaints == []


def test_no_page_is_endless_or_wider_than_a_telephone(browser: Browser, pages_url: str) -> None:
    paths = ["/docs", "/terms", "/bot", "/docs/api", "/docs/api/shapes", "/docs/api/get-api-discover"]
    found = {}
    with looking(browser, pages_url) as look:
        for path in (*paths, *(f"/docs/{slug}" for slug in BY_SLUG)):
            look.open(path)
            height = look.page.evaluate("document.documentElement.scrollHeight")
            look.appear("light", 320)
            if height > MAX_HEIGHT or look.overflows():
                found[path] = height
            look.appear("light", 1280)
        assert (found, look.complaints) == ({}, [])
