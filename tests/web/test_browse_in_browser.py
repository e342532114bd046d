"""Ways through the lists and the statistics, in a real browser, with script and without."""

import csv
import io
import re
import urllib.request

import pytest
from playwright.sync_api import Browser

from tests.support.hang import HANG_SECONDS
from tests.web.looking import looking

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("script", [True, False])
def test_from_the_start_page_to_the_newest_of_a_category_and_a_format(
    browser: Browser, pages_url: str, script: bool, width: int
) -> None:
    with looking(browser, pages_url, script=script, width=width) as look:
        look.open("/")
        look.page.get_by_role("link", name="E-commerce").click()
        assert look.page.locator("h1").inner_text() == "E-commerce: 3 services"
        facets = look.page.get_by_role("complementary", name="Filters")
        switch = facets.get_by_text("Filters (1 set)")
        if width == 320:  # collapsed on a narrow screen, and there is no switch on a wide one
            assert not facets.get_by_role("link", name="Agent Discovery Protocol").is_visible()
            switch.click()
        else:
            assert not switch.is_visible()
        facets.get_by_role("link", name="API key").click()
        assert look.page.locator("h1").inner_text() == "E-commerce: 2 services"
        look.page.get_by_role("link", name="Name", exact=True).click()
        look.page.get_by_role("link", name="Newest").click()
        order = look.page.get_by_role("navigation", name="Order of the results")
        assert order.locator("[aria-current]").inner_text() == "Newest"
        assert look.page.locator(".rows > li").count() == 2
        look.page.get_by_role("link", name="Remove the filter Authentication: API key").click()
        assert look.page.locator("h1").inner_text() == "E-commerce: 3 services"
        assert look.complaints == []


@pytest.mark.parametrize("script", [True, False])
def test_three_days_are_three_points_and_the_table_agrees(browser: Browser, pages_url: str, script: bool) -> None:
    """The days that `crawled_registry` counts have gaps between them, so none is joined to the next."""
    with urllib.request.urlopen(f"{pages_url}/api/stats/history.csv", timeout=HANG_SECONDS) as answer:
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
        days = list(csv.DictReader(io.TextIOWrapper(answer, "utf-8", newline="")))
    assert len(days) == 3
    with looking(browser, pages_url, script=script) as look:
        look.open("/stats")
        chart = look.page.get_by_role("figure", name="Services", exact=True)
        path = chart.locator("svg[role=img] path").get_attribute("d")
        assert path is not None
        assert (path.count("M"), path.count("L")) == (3, 0)
        assert chart.locator("time").all_inner_texts() == [days[0]["day"], days[-1]["day"]]
        look.page.get_by_text("The numbers of 3 days as a table").click()
        rows = look.page.get_by_role("region", name="Numbers by day").locator("tbody tr")
        shown = [rows.nth(index).locator("th, td").all_inner_texts() for index in range(rows.count())]
        columns = ("day", "services", "capabilities", "hosts", "mean_score")
        told = [[day[name].removesuffix(".0") for name in columns] for day in reversed(days)]
        assert [row[: len(columns)] for row in shown] == told
        assert [int(row[-1]) for row in shown] == [int(day["visited_found"]) for day in reversed(days)]
        assert look.complaints == []


def test_numbers_lead_to_as_many_services(browser: Browser, pages_url: str) -> None:
    with looking(browser, pages_url) as look:
        look.open("/stats")
        rows = look.page.locator(".chart tr:has(th a)")
        counted = [
            (row.locator("th a").get_attribute("href"), row.locator(".number").inner_text()) for row in rows.all()
        ]
        assert len(counted) > 10
        for link, count in counted:
            assert link is not None
            look.open(link)
            heading = look.page.locator("h1").inner_text()
            assert re.search(rf"\b{count} services?\b", heading), (link, heading)
