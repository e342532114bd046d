"""A registry with its database, and sites on loopback that it reads lists from."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from crawler.seeds.online import Reader, reading
from registry.core.seeds import Refusal, Seed, Seeds
from registry.wiring import Waypost, open_waypost
from tests.crawler.support import settings
from tests.support.sites import Site, Sites


@asynccontextmanager
async def registry(
    monkeypatch: pytest.MonkeyPatch, folder: Path, database_url: str, sites: Mapping[str, Site]
) -> AsyncIterator[tuple[Sites, Waypost]]:
    """Nothing but these sites resolves."""
    async with Sites(sites) as served:
        monkeypatch.setenv("SSL_CERT_FILE", str(served.write_authority(folder)))
        monkeypatch.delenv("SSL_CERT_DIR", raising=False)
        more = {"database_url": database_url, "data": folder / "data"}
        async with open_waypost(settings(*served.connect_to(), **more)) as waypost:
            yield served, waypost


@asynccontextmanager
async def reader(waypost: Waypost, url: str) -> AsyncIterator[tuple[str, Reader]]:
    """The canonical URL, and who reads it."""
    async with reading(url, waypost, waypost.settings) as (found, canonical):
        yield canonical, found


async def gathered(seeds: Seeds) -> tuple[list[tuple[str, str | None]], list[tuple[str, str]]]:
    """Names with their referrers, and refused names with their codes."""
    named, refused = [], []
    assert hasattr(seeds, "__aiter__")
    async for one in seeds:
        if isinstance(one, Refusal):
            refused.append((one.name, one.code))
        elif isinstance(one, Seed):
            named.append((one.name, one.referrer))
    return named, refused
