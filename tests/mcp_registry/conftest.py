"""The MCP registry's API over a real database that holds the crawled web of `sites`."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from registry.actions.queries.discover import SearchActions
from registry.cli.interfaces import interfaces_of
from registry.edge.interfaces import compose
from registry.search.embedded import EmbeddedBackend
from registry.settings import Settings
from registry.store.recorded import RecordedListener
from registry.store.unit_of_work import Store
from registry.wiring import Waypost, utc_now
from registry.wiring.reference import Reference
from tests.mcp_registry.sites import SITES
from tests.support.builders import crawl
from tests.support.hang import HANG_SECONDS

PUBLIC_URL = "https://registry.example"
OWN = "dev.waypost/registry"
OFFICIAL = "io.modelcontextprotocol.registry/official"


@dataclass(frozen=True)
class View:
    """`get` goes through the whole application, over the database of `store`."""

    client: httpx2.AsyncClient
    store: Store

    async def get(self, path: str, **params: Any) -> httpx2.Response:
        return await self.client.get(path, params=params)

    async def json(self, path: str, **params: Any) -> Any:
        response = await self.get(path, **params)
        assert response.status_code == 200, response.text
        return response.json()

    async def all(self, **params: Any) -> list[dict[str, Any]]:
        """Return all rows of the list, by following its cursors."""
        rows: list[dict[str, Any]] = []
        cursors: list[str] = []
        while True:
            page = await self.json("/v0.1/servers", **params, **({"cursor": cursors[-1]} if cursors else {}))
            assert page["metadata"]["count"] == len(page["servers"])
            rows += page["servers"]
            if (cursor := page["metadata"].get("nextCursor")) is None:
                return rows
            assert page["servers"], "a page that has a next one has rows"
            assert cursor not in cursors, "a cursor leads back"
            cursors.append(cursor)

    async def names(self, **params: Any) -> list[str]:
        return [row["server"]["name"] for row in await self.all(**params)]

    async def one(self, host: str, **params: Any) -> dict[str, Any]:
        """Return the only row of a host."""
        (row,) = [row for row in await self.all(**params) if row["_meta"][OWN]["host"] == host]
        return row


@pytest.fixture
async def view(store: Store, tmp_path: Path) -> AsyncIterator[View]:
    await crawl(store, SITES)
    settings = Settings(data=tmp_path, public_url=PUBLIC_URL, read_rate=1_000_000)
    backend = EmbeddedBackend(tmp_path / "index")
    search = SearchActions(store, utc_now, backend)
    waypost = Waypost(settings, store, lambda: search, RecordedListener(store), Reference(store))
    app = compose(interfaces_of(waypost, settings), settings)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url=PUBLIC_URL, timeout=HANG_SECONDS) as client:
        yield View(client, store)
    await waypost.close()
    await backend.close()


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
