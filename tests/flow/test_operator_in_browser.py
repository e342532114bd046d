"""The loop of an operator in a browser, from end to end: submit, mend, submit again, opt out, return."""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.demo import DemoRun, served_demo
from tests.web.looking import LOOKS, Look, launched, looking

pytestmark = pytest.mark.slow

HOSTS = {True: "clock-shop.example", False: "watch-shop.example"}
"""Whether the browser runs scripts -> the host of its operator."""

ACTION = {"id": "find_clock", "endpoint": "/clocks", "method": "GET"}
OPT_OUT_FILE = ".well-known/waypost-optout.txt"


@dataclass
class Loop:
    """An operator with a browser, and the folder of the site. `data`: the data folder of the registry."""

    look: Look
    script: bool
    host: str
    site: Path
    data: Path

    def publish(self, path: str, text: str) -> None:
        (self.site / path).parent.mkdir(exist_ok=True)
        (self.site / path).write_text(text)

    def pass_time(self, table: str, interval: str, *columns: str) -> None:
        """Make the rows of a table older. A thread of its own, because the browser's library runs a loop in this."""
        shifted = ", ".join(f"{column} = {column} - interval '{interval}'" for column in columns)

        async def shift() -> None:
            async with DemoRun(self.data, {}).opened() as waypost, waypost._store.engine.begin() as connection:
                await connection.exec_driver_sql(f"UPDATE {table} SET {shifted}")

        thread = threading.Thread(target=asyncio.run, args=(shift(),))
        thread.start()
        thread.join()

    def pass_minutes(self) -> None:
        self.pass_time("hosts", "2 minutes", "last_visit_at", "submitted_at")

    def click(self, name: str, role: str = "button") -> None:
        with self.look.page.expect_navigation():
            self.look.page.get_by_role(role, name=name).click()  # type: ignore[arg-type]

    def submit(self) -> None:
        self.look.open("/submit")
        self.look.page.fill("#hosts", self.host)
        self.click("Submit")

    def until_done(self, state: str) -> None:
        """Wait, on the page of a submission, until the host was visited for it; it must be in this state."""
        if not self.script:
            while "1 of 1 host is done." not in self.look.page.inner_text("#progress"):
                self.look.page.wait_for_timeout(500)
                self.look.page.reload()
        self.look.page.get_by_text("1 of 1 host is done.").wait_for()
        assert self.look.page.inner_text("[data-state]") == state

    def until_finished(self) -> None:
        """Wait, on a page that follows a visit or a check, until that is finished, and show the result."""
        if self.script:
            self.look.page.get_by_text("It is finished.").wait_for()
            self.click("See the result", "link")
            return
        while self.look.page.locator("[data-follow]").count():
            self.look.page.wait_for_timeout(500)
            self.click("Load the page again", "link")

    def heading(self) -> str:
        return self.look.page.inner_text("h1")

    def assert_fit_to_be_seen(self) -> None:
        for width, theme in LOOKS:
            self.look.appear(theme, width)
            assert not self.look.overflows()
            assert not self.script or self.look.violations() == []
        assert self.look.foreign() == []


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("operator")
    for host in HOSTS.values():
        (folder / "sites" / host).mkdir(parents=True)
        (folder / "sites" / host / "agent.json").write_text("{")
    with served_demo(folder, folder / "sites") as base:
        yield base, folder


@pytest.mark.parametrize("script", [True, False])
def test_the_loop_of_an_operator(demo: tuple[str, Path], script: bool) -> None:
    (base, folder), host = demo, HOSTS[script]
    with launched() as browser, looking(browser, base, script=script) as look:
        loop = Loop(look, script, host, folder / "sites" / host, folder / "data")
        page = look.page
        loop.publish("agent.json", '{"awp_version": "0.2", ')
        loop.pass_minutes()

        loop.submit()
        loop.until_done("not listed")
        assert "it cannot be read. Check and mend it." in page.inner_text("[data-next]")
        assert "The JSON is truncated." in page.inner_text("[data-findings]")
        loop.assert_fit_to_be_seen()

        good = {"awp_version": "0.2", "domain": host, "intent": "Sells clocks", "actions": [ACTION]}
        loop.publish("agent.json", json.dumps(good))
        loop.submit()
        assert "a limit forbids another visit now" in page.inner_text("main"), "too early, and it says so"
        loop.pass_minutes()
        page.reload()
        loop.click("Visit it again")
        loop.until_done("listed")
        look.open(f"/s/{host}")
        assert look.status == 200 and "find_clock" in page.inner_text("main")

        look.open("/opt-out")
        page.fill("#host", host)
        page.fill("#confirm", "clock-shop.com")
        loop.click("Check and opt out")
        assert page.title().startswith("Error: ") and page.input_value("#host") == host
        assert page.evaluate("document.activeElement.id") == "confirm"
        loop.publish(OPT_OUT_FILE, "opt-out\n")
        page.fill("#confirm", host)
        loop.click("Check and opt out")
        loop.until_finished()
        assert loop.heading() == "This site has opted out"
        loop.assert_fit_to_be_seen()

        look.open(f"/s/{host}")
        assert look.status == 410 and f"https://{host}/{OPT_OUT_FILE}" in page.inner_text("main")
        assert "can be checked in 23 hours" in page.inner_text(".note")
        loop.assert_fit_to_be_seen()
        loop.submit()
        assert "opted out" in page.inner_text(".marked") and page.input_value("#hosts") == host

        (loop.site / OPT_OUT_FILE).unlink()
        loop.pass_time("opt_out_requests", "1 day", "asked_at", "checked_at")
        look.open(f"/s/{host}")
        loop.click("Check and end the opt-out")
        loop.until_finished()
        assert "no longer opts out" in page.inner_text(".note")
        while look.status != 200:
            page.wait_for_timeout(500)
            look.open(f"/s/{host}")
        assert "find_clock" in page.inner_text("main"), "listed again"
