"""Sites on loopback, and visits and crawls of them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from crawler.visit import Visitor
from registry.settings import Settings
from tests.crawler.support import Visiting, Web, keep_connections, settings, trust
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Site, Sites


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Web:
    """Return a context that yields served sites, whose authority is the only trusted one, and settings with their
    connect-to table."""

    @asynccontextmanager
    async def serve(
        sites: Mapping[str, Site], certificates: Mapping[str, str] | None = None, **overrides: Any
    ) -> AsyncIterator[tuple[Sites, Settings]]:
        async with Sites(sites, certificates) as served, asyncio.timeout(HANG_SECONDS):
            trust(monkeypatch, tmp_path, served)
            keep_connections(monkeypatch)
            yield served, settings(*served.connect_to(), **overrides)

    return serve


@pytest.fixture
def visiting(web: Web) -> Visiting:
    """Return a context that yields served sites and a visitor of them."""

    @asynccontextmanager
    async def serve(*sites: Any, **overrides: Any) -> AsyncIterator[tuple[Sites, Visitor]]:
        async with web(*sites, **overrides) as (served, config), Visitor(config) as visitor:
            yield served, visitor

    return serve
