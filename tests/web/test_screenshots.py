"""Pictures of all pages, for people to look at. Run by `make screenshots` only."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.web.__main__ import FORMS, take
from tests.web.looking import THEMES, WIDTHS
from tests.web.paths import ERRORS, PAGES

FOLDER = os.environ.get("WAYPOST_SCREENSHOTS", "")


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="pictures are taken by `make screenshots`")
def test_pictures_of_all_pages(browser: Browser, pages_url: str) -> None:
    take(browser, pages_url, Path(FOLDER), list(FORMS))
    taken = len(list(Path(FOLDER).glob("*.png")))
    assert taken >= (len(PAGES) + len(ERRORS) + len(FORMS)) * len(THEMES) * len(WIDTHS)
