"""Every form in a real browser, with script and without: sent, answered, accessible, and quiet whatever is written."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.api.sites import BIKES, CARD, PIGEON
from tests.support.builders import adp_manifest
from tests.support.sarif import assert_sarif
from tests.web.looking import LOOKS, Look, looking

pytestmark = pytest.mark.slow

HOSTILE = "\"></textarea><script>alert(1)</script><svg/onload=alert(1)>'{{7*7}}\u202e\u2066"


def manifest() -> str:
    document = adp_manifest("paste.pigeonpost.dev", "fold") | {"name": HOSTILE, "description": "Folds. " + HOSTILE}
    document["capabilities"].append({"description": HOSTILE, "detail_url": "/x"})
    return json.dumps(document, indent=2, ensure_ascii=False)


def assert_accessible(look: Look) -> None:
    look.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    for width, theme in LOOKS:
        look.appear(theme, width)
        assert look.violations() == []
        assert not look.overflows()
    assert (look.complaints, look.foreign()) == ([], [])


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("text", [manifest(), '{"a": 1,}', "[1]"], ids=["document", "unreadable", "unknown"])
def test_a_document_is_checked(browser: Browser, pages_url: str, text: str, script: bool) -> None:
    with looking(browser, pages_url, script=script) as look:
        look.open("/check")
        look.page.fill("#document", text)
        look.page.fill("#at", "/.well-known/agent")
        look.page.get_by_role("button", name="Check", exact=True).click()
        look.page.wait_for_selector("#verdict")
        assert look.page.input_value("#document") == text
        assert look.page.input_value("#at") == "/.well-known/agent"
        assert look.page.locator("svg, main script").count() == 0
        if script:
            assert_accessible(look)
        assert look.complaints == []


@pytest.mark.parametrize("script", [True, False])
def test_from_a_format_to_a_document_without_a_fault(browser: Browser, pages_url: str, script: bool) -> None:
    """The way of an operator: take the smallest document, spoil it, find the faults by their lines, mend it."""
    with looking(browser, pages_url, script=script) as look:
        page = look.page

        def check(text: str) -> None:
            page.fill("#document", text)
            with page.expect_navigation():
                page.get_by_role("button", name="Check", exact=True).click()

        look.open("/formats")
        page.get_by_role("link", name="Agent Discovery Protocol").click()
        smallest = page.inner_text("#smallest")
        page.get_by_role("link", name="Open in the check").click()
        assert page.input_value("#document").strip() == smallest.strip()
        lines = smallest.replace("https://example.com", "http://example.com").split("\n")
        spoilt = "\n".join(line for line in lines if "Tell the weather" not in line)
        check(spoilt)
        assert page.inner_text("h2#verdict").startswith("Not valid")
        assert page.locator(".findings > .error").count() == 2
        number = 1 + next(index for index, line in enumerate(lines) if "http://" in line)
        page.get_by_role("link", name=re.compile(f"^line {number}, ")).click()
        assert page.url.endswith(f"#L{number}")
        assert page.inner_text(f"#L{number} mark") == '"http://example.com"'
        assert "error" in (page.get_attribute(f"#L{number}", "class") or "")
        check(spoilt[:-2])
        assert "cannot be read" in page.inner_text("h2#verdict")
        assert page.input_value("#document") == spoilt[:-2], "what was written stays"
        assert page.locator(".source .error").count() == 1
        check(smallest)
        assert re.sub(r"\s", "", page.inner_text("h2#verdict")).endswith("100/100")
        assert page.locator(".findings > .error, .findings > .warning").count() == 0
        if script:
            assert_accessible(look)
        assert look.complaints == []


@pytest.mark.parametrize("script", [True, False])
def test_a_site_is_checked_at_a_secret_address(browser: Browser, pages_url: str, script: bool) -> None:
    with looking(browser, pages_url, script=script) as look:
        look.open("/check")
        look.page.fill("#target", f"checked-{str(script).lower()}.com")
        look.page.get_by_role("button", name="Check the site").click()
        look.page.wait_for_url(re.compile("/check/wp_check_"))
        assert "No process of this registry makes visits now" in look.page.inner_text("main")
        address = look.page.url
        look.page.get_by_role("link", name="Look again").click()
        assert look.page.url == address
        if script:
            assert_accessible(look)
        assert look.complaints == []


@pytest.mark.parametrize("script", [True, False])
def test_a_reason_leads_to_its_page_and_to_its_specification(browser: Browser, pages_url: str, script: bool) -> None:
    with looking(browser, pages_url, script=script) as look:
        look.open("/check?example=adp&mistakes=")
        with look.page.expect_navigation():
            look.page.get_by_role("button", name="Check", exact=True).click()
        look.page.get_by_role("link", name="adp.base_url").click()
        assert "does not start with https" in look.page.inner_text("h1")
        assert look.page.get_by_role("link", name=re.compile("^ADP 1.0")).get_attribute("href")
        look.page.get_by_role("link", name="Agent Discovery Protocol").click()
        assert look.page.inner_text("h1") == "Agent Discovery Protocol"


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("kind", ["JSON", "SARIF"])
def test_results_are_downloaded(browser: Browser, pages_url: str, kind: str, script: bool, tmp_path: Path) -> None:
    with looking(browser, pages_url, script=script) as look:
        look.open("/check")
        look.page.fill("#document", manifest())
        with look.page.expect_download() as download:
            look.page.get_by_role("button", name=f"Download as {kind}").click()
        download.value.save_as(tmp_path / "file")
        content = json.loads((tmp_path / "file").read_bytes())
        if kind == "SARIF":
            assert_sarif(content)
        else:
            assert content["valid"] is False
        assert look.page.input_value("#document") == manifest()


@pytest.mark.parametrize("script", [True, False])
def test_what_is_too_large_or_empty_is_told(browser: Browser, pages_url: str, script: bool) -> None:
    with looking(browser, pages_url, script=script) as look:
        look.open("/check")
        look.page.locator("#document").evaluate("(field, size) => { field.value = 'x'.repeat(size) }", 5_000_000)
        with look.page.expect_navigation():
            look.page.get_by_role("button", name="Check", exact=True).click()
        assert "too large" in look.page.inner_text("h1")
        look.open("/check")
        look.page.fill("#document", "\0\u202e" + HOSTILE)
        with look.page.expect_navigation():
            look.page.get_by_role("button", name="Check", exact=True).click()
        assert "cannot be read" in look.page.inner_text("h2#verdict")


@pytest.mark.parametrize("script", [True, False])
def test_hosts_are_submitted(browser: Browser, pages_url: str, script: bool) -> None:
    with looking(browser, pages_url, script=script) as look:
        look.open("/submit")
        look.page.fill("#hosts", f"https://{PIGEON}/a\n{CARD}\n{HOSTILE}\nnever-{str(script).lower()}.com")
        look.page.get_by_role("button", name="Submit").click()
        look.page.wait_for_selector(".fault")
        assert look.page.title().startswith("Error: ")
        assert look.page.evaluate("document.activeElement.id") == "hosts"
        assert look.page.input_value("#hosts") == "\n".join(re.split(r"[\s,;]+", HOSTILE))
        assert "3 names are accepted: " in look.page.inner_text(".note")
        assert look.page.locator("svg, main script, .good").count() == 0
        look.complaints.clear()  # the browser notes the status 400
        if script:
            assert_accessible(look)
        look.page.get_by_role("link", name="See what becomes of them").click()
        look.page.wait_for_url(re.compile("/submissions/"))
        assert "0 of 3 hosts are done." in look.page.inner_text("#progress")
        assert look.page.locator("#reload").is_visible() is not script
        assert look.page.locator("svg, main script").count() == 0
        if script:
            assert_accessible(look)
        assert look.complaints == []


@pytest.mark.parametrize("findings", [0, 1])
def test_the_page_of_a_list_follows_its_hosts(browser: Browser, pages_url: str, findings: int) -> None:
    shown = {
        "state": "not_listed", "reasons": [HOSTILE], "visited_since": True, "finding_count": findings,
        "findings": [
            {"severity": "error", "says": "s", "fix": "f", "document": HOSTILE, "pointer": HOSTILE, "evidence": HOSTILE}
        ] * findings,
        "next_step": {"says": "Mend it.", "page": "check", "title": "Check it", "url": "https://registry.example/check"},
    }  # fmt: skip
    with looking(browser, pages_url) as look:
        look.open("/submit")
        look.page.fill("#hosts", f"follow{findings}.pigeonpost.dev")
        look.page.get_by_role("button", name="Submit").click()
        look.page.wait_for_url(re.compile("/submissions/"))

        def answer(route: object) -> None:
            reply = route.fetch()  # type: ignore[attr-defined]
            content = reply.json()
            content["data"] |= {"counts": {"not_listed": 1}, "done": 1}
            content["data"]["hosts"][0] |= shown
            route.fulfill(response=reply, json=content)  # type: ignore[attr-defined]

        look.page.route("**/api/submissions/*", answer)
        look.page.get_by_text("1 of 1 host is done.").wait_for()
        row = look.page.locator("[data-host]")
        assert row.locator("[data-state]").inner_text() == "not listed"
        part = row.locator("[data-findings]" if findings else "[data-reasons]")
        assert part.inner_text().count("[U+202E][U+2066]") == (3 if findings else 1)
        assert row.get_by_role("link", name="Check it").get_attribute("href") == "/check"
        assert look.page.locator("svg, main script").count() == 0
        assert_accessible(look)


@pytest.mark.parametrize("script", [True, False])
def test_an_opt_out_is_requested(browser: Browser, pages_url: str, script: bool) -> None:
    with looking(browser, pages_url, script=script) as look:
        look.open("/opt-out")
        look.page.fill("#host", BIKES)
        look.page.fill("#confirm", BIKES)
        look.page.get_by_role("button", name="Check and opt out").click()
        look.page.wait_for_url(re.compile(f"/opt-out/{re.escape(BIKES)}"))
        assert "Queued" in look.page.inner_text(".note")
        assert look.page.get_by_role("link", name="Load the page again").is_visible() is not script
        look.page.fill("#confirm", BIKES)
        look.page.get_by_role("button", name="Check and opt out").click()
        look.page.wait_for_url(re.compile(f"/opt-out/{re.escape(BIKES)}"))
        if script:
            assert_accessible(look)
        look.open("/opt-out")
        look.page.fill("#return-host", HOSTILE)
        look.page.get_by_role("button", name="Check and end the opt-out").click()
        look.page.wait_for_selector(".fault")
        assert look.page.input_value("#return-host") == HOSTILE
        assert look.page.evaluate("document.activeElement.id") == "return-host"
        look.complaints.clear()  # the browser notes the status 400
        if script:
            assert_accessible(look)


def test_a_form_on_a_page_of_another_site_is_refused(browser: Browser, pages_url: str) -> None:
    with looking(browser, pages_url) as look:
        look.page.route(
            "http://elsewhere.example/",
            lambda route: route.fulfill(
                content_type="text/html",
                body=f'<form method="post" action="{pages_url}/opt-out"><input name="host" value="{PIGEON}">'
                "<button>go</button></form>",
            ),
        )
        look.page.goto("http://elsewhere.example/")
        with look.page.expect_navigation():
            look.page.click("button")
        assert look.page.inner_text("h1") == "This form was not sent from here"
