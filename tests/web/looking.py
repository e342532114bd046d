"""Pages in a real browser: what it shows, what it asks for, and what it complains about."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.hang import HANG_SECONDS

Theme = Literal["light", "dark"]

THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
WIDTHS: Final = (320, 1280)
LOOKS: Final = tuple(zip(WIDTHS, THEMES, strict=True))
"""Every width and every theme once: axe takes seconds for each, and colours do not depend on the width."""
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """Return the path of an installed Chromium. None is downloaded: CONTRIBUTING.md says how to get one."""
    return next((path for name in _NAMES if (path := shutil.which(name)) is not None), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """Yield a browser. Skip the test where none is installed."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium is installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Look:
    """A page that is open. `complaints`: console messages and errors. `asked`: URLs of all requests."""

    page: Page
    base: str
    status: int = 0
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def open(self, path: str) -> "Look":
        answer = self.page.goto(self.base + path)
        assert answer is not None
        self.status = answer.status
        return self

    def appear(self, theme: Theme, width: int) -> None:
        """Show the open page in this theme and width."""
        self.page.emulate_media(color_scheme=theme)
        self.page.set_viewport_size({"width": width, "height": 900})

    def foreign(self) -> list[str]:
        """Return the requests to other hosts than the registry."""
        own = urlsplit(self.base).netloc
        return [url for url in self.asked if urlsplit(url).netloc != own]

    def overflows(self) -> bool:
        """True if the page is wider than the window."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))

    def compressed_bytes(self) -> int:
        """Return the size of the page and everything that it loads, as sent."""
        return int(
            self.page.evaluate(
                "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
                ".reduce((sum, one) => sum + one.encodedBodySize, 0)"
            )
        )

    def violations(self) -> list[str]:
        """Return what axe finds, as the rule and the elements that break it."""
        self.page.evaluate(AXE)
        found: dict[str, Any] = self.page.evaluate(
            "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']})",
            list(RULES),
        )
        return [
            f"{violation['id']}: {violation['help']}: {[node['html'][:200] for node in violation['nodes'][:3]]}"
            for violation in found["violations"]
        ]


AXE: Final = (files("axe_playwright_python") / "axe.min.js").read_text()


@contextmanager
def looking(
    browser: Browser, base: str, *, theme: Theme = "light", width: int = 1280, script: bool = True
) -> Iterator[Look]:
    """Yield a window of its own."""
    context = browser.new_context(
        color_scheme=theme, viewport={"width": width, "height": 900}, java_script_enabled=script
    )
    context.set_default_timeout(HANG_SECONDS * 1_000)
    page = context.new_page()
    look = Look(page, base)
    page.on("console", lambda message: look.complaints.append(message.text))
    page.on("pageerror", lambda error: look.complaints.append(str(error)))
    page.on("dialog", lambda dialog: (look.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: look.asked.append(request.url))
    try:
        yield look
    finally:
        context.close()
