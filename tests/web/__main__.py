"""Write pictures of all pages: `make screenshots`, or `python -m tests.web URL FOLDER` for a registry that runs.

Without a URL it shows the registry of `tests/api/sites.py`, which pytest sets up (`test_screenshots.py`).
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser

from tests.web.looking import THEMES, WIDTHS, launched, looking
from tests.web.paths import ERRORS, PAGES


def take(browser: Browser, base: str, folder: Path) -> None:
    """Write one picture for each page, theme and width."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate((*PAGES, *ERRORS)):
        for theme in THEMES:
            for width in WIDTHS:
                with looking(browser, base, theme=theme, width=width) as look:
                    look.open(path)
                    name = "".join(char if char.isalnum() else "-" for char in path)[:60]
                    look.page.screenshot(path=folder / f"{number:02}{name}-{theme}-{width}.png", full_page=True)


if __name__ == "__main__":
    with launched() as opened:
        take(opened, sys.argv[1], Path(sys.argv[2]))
