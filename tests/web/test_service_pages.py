"""The pages about one service in a browser: what one came for first, and lists that can be searched."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser

from tests.support import database
from tests.support.builders import ADP, Page, Site, adp_manifest, adp_site
from tests.support.serving import serving
from tests.web.looking import LOOKS, Look, launched, looking
from tests.web.paths import LINKS
from tests.web.test_hostile_texts import crawled

pytestmark = pytest.mark.slow

FERRY: Final = "ferries.example"
RIVAL: Final = "boats.example"
COUSIN: Final = "api.ferries.example"
TOOLS: Final = "toolbox.example"
ALONE: Final = "beekeeper.example"
TOOL_COUNT: Final = 500
CROSSINGS: Final = "Sells tickets for ferry crossings between the islands of the bay and says when each ferry leaves."
STORY: Final = "A day pass covers every crossing. " * 200


def _ferry(host: str, *names: str, **members: Any) -> dict[str, Page]:
    return adp_site(host, *names, description=CROSSINGS, **members)


def _without_details(pages: dict[str, Page]) -> dict[str, Page]:
    return {ADP: pages[ADP]}


def _long() -> dict[str, Page]:
    manifest = adp_manifest(ALONE, "watch_hive", description="Looks after hives.")
    manifest["capabilities"][0]["description"] = STORY[:1_900]
    return {ADP: Page(manifest)}


def _tools() -> dict[str, Page]:
    tools = [
        {
            "name": f"tool_{number:03}",
            "description": f"Turns screw number {number}." + (" Also sharpens pencils." if number % 100 == 7 else ""),
            "inputSchema": {"type": "object", "properties": {"depth": {"type": "number"}}},
        }
        for number in range(TOOL_COUNT)
    ]
    card = {
        "serverInfo": {"name": "Toolbox", "version": "1.0.0", "description": "Turns screws of every kind."},
        "transport": {"type": "streamable-http", "endpoint": f"https://{TOOLS}/mcp"},
        "capabilities": {"tools": {}},
        "tools": tools,
    }
    return {"/.well-known/mcp/server-card.json": Page(card)}


_NOW: Final[dict[str, Site]] = {
    FERRY: _ferry(FERRY, "list_crossings", "buy_ticket", auth={"type": "api_key", "header": "X-Pass"}),
    RIVAL: _ferry(RIVAL, "book_crossing"),
    COUSIN: _ferry(COUSIN, "buy_ticket"),
    TOOLS: _tools(),
    ALONE: _long(),
}
_BEFORE: Final = {**_NOW, FERRY: _without_details(_ferry(FERRY, "list_crossings"))}


@pytest.fixture(scope="module")
def base(database_server: str, database_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("pages")
    with database.new_database(database_server, "pages", database_template) as name:
        asyncio.run(crawled(database.on(database_server, name), folder, {8: _BEFORE, 4: _NOW, 1: _NOW}))
        with serving(database_server, (name, folder), tmp_path_factory.mktemp("served")) as url:
            yield url


@pytest.fixture(scope="module")
def window(base: str) -> Iterator[Browser]:
    with launched() as opened:
        yield opened


def main_text(look: Look) -> str:
    return look.page.locator("main").inner_text()


def order(look: Look, *headings: str) -> list[float]:
    """Return how far down the page each heading begins."""
    boxes = [look.page.get_by_role("heading", name=name).first.bounding_box() for name in headings]
    return [box["y"] for box in boxes if box]


def test_how_it_is_used_comes_first_and_the_operator_last(window: Browser, base: str) -> None:
    with looking(window, base, width=320) as look:
        look.open(LINKS.service(FERRY))
        places = order(
            look, "How to use it", "2 capabilities", "What is known of it", "Score", "Visits", "documents",
            "Similar services", "For the operator of this site",
        )  # fmt: skip
        assert len(places) == 8 and places == sorted(places)
        assert look.page.locator("#snippet-curl").is_visible()
        assert not look.page.get_by_text("Which document each field was taken from").locator("..//table").is_visible()


def test_the_connection_is_that_of_the_first_call(window: Browser, base: str) -> None:
    with looking(window, base) as look:
        look.open(LINKS.service(FERRY))
        titles = look.page.locator(".snippets summary").all_inner_texts()
        assert titles == ["curl", "Python", "JavaScript"]
        assert "in the header X-Pass" in main_text(look)
        for name in ("curl", "python", "javascript"):
            assert f"https://{FERRY}/v1/buy_ticket" in str(look.page.locator(f"#snippet-{name}").text_content())
        look.open(LINKS.service(TOOLS))
        titles = look.page.locator(".snippets summary").all_inner_texts()
        assert titles == ["Claude Code", "VS Code", "Cursor and others"]
        line = look.page.locator("#snippet-claude-code").text_content()
        assert line == f"claude mcp add --transport http toolbox-example https://{TOOLS}/mcp"


def test_one_of_five_hundred_is_found_without_script(window: Browser, base: str) -> None:
    with looking(window, base, script=False) as look:
        look.open(LINKS.service(TOOLS))
        assert look.page.locator(".capability").count() == 20
        assert "Page 1 of 25" in main_text(look)
        look.page.get_by_label("Filter").fill("PENCILS sharpens")
        with look.page.expect_navigation():
            look.page.get_by_role("button", name="Show", exact=True).click()
        names = look.page.locator(".capability h3").all_inner_texts()
        assert names == [f"tool_{number:03}" for number in range(7, TOOL_COUNT, 100)]
        assert "5 of 500 fit." in main_text(look)
        look.page.get_by_label("Filter").fill("nothing like it")
        with look.page.expect_navigation():
            look.page.get_by_role("button", name="Show", exact=True).click()
        assert "No capability has these words." in main_text(look)


def test_a_page_after_the_last_leads_back(window: Browser, base: str) -> None:
    with looking(window, base, script=False) as look:
        look.open(LINKS.service(TOOLS) + "?page=26&c=tool")
        assert look.status == 404
        with look.page.expect_navigation():
            look.page.get_by_role("link", name="Show the last page").click()
        assert "Page 25 of 25" in main_text(look)
        assert look.page.locator(".capability").count() == 20


def test_similar_services_are_of_other_sites_and_are_compared(window: Browser, base: str) -> None:
    with looking(window, base, script=False) as look:
        look.open(LINKS.service(FERRY))
        hosts = look.page.locator("section:has(#similar) .host").all_inner_texts()
        assert hosts == [RIVAL]
        with look.page.expect_navigation():
            look.page.get_by_role("link", name="Compare", exact=True).click()
        assert look.page.locator(".compared thead th").count() == 2
        look.open(LINKS.service(ALONE))
        assert "No other listed service describes nearly the same." in main_text(look)


def test_three_services_are_compared(window: Browser, base: str) -> None:
    with looking(window, base, script=False) as look:
        look.open(LINKS.compare((FERRY, TOOLS, ALONE, "never-seen.example.com")))
        rows = {row.locator("th").inner_text(): row for row in look.page.locator(".compared tbody tr").all()}
        assert rows["Can be called"].locator("td").all_inner_texts() == ["all", "all", "none"]
        assert rows["Credentials"].locator("td").first.inner_text() == "API key in X-Pass"
        assert {"What it does", "Price", "Formats", "Identity", "Score", "Safety", "Last seen"} <= rows.keys()
        field = look.page.get_by_label("Host 4")
        assert field.get_attribute("aria-invalid") == "true"
        assert "No service is listed under this host." in main_text(look)
        look.page.get_by_label("Host 2").fill("")
        field.fill(RIVAL)
        with look.page.expect_navigation():
            look.page.get_by_role("button", name="Compare").click()
        hosts = look.page.locator(".compared thead .mono").all_inner_texts()
        assert hosts == [FERRY, ALONE, RIVAL]


def test_the_history_says_what_changed(window: Browser, base: str) -> None:
    with looking(window, base, script=False) as look:
        look.open(LINKS.service(FERRY))
        chart = look.page.get_by_role("img", name=re.compile("Score over time"))
        said = str(chart.get_attribute("aria-label"))
        scores = re.findall(r"(\d+) on \d", said)
        assert len(scores) == 2 and int(scores[0]) < int(scores[1])
        with look.page.expect_navigation():
            look.page.get_by_role("link", name="What changed").first.click()
        changes = look.page.locator("section:has(#changes) > ol > li")
        latest, first = changes.nth(0).inner_text(), changes.nth(1).inner_text()
        assert f"Score {scores[0]} → {scores[1]}" in latest
        assert "no longer found: " in latest and re.search(r"\+\d", latest)
        assert "Capability added: buy_ticket" in latest
        assert f"listed with score {scores[0]}" in first and "Capability: list_crossings" in first
        assert look.page.locator("section:has(#versions) table:visible").count() == 0  # raw differences are folded


def test_a_capability_that_cannot_be_called_says_what_to_do(window: Browser, base: str) -> None:
    with looking(window, base, script=False) as look:
        look.open(LINKS.capability(ALONE, "watch_hive"))
        text = main_text(look)
        assert "It cannot be called from what is known." in text
        assert "For the operator of the site: Serve the document at that address" in text
        whole = look.page.locator(".whole")
        assert not whole.locator(".text").is_visible()
        whole.locator("summary").click()
        assert whole.locator(".text").inner_text() == STORY[:1_900].strip()


def test_a_capability_can_be_copied_as_a_tool(window: Browser, base: str) -> None:
    with looking(window, base, script=False) as look:
        look.open(LINKS.capability(TOOLS, "tool_007"))
        assert look.page.title().startswith("tool_007, capability of Toolbox (toolbox.example)")
        for name, text in (("Anthropic", '"input_schema": {'), ("The whole record", '"call": {')):
            with look.page.expect_navigation():
                look.page.get_by_role("link", name=name, exact=True).click()
            assert text in str(look.page.locator("#tool").text_content())


@pytest.mark.parametrize(
    "path",
    [
        LINKS.service(FERRY), LINKS.service(TOOLS), LINKS.to("/s/{host}/history", host=FERRY),
        LINKS.capability(ALONE, "watch_hive"), LINKS.compare((FERRY, TOOLS, ALONE)),
    ],
)  # fmt: skip
def test_they_look_right_in_both_themes_and_widths(window: Browser, base: str, path: str) -> None:
    with looking(window, base) as look:
        look.open(path)
        look.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        found = {}
        for width, theme in LOOKS:
            look.appear(theme, width)
            found[width, theme] = look.violations() + (["wider than the window"] if look.overflows() else [])
        assert {look_of: faults for look_of, faults in found.items() if faults} == {}
        assert look.complaints == []
