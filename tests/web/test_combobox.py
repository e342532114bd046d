"""The services that a search field suggests are a combobox (ARIA Authoring Practices, list autocomplete)."""

import pytest
from playwright.sync_api import Browser, Page

from tests.api.sites import PIGEON
from tests.web.looking import Look, looking

pytestmark = pytest.mark.slow


def suggested(look: Look, path: str = "/") -> Page:
    page = look.open(path).page
    page.locator("#q").fill("par")
    page.locator("#q").press_sequentially("cel")
    page.locator("[role=option]").first.wait_for()
    return page


def chosen(page: Page) -> str | None:
    """Return the text of the option that the field names as active; it is the only selected one."""
    active = page.locator("#q").get_attribute("aria-activedescendant")
    selected = page.locator("[role=option][aria-selected=true]")
    assert selected.count() == (active is not None)
    assert active is None or selected.get_attribute("id") == active
    return selected.inner_text() if active else None


@pytest.mark.parametrize("path", ["/", "/search?q=parcel", "/no-such-page"])
def test_the_arrows_choose_and_the_focus_stays_in_the_field(browser: Browser, pages_url: str, path: str) -> None:
    with looking(browser, pages_url) as look:
        page = suggested(look, path)
        field = page.locator("#q")
        assert (field.get_attribute("role"), field.get_attribute("aria-expanded")) == ("combobox", "true")
        assert field.get_attribute("aria-controls") == page.get_by_role("listbox").get_attribute("id")
        assert "Choose with the arrow keys" in page.locator("form [role=status]").inner_text()
        every = page.get_by_role("option").all_inner_texts()
        seen = [chosen(page)]
        for _ in range(len(every) + 1):
            page.keyboard.press("ArrowDown")
            seen.append(chosen(page))
            assert page.evaluate("document.activeElement.id") == "q"
        assert seen == [None, *every, None]
        page.keyboard.press("ArrowUp")
        assert chosen(page) == every[-1]
        assert look.violations() == []
        page.keyboard.press("Escape")
        assert page.get_by_role("listbox").count() == 0
        assert (field.get_attribute("aria-expanded"), field.input_value()) == ("false", "parcel")
        assert field.get_attribute("aria-activedescendant") is None


def test_enter_opens_the_chosen_service(browser: Browser, pages_url: str) -> None:
    with looking(browser, pages_url) as look:
        page = suggested(look)
        page.keyboard.press("ArrowDown")
        host = page.locator("[aria-selected=true] small").inner_text().strip()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/s/{host}")
        page.go_back()
        assert page.get_by_role("listbox").count() == 0
        assert look.complaints == []


def test_enter_without_a_choice_searches(browser: Browser, pages_url: str) -> None:
    with looking(browser, pages_url) as look:
        suggested(look).keyboard.press("Enter")
        look.page.wait_for_url("**/search?q=parcel")


def test_a_suggestion_can_be_pressed_and_is_left_by_tab(browser: Browser, pages_url: str) -> None:
    with looking(browser, pages_url) as look:
        page = suggested(look)
        page.keyboard.press("Tab")
        assert page.get_by_role("listbox").count() == 0
        assert page.evaluate("document.activeElement.textContent") == "Search"
        page = suggested(look)
        page.locator(f"[role=option][href='/s/{PIGEON}']").click()
        page.wait_for_url(f"**/s/{PIGEON}")


def test_without_script_it_is_a_plain_field(browser: Browser, pages_url: str) -> None:
    with looking(browser, pages_url, script=False) as look:
        page = look.open("/").page
        assert page.locator("#q").get_attribute("role") is None
        page.fill("#q", "parcel")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=parcel")
