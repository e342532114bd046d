"""A registry with its database, and sites on loopback from which it reads lists."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from crawler.seeds.online import Reader, reading
from registry.core.names.seeds import Refusal, Seed, Seeds
from registry.wiring import Waypost, open_waypost
from tests.crawler.support import settings
from tests.support.sites import Site, Sites


@asynccontextmanager
async def registry(
    monkeypatch: pytest.MonkeyPatch, folder: Path, database_url: str, sites: Mapping[str, Site]
) -> AsyncIterator[tuple[Sites, Waypost]]:
    """Yield the sites and a registry in which only the names of these sites resolve."""
    async with Sites(sites) as served:
        monkeypatch.setenv("SSL_CERT_FILE", str(served.write_authority(folder)))
        monkeypatch.delenv("SSL_CERT_DIR", raising=False)
        overrides = {"database_url": database_url, "data": folder / "data"}
        async with open_waypost(settings(*served.connect_to(), **overrides)) as waypost:
            yield served, waypost


@asynccontextmanager
async def reader(waypost: Waypost, url: str) -> AsyncIterator[tuple[str, Reader]]:
    """Yield the canonical URL and its reader."""
    async with reading(url, waypost, waypost.settings) as (list_reader, canonical):
        yield canonical, list_reader


async def gathered(seeds: Seeds) -> tuple[list[tuple[str, str | None]], list[tuple[str, str]]]:
    """Return names with their referrers, and refused names with their codes."""
    accepted, refused = [], []
    assert hasattr(seeds, "__aiter__")
    async for item in seeds:
        if isinstance(item, Refusal):
            refused.append((item.name, item.code))
        elif isinstance(item, Seed):
            accepted.append((item.name, item.referrer))
    return accepted, refused
