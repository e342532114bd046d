"""Fixtures for commands that run inside the test's process."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.support.builders import Page, awp_manifest, crawl

BIKES = "bikes.example"


@pytest.fixture(autouse=True)
def restore_logging() -> Iterator[None]:
    """Restore logging: a command sends its logs to its standard error, which the test runner closes afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def registry(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point commands to a registry that lists BIKES; return its data folder."""

    async def fill() -> None:
        store = Store(make_engine(database_url, pool_size=2))
        try:
            await crawl(store, {BIKES: {"/agent.json": Page(awp_manifest(BIKES))}})
        finally:
            await store.close()

    asyncio.run(fill())
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("WAYPOST_DATA", str(tmp_path))
    return tmp_path
