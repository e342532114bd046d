"""The life of an ownership in a real browser: `waypost serve`, a worker, a site, a receiver, somebody who clicks."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import orjson
import pytest
from playwright.async_api import Page, async_playwright

from registry.core.access.claims import FILE_PATH
from tests.support.builders import adp_manifest
from tests.support.hang import HANG_SECONDS
from tests.support.receivers import Receiver
from tests.support.running import new_data_folder
from tests.support.sites import Answer, Reply, Sites
from tests.web.looking import AXE, LOOKS, RULES, chromium

pytestmark = pytest.mark.slow  # processes, a database and a browser

SHOP, RECEIVER = "shop.example", "hooks.shop.example"
HOSTILE: Final = "Closed <b>on</b> \u202eSundays\"'><script>alert(1)</script>"


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def site() -> dict[str, Answer]:
    return {"/.well-known/agent": Reply(orjson.dumps(adp_manifest(SHOP, "create_parcel")))}


@pytest.fixture
async def base(tmp_path: Path, database_url: str, receiver: Receiver, site: dict[str, Answer]) -> AsyncIterator[str]:
    async with Sites({RECEIVER: receiver, SHOP: site}) as web:
        with new_data_folder(tmp_path / "data", web, web.write_authority(tmp_path), database_url) as data_folder:
            serving = data_folder.start("serve", "--port", "0")
            data_folder.start("worker")
            yield (await serving.line_with("the API answers at")).split()[4]


class Visitor:
    """Somebody with a browser. `complaints`: of the browser's console; it notes each status from 400 on."""

    def __init__(self, page: Page, base: str, *, script: bool) -> None:
        self.page, self.base, self.script = page, base, script
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    async def open(self, path: str) -> None:
        await self.page.goto(self.base + path)

    async def press(self, name: str) -> None:
        async with self.page.expect_navigation():
            await self.page.get_by_role("button", name=name, exact=True).click()

    async def ask_for_check(self) -> None:
        """Have the claim of the open page checked as a program would."""
        token = self.page.url.rpartition("/")[2]
        url = f"/api/claims/{token.split('_')[2]}/check?wait=0"
        asked = "([url, token]) => fetch(url, {method: 'POST', headers: {Authorization: `Bearer ${token}`}})"
        await self.page.evaluate(asked, [url, token])

    async def text(self, selector: str = "main") -> str:
        return await self.page.locator(selector).first.inner_text()

    async def code(self, name: str) -> str:
        return (await self.page.locator(f"#{name}").inner_text()).strip()

    async def refused(self) -> None:
        """Check that the page says in its title that there is an error, and that the focus is where it is told."""
        assert (await self.page.title()).startswith("Error: ")
        assert await self.page.evaluate("document.activeElement.matches('[aria-invalid], [aria-describedby]')")
        self.complaints = [one for one in self.complaints if "status of 4" not in one]

    async def look(self) -> None:
        """Check that the page is accessible, quiet, and not wider than the window."""
        assert await self.page.locator("main script, svg").count() == 0
        assert self.complaints == []
        if not self.script:
            return
        await self.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        for width, theme in LOOKS:
            await self.page.emulate_media(color_scheme=theme)
            await self.page.set_viewport_size({"width": width, "height": 900})
            is_wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            assert not await self.page.evaluate(is_wide)
            await self.page.evaluate(AXE)
            run = "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}})"
            found = await self.page.evaluate(run, list(RULES))
            assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == []


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
async def test_an_owner_lives_in_the_browser_alone(
    base: str, receiver: Receiver, site: dict[str, Answer], script: bool
) -> None:
    path = chromium()
    if path is None:
        pytest.skip("no Chromium is installed")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = await browser.new_context(java_script_enabled=script)
        context.set_default_timeout(HANG_SECONDS * 1_000)
        await _live(Visitor(await context.new_page(), base, script=script), receiver, site)
        await browser.close()


async def _live(visitor: Visitor, receiver: Receiver, site: dict[str, Answer]) -> None:
    page = visitor.page

    # a claim has an address, says what is wrong, and is proven
    await visitor.open(f"/claim/{SHOP}")
    await visitor.press("Get the value")
    address = page.url
    assert re.search(r"/claims/wp_claim_[0-9a-f]{16}_[\w-]{43}$", address)
    assert await visitor.code("at") == f"https://{SHOP}{FILE_PATH}"
    value = await visitor.code("value")
    await visitor.look()
    if visitor.script:  # the page follows what is found without a click
        await visitor.ask_for_check()
        await page.get_by_text("There is no file at this address (status 404).").wait_for()
        await page.wait_for_timeout(5_000)  # the shortest time between two checks
    await visitor.press("Check now")
    assert page.url == address
    assert "There is no file at this address (status 404)." in await visitor.text(".note")
    await visitor.look()
    await visitor.press("Check now")
    assert "The claim was checked just now. It can be checked again in a few seconds." in await visitor.text(
        "#check-fault"
    )
    visitor.complaints.clear()  # the browser notes the status 429
    site[FILE_PATH] = Reply(value, type="text/plain")
    await visitor.open("/claims")
    await page.fill("#token", address.rpartition("/")[2])
    await visitor.press("Go on")
    assert page.url == address
    await page.wait_for_timeout(5_000)
    if visitor.script:
        await visitor.ask_for_check()
        await visitor.press("Show my token")
    else:
        await visitor.press("Check now")
    token = await visitor.code("owner-token")
    assert token.startswith("wp_owner_")
    await visitor.look()
    await page.goto(address)
    assert token not in await page.content()
    await page.get_by_role("link", name="Go to your page").click()
    assert page.url == f"{visitor.base}/owner/{SHOP}"
    cookies = {cookie["name"]: cookie for cookie in await page.context.cookies()}
    assert cookies["waypost-owner"]["httpOnly"] and cookies["waypost-owner"]["path"] == f"/owner/{SHOP}"

    # a session ends, and begins with the token
    assert "never visited" in await visitor.text("#state + dl")
    await visitor.press("Sign out")
    assert "You are signed out" in await visitor.text(".note")
    await page.fill("#token", "wp_owner_nonsense")
    await visitor.press("Sign in")
    await visitor.refused()
    await page.fill("#token", token)
    await visitor.press("Sign in")

    # each decision
    await page.get_by_role("link", name="Submit it").click()
    await visitor.press("Submit")
    for _ in range(int(HANG_SECONDS)):
        await visitor.open(f"/owner/{SHOP}")
        if await page.get_by_role("link", name="the page of your service").count():
            break
        await page.wait_for_timeout(1_000)
    await visitor.look()
    await page.fill("#note", HOSTILE)
    await visitor.press("Save the note")
    assert "The note is shown" in await visitor.text(".note")
    await page.fill("#note", "x" * 501)
    await visitor.press("Save the note")
    assert await page.input_value("#note") == "x" * 501
    await visitor.refused()
    await visitor.look()
    await page.fill("#canonical", "elsewhere.example")
    await visitor.press("Save the host")
    assert await page.input_value("#canonical") == "elsewhere.example"
    await visitor.refused()
    await visitor.press("Hide it")
    assert "hidden by you" in await visitor.text("#state + dl")
    await visitor.press("Show it again")
    await visitor.press("Do not check them")
    await visitor.press("Check them again")
    await visitor.press("Visit it now")
    assert "A visit is queued." in await visitor.text(".note")

    # a webhook: refused, set, tested, seen to fail, deleted
    await page.fill("#url", "https://elsewhere.com/hook")
    await visitor.press("Set the webhook")
    assert "neither on this host nor below it" in await visitor.text("#url-fault")
    await visitor.refused()
    await page.fill("#url", f"https://{RECEIVER}/hook")
    await page.select_option("#types", "service.*")
    await visitor.press("Set the webhook")
    receiver.secret = await visitor.code("secret")
    await visitor.look()
    await page.get_by_role("link", name="Go on").click()
    for _ in range(int(HANG_SECONDS)):
        if await page.get_by_role("button", name="Send a test message").count():
            break
        await page.wait_for_timeout(1_000)
        await page.reload()
    receiver.answers.extend([Reply(status=204, type=None), Reply("oops", 500)])
    await visitor.press("Send a test message")
    assert "Delivered: the receiver answered with status 204" in await visitor.text(".note")
    assert receiver.messages[-1][1]["type"] == "webhook.test"
    await visitor.press("Send a test message")
    assert "Not delivered: status 500." in await visitor.text(".note")
    attempts = await visitor.text(".attempts")
    assert attempts.count("test") == 2 and "challenge" in attempts and "status 500" in attempts
    await visitor.look()
    await visitor.press("Delete the webhook")

    # a new token, and the end
    await visitor.press("Replace the token")
    new = await visitor.code("owner-token")
    assert new.startswith("wp_owner_") and new != token
    await visitor.look()
    await page.fill("#confirm", "shop")
    await visitor.press("Delete everything and opt out")
    assert await page.input_value("#confirm") == "shop"
    await visitor.refused()
    await visitor.press("Give it up")
    assert "You gave the ownership up" in await visitor.text(".note")
    await visitor.look()
    await visitor.open(f"/owner/{SHOP}")
    await page.fill("#token", new)
    await visitor.press("Sign in")
    assert "This token is not valid" in await visitor.text(".fault")
    await page.goto(address)
    assert "This ownership has ended" in await visitor.text("h1")
