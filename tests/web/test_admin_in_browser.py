"""The admin area in a real browser: from signing in to signing out, with script and without."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from registry.core.access.tokens import SCOPES
from registry.core.names.seeds import Seed
from registry.web.admin import PATHS
from tests.api.sites import BIKES, FAILING, PIGEON
from tests.support.api import Api
from tests.support.serving import serving
from tests.web.looking import looking
from tests.web.test_forms_in_browser import HOSTILE, assert_accessible

pytestmark = pytest.mark.slow

KEYS: list[str] = []
HOSTS = {True: PIGEON, False: BIKES}


@pytest.fixture(scope="module")
def area_url(
    database_server: str, crawled_registry: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a server over a registry with something in every list."""

    async def prepare(api: Api) -> None:
        _, token = await api.waypost.access.make_key("Ann " + "of the registry " * 5, SCOPES, days=None)
        KEYS[:] = [token.text]
        for host in HOSTS.values():
            for text in ("Every call has answered 410 since last week.", HOSTILE):
                await api.waypost.reports.file(host, "dead", text, client=f"{host} {text}")
        await api.waypost.access.hold("a" * 60 + ".example", "blocked", actor="operator:cli", reason=HOSTILE * 3)
        seeds = [Seed(f"shop-{number}.com", "shops " + HOSTILE) for number in range(30)]
        await api.waypost.frontier.seed(seeds, source="file")
        run = await api.waypost.jobs.begin("prune")
        await api.waypost.jobs.end(run)

    with serving(database_server, crawled_registry, tmp_path_factory.mktemp("area"), prepare) as url:
        yield url


@pytest.mark.parametrize("script", [True, False])
def test_an_operator_answers_holds_lifts_and_makes_a_key(browser: Browser, area_url: str, script: bool) -> None:
    host = HOSTS[script]
    with looking(browser, area_url, script=script) as look:
        page = look.page

        def press(name: str) -> None:
            with page.expect_navigation():
                page.get_by_role("button", name=name, exact=True).click()

        look.open("/admin/reports")
        page.fill("#token", "wp_key_nonsense")
        press("Sign in")
        assert "This is no key of an operator." in page.inner_text("#token-fault")
        assert page.evaluate("document.activeElement.id") == "token" or not script
        page.fill("#token", KEYS[0])
        press("Sign in")
        assert page.inner_text("h1") == "Overview"
        page.get_by_role("link", name="Reports", exact=True).click()
        report = page.locator("li", has=page.get_by_role("link", name=host, exact=True))
        report.locator("summary").click()
        report.locator("select").select_option("accepted")
        with page.expect_navigation():
            report.get_by_role("button", name="Send the answer").click()
        fault = page.locator(".fault")
        assert fault.inner_text() == "Write an answer." and fault.is_visible(), "the form stays open"
        report.locator("textarea").fill("It is gone.")
        with page.expect_navigation():
            report.get_by_role("button", name="Send the answer").click()
        assert "The report is in its new state." in page.inner_text("[role=status]")

        page.get_by_role("link", name="Hosts", exact=True).click()
        page.fill("#look-up", f"https://{host.upper()}/")
        press("Look up")
        assert page.inner_text("h1") == host
        page.fill("#reason-hold", "It is not offered any more.")
        press("Block")
        assert "The block is in effect." in page.inner_text("[role=status]")
        page.get_by_role("link", name="Holds", exact=True).click()
        hold = page.locator("li", has=page.get_by_role("link", name=host, exact=True))
        hold.locator("summary").click()
        hold.locator("input[name=reason]").fill("It is back.")
        with page.expect_navigation():
            hold.get_by_role("button").click()
        assert "The block has ended." in page.inner_text("[role=status]")

        page.get_by_role("link", name="Keys", exact=True).click()
        name = f"Ben {script}"
        page.fill("#name", name)
        page.get_by_label("Look at everything, change nothing").check()
        page.fill("#reason", "Ben watches.")
        press("Make the key")
        made = page.inner_text("#new-key")
        assert re.fullmatch("wp_key_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", made)
        page.get_by_role("link", name="Keys", exact=True).click()
        assert made not in page.content()
        key = page.locator("ul.rows > li", has=page.get_by_text(name, exact=True))
        key.locator("summary").click()
        key.locator("input[name=reason]").fill("Ben left.")
        with page.expect_navigation():
            key.get_by_role("button").click()
        assert "The key is revoked." in page.inner_text("[role=status]")
        page.get_by_role("link", name="Audit log", exact=True).first.click()
        log = page.inner_text("main")
        for action in ("report.resolved", "host.blocked", "host.unblocked", "key.made", "key.revoked"):
            assert action in log
        press("Sign out")
        assert "You are signed out" in page.inner_text("[role=status]")
        look.open("/admin/audit")
        assert page.locator("#token").count() == 1
        assert look.complaints == [] or not script or all("400" in one for one in look.complaints)


def test_every_page_of_the_area_is_accessible(browser: Browser, area_url: str) -> None:
    with looking(browser, area_url) as look:
        look.open("/admin")
        assert_accessible(look)
        look.page.fill("#token", KEYS[0])
        with look.page.expect_navigation():
            look.page.get_by_role("button", name="Sign in", exact=True).click()
        further = (f"/admin/hosts?host={FAILING}", f"/admin/hosts?host={PIGEON}", "/admin/hosts?host=never-seen.com",
            "/admin/queue?list=failing", "/admin/queue?list=leased", "/admin/reports?state=decided")  # fmt: skip
        for path in (*PATHS, *further):
            assert look.open(path).status == 200, path
            assert look.page.locator("main a[rel=next]").count() == (path == "/admin/queue")
            assert_accessible(look)
            assert look.compressed_bytes() < 80_000
