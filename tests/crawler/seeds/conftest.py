"""A registry with its database, and sites on loopback from which it reads lists."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from crawler.seeds.online import Reader, reading
from registry.wiring import open_waypost
from tests.crawler.seeds.gathering import Sources
from tests.crawler.support import Web
from tests.support.sites import Site, Sites


@pytest.fixture
def source(web: Web, tmp_path: Path, database_url: str) -> Sources:
    """Return a context that yields served sites, the canonical URL of a list, and its reader."""

    @asynccontextmanager
    async def read(url: str, sites: Mapping[str, Site]) -> AsyncIterator[tuple[Sites, str, Reader]]:
        async with (
            web(sites, database_url=database_url, data=tmp_path / "data") as (served, config),
            open_waypost(config) as waypost,
            reading(url, waypost, config) as (reader, canonical),
        ):
            yield served, canonical, reader

    return read
