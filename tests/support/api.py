"""All HTTP interfaces over a real database and a real index that hold a small crawled web.

The web is visited once per run, with the real plan and the real actions; each test gets a copy of database and index.
"""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from registry.actions.queries.discover import SearchActions
from registry.api import health
from registry.cli.interfaces import interfaces_of
from registry.core.model.documents import Outcome
from registry.edge.interfaces import compose
from registry.search.embedded import EmbeddedBackend
from registry.settings import Settings
from registry.store.engine import make_engine
from registry.store.recorded import RecordedListener
from registry.store.unit_of_work import Store
from registry.wiring import Waypost, utc_now
from registry.wiring.reference import Reference
from tests.api.sites import FAILING, NEW, SITES
from tests.support import database
from tests.support.builders import Page, crawl, on
from tests.support.hang import HANG_SECONDS

PUBLIC_URL = "https://registry.example"


@dataclass(frozen=True)
class Api:
    """`get` and `post` go through the whole application; `waypost` is the registry behind it."""

    client: httpx2.AsyncClient
    waypost: Waypost
    store: Store

    async def get(self, path: str, **options: Any) -> httpx2.Response:
        return await self.client.get(path, **options)

    async def post(self, path: str, **options: Any) -> httpx2.Response:
        return await self.client.post(path, **options)

    async def json(self, path: str, **params: Any) -> Any:
        response = await self.client.get(path, params=params)
        assert response.status_code == 200, response.text
        return response.json()


@pytest.fixture(scope="session", autouse=True)
def patient_readiness() -> Iterator[None]:
    """Let checks of readiness take as long as a busy machine needs."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(health, "READY_SECONDS", HANG_SECONDS)
        yield


@pytest.fixture(scope="session")
def crawled_registry(
    database_server: str, database_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """Yield a database name and an index folder that hold everything in `sites`, without connections to either."""
    folder = tmp_path_factory.mktemp("crawled")
    with database.new_database(database_server, "crawled", database_template) as name:
        asyncio.run(_crawl(database.on(database_server, name), folder))
        yield name, folder


async def _crawl(url: str, folder: Path) -> None:
    """Crawl now and on days before, with one host that fails three times over three days."""
    store = Store(make_engine(url, pool_size=2))
    today = datetime.now(UTC).replace(microsecond=0)
    try:
        await crawl(store, SITES, today - timedelta(days=8))
        for days in (6, 4, 1):
            failing_page = {FAILING: Page(failure=Outcome.UNREACHABLE, reason="connect_timeout")}
            await crawl(store, {**SITES, **failing_page}, today - timedelta(days=days))
            await on(store, today - timedelta(days=days)).figures.count_day()
        backend = EmbeddedBackend(folder / "index")
        waypost = Waypost(
            _settings(folder),
            store,
            lambda: SearchActions(store, utc_now, backend),
            RecordedListener(store),
            Reference(store),
        )
        await waypost.search.reindex()
        await waypost.close()
    finally:
        await store.close()


def _settings(folder: Path, **changes: Any) -> Settings:
    return Settings(
        **{
            "data": folder, "public_url": PUBLIC_URL, "read_rate": 1_000_000, "page_rate": 1_000_000,
            "submit_rate": 1_000_000,
            "connect_to": tuple(f"{host}:443:127.0.0.1:443" for host in (*SITES, NEW)), **changes,
        }
    )  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(
    database_server: str, crawled_registry: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Api]:
    """The API for the read-only tests of a module, which run on the module's event loop."""
    async with _opened(database_server, crawled_registry, tmp_path_factory.mktemp("api")) as opened:
        yield opened


@pytest.fixture
async def own_api(database_server: str, crawled_registry: tuple[str, Path], tmp_path: Path) -> AsyncIterator[Api]:
    """The API for one test that writes."""
    async with _opened(database_server, crawled_registry, tmp_path) as opened:
        yield opened


@contextlib.asynccontextmanager
async def _opened(server: str, crawled: tuple[str, Path], folder: Path) -> AsyncIterator[Api]:
    shutil.copytree(crawled[1] / "index", folder / "index")
    settings = _settings(folder)
    with database.new_database(server, "api", crawled[0]) as name:
        store = Store(make_engine(database.on(server, name), pool_size=4))
        backend = EmbeddedBackend(folder / "index")
        try:
            async with RecordedListener(store) as feed:
                waypost = Waypost(
                    settings, store, lambda: SearchActions(store, utc_now, backend), feed, Reference(store)
                )
                async with make_client(waypost, settings) as client:
                    yield Api(client, waypost, store)
                await waypost.close()
        finally:
            await backend.close()
            await store.close()


def make_client(waypost: Waypost, settings: Settings, address: str = "203.0.113.7") -> httpx2.AsyncClient:
    app = compose(interfaces_of(waypost, settings), settings)
    transport = httpx2.ASGITransport(app=app, client=(address, 50_000))
    headers = {"Accept-Encoding": "identity"}  # with its strong ETag; tests/edge/test_compression.py has the others
    return httpx2.AsyncClient(transport=transport, base_url="http://testserver", timeout=HANG_SECONDS, headers=headers)
