"""Every page in a real browser: accessible, quiet, self-contained, and no wider than the window."""

from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.web.looking import LOOKS, looking
from tests.web.paths import ERRORS, PAGES, SAMPLE

pytestmark = pytest.mark.slow


def swept(*paths: str) -> list[Any]:
    """Return the paths as parameters: those outside the sample are opened by `make test-long`."""
    return [path if path in SAMPLE else pytest.param(path, marks=pytest.mark.long) for path in paths]


@pytest.mark.parametrize("path", swept(*PAGES, *ERRORS))
def test_a_page_is_accessible(browser: Browser, pages_url: str, path: str) -> None:
    with looking(browser, pages_url) as look:
        look.open(path)
        look.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        found = {}
        for width, theme in LOOKS:
            look.appear(theme, width)
            found[width, theme] = look.violations() + (["wider than the window"] if look.overflows() else [])
        assert {look_of: faults for look_of, faults in found.items() if faults} == {}
        assert look.foreign() == []
        if path in PAGES:
            assert (look.status, look.complaints) == (200, [])


@pytest.mark.parametrize("path", swept(*PAGES))
def test_a_page_works_without_script(browser: Browser, pages_url: str, path: str) -> None:
    with looking(browser, pages_url, script=False) as look:
        assert look.open(path).status == 200
        assert look.page.locator("h1").count() == 1
        assert look.complaints == []
        assert look.page.locator("button.copy:visible").count() == 0  # a button that would do nothing


@pytest.mark.parametrize("path", swept(*PAGES))
def test_the_keyboard_reaches_the_content_first(browser: Browser, pages_url: str, path: str) -> None:
    with looking(browser, pages_url) as look:
        look.open(path)
        look.page.keyboard.press("Tab")
        assert look.page.evaluate("document.activeElement.className") == "skip"
        look.page.keyboard.press("Enter")
        assert look.page.evaluate("document.activeElement.id") == "content"


def test_a_page_needs_one_round_trip_of_blocking_resources(browser: Browser, pages_url: str) -> None:
    with looking(browser, pages_url) as look:
        look.open("/")
        blocking = look.page.evaluate(
            "performance.getEntriesByType('resource').filter(one => one.renderBlockingStatus === 'blocking').length"
        )
        assert blocking == 1  # the stylesheet


def test_paper_shows_the_rules_and_no_controls(browser: Browser, pages_url: str) -> None:
    with looking(browser, pages_url) as look:
        look.open("/rubric")
        rules = look.page.locator("details .stacked").first
        assert not rules.is_visible()
        look.page.emulate_media(media="print")
        assert rules.is_visible()
        assert look.page.locator("form:visible, nav:visible, button:visible").count() == 0
