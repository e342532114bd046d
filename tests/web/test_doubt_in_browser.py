"""Pages about a host whose identity is in doubt, in a real browser: accessible, and without green."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.api.test_trust import CLAIMS, PAYPAL, with_impostors
from tests.support.serving import serving
from tests.web.looking import LOOKS, looking

pytestmark = pytest.mark.slow

GREEN = """() => {
    const probe = document.createElement("p");
    document.body.append(probe);
    const green = ["--good", "--good-soft"].map((name) => {
        probe.style.color = `var(${name})`;
        return getComputedStyle(probe).color;
    });
    probe.remove();
    return [...document.querySelectorAll("main *")]
        .filter((one) => one.checkVisibility())
        .filter((one) => ["color", "backgroundColor"].some((name) => green.includes(getComputedStyle(one)[name])))
        .map((one) => one.outerHTML.slice(0, 120));
}"""


@pytest.fixture(scope="module")
def doubtful_url(
    database_server: str, crawled_registry: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a server whose registry has impostors too."""
    with serving(database_server, crawled_registry, tmp_path_factory.mktemp("doubt"), with_impostors) as url:
        yield url


@pytest.mark.parametrize(
    "path", ["/s/{host}", "/s/{host}/evidence", "/s/{host}/history", "/s/{host}/crawl", "/claim/{host}"]
)
def test_a_page_of_a_doubtful_host_is_accessible_and_not_green(browser: Browser, doubtful_url: str, path: str) -> None:
    with looking(browser, doubtful_url) as look:
        assert look.open(path.format(host=CLAIMS)).status == 200
        for width, theme in LOOKS:
            look.appear(theme, width)
            assert (look.violations(), look.overflows()) == ([], False)
            assert look.page.evaluate(GREEN) == []
        assert look.complaints == []


def test_the_page_of_the_owner_is_green(browser: Browser, doubtful_url: str) -> None:
    with looking(browser, doubtful_url) as look:
        look.open(f"/s/{PAYPAL}")
        assert any("grade high" in one for one in look.page.evaluate(GREEN))
