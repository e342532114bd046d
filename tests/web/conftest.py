"""A server with pages, and a browser that looks at them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.serving import serving
from tests.web.looking import launched


@pytest.fixture(scope="session")
def pages_url(
    database_server: str, crawled_registry: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a server over the crawled registry."""
    with serving(database_server, crawled_registry, tmp_path_factory.mktemp("pages")) as url:
        yield url


@pytest.fixture(scope="module")
def browser(pages_url: str) -> Iterator[Browser]:
    """A browser for the plain tests of a module. Its library runs an event loop in this thread until it is closed, so
    a module with coroutines among its tests cannot use it, and everything that needs a loop is set up before."""
    with launched() as opened:
        yield opened
