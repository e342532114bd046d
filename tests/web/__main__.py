"""Write pictures of all pages: `make screenshots`, or `python -m tests.web URL FOLDER` for a registry that runs.

Without a URL it shows the registry of `tests/api/sites.py`, which pytest sets up (`test_screenshots.py`), and also the
pages that answer forms. Nothing is sent to a registry that runs.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

from tests.api.sites import BIKES, CARD, PIGEON
from tests.support.builders import adp_manifest
from tests.web.looking import THEMES, WIDTHS, Look, launched, looking
from tests.web.paths import ERRORS, LINKS, PAGES


def check(look: Look) -> None:
    manifest = adp_manifest(PIGEON, "create_parcel") | {"base_url": "http://" + PIGEON}
    look.page.fill("#document", json.dumps(manifest, indent=2))


def submit(look: Look) -> None:
    look.page.fill("#hosts", f"{PIGEON}\n{CARD}\nno host\nnever-seen.com")


def opt_out(look: Look) -> None:
    look.page.fill("#host", BIKES)
    look.page.fill("#confirm", BIKES)


def report(look: Look) -> None:
    look.page.fill("#reason", "The price is not the one that the site asks for.")


def confirm(look: Look) -> None:
    """Leave the form as it is."""


FORMS: Final = {
    "/check": check,
    "/submit": submit,
    "/opt-out": opt_out,
    LINKS.to("/s/{host}/report", host=PIGEON): report,
    LINKS.to("/s/{host}/recheck", host=PIGEON): confirm,
    LINKS.to("/claim/{host}", host=PIGEON): confirm,
}
"""Page with a form -> how it is filled in. The answer to each is a page of its own."""


def take(browser: Browser, base: str, folder: Path, forms: Sequence[str] = ()) -> None:
    """Write one picture for each page, and for the answer to each of the forms, in each theme and width."""
    folder.mkdir(parents=True, exist_ok=True)
    with looking(browser, base) as look:
        for number, path in enumerate((*PAGES, *ERRORS)):
            look.open(path)
            _picture(look, folder, f"{number:02}{path}")
        for number, path in enumerate(forms):
            look.open(path)
            FORMS[path](look)
            with look.page.expect_navigation():
                look.page.locator("main form button[type=submit]").first.click()
            _picture(look, folder, f"form{number}{path}")


def _picture(look: Look, folder: Path, name: str) -> None:
    file_name = "".join(char if char.isalnum() else "-" for char in name)[:60]
    for theme in THEMES:
        for width in WIDTHS:
            look.appear(theme, width)
            look.page.screenshot(path=folder / f"{file_name}-{theme}-{width}.png", full_page=True)


if __name__ == "__main__":
    with launched() as opened:
        take(opened, sys.argv[1], Path(sys.argv[2]))
