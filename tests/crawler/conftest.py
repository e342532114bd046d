"""Sites on loopback, and visits and crawls of them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from crawler.stats import CrawlCounts
from crawler.visit import Visitor
from registry.settings import Settings
from tests.crawler.leases import Leases, crawl
from tests.crawler.support import Crawled, Visiting, Web, keep_connections, settings, trust
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


@pytest.fixture
def crawled(web: Web) -> Crawled:
    """Return a function that crawls the leased domains of a web, and returns the sites and the figures."""

    async def crawl_all(leases: Leases, *sites: Any, **overrides: Any) -> tuple[Sites, CrawlCounts]:
        options = {name: overrides.pop(name) for name in ("until_idle", "stop", "progress") if name in overrides}
        async with web(*sites, **overrides) as (served, config):
            return served, await crawl(leases, config, **options)

    return crawl_all
