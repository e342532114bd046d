"""Write pictures of all pages: `make screenshots`, or `python -m tests.web URL FOLDER` for a registry that runs.

`python -m tests.web URL docs/images/search.webp` writes the picture of README, from the registry of `make demo`.

Without a URL it shows the registry of `tests/api/sites.py`, which pytest sets up (`test_screenshots.py`), and also the
pages that answer forms. Nothing is sent to a registry that runs.
"""

import base64
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, ViewportSize

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

README_PAGE: Final = "/search?q=buy+groceries"
README_SIZE: Final[ViewportSize] = {"width": 900, "height": 620}
AS_WEBP: Final = """async (url) => {
    const image = new Image(), canvas = document.createElement("canvas");
    image.src = url;
    await image.decode();
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.85);
}"""
"""A screenshot as WebP, which is a third of its size."""


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


def take_for_readme(browser: Browser, base: str, file: Path) -> None:
    """Write one small picture: a question asked of the sample web, and its answer."""
    with looking(browser, base) as look:
        look.open(README_PAGE)
        look.page.emulate_media(color_scheme="light")
        look.page.set_viewport_size(README_SIZE)
        picture = base64.b64encode(look.page.screenshot()).decode()
        look.page.goto("about:blank")
        encoded = look.page.evaluate(AS_WEBP, f"data:image/png;base64,{picture}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(base64.b64decode(encoded.partition(",")[2]))


if __name__ == "__main__":
    with launched() as opened:
        target = Path(sys.argv[2])
        (take_for_readme if target.suffix == ".webp" else take)(opened, sys.argv[1], target)
