"""A registry seeds from the list of another one, over TLS: all of it first, then what is new."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from registry.cli.common import DONE, NO
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.mcp_registry.conftest import View
from tests.mcp_registry.sites import SITES, card
from tests.mcp_registry.sites import served as served_by
from tests.support.builders import adp_site, crawl
from tests.support.database import MigratedDatabases, rows
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Exchange, Reply, Sites

pytestmark = pytest.mark.slow

ORIGIN = "registry.example"
NEW = "later.example"
REMOTES = ["hostile.example", "parcels.example", "port.example", "tenants.example", "triple.example", "undated.example"]


class Origin:
    """Serves a registry to a crawler, `size` rows a page. `failing`: the number of the page answered with 500."""

    def __init__(self, view: View, size: int, failing: int = 0) -> None:
        self._view = view
        self._size = size
        self.failing = failing
        self.pages: list[str] = []

    async def __call__(self, exchange: Exchange) -> None:
        if exchange.path != "/robots.txt":
            self.pages.append(exchange.path)
            if len(self.pages) == self.failing:
                await exchange.send(Reply("", 500).encode())
                return
        response = await self._view.client.get(exchange.path.replace("limit=100", f"limit={self._size}"))
        await exchange.send(Reply(response.content, response.status_code).encode())


async def run(folder: Path, url: str, served: Sites, *arguments: str) -> tuple[int, Mapping[str, Any], str]:
    """Run `waypost seed` to its end. Return its exit code, its report, and what it said beside it."""
    known = [f"{host}:443:127.0.0.1:443" for host in (*SITES, NEW)]
    environment = os.environ | {
        "DATABASE_URL": url,
        "WAYPOST_DATA": str(folder / "data"),
        "WAYPOST_RESOLVE": "table",
        "WAYPOST_REQUEST_DELAY": "0",
        "WAYPOST_CONNECT_TO": ",".join([*served.connect_to(), *known]),
        "SSL_CERT_FILE": str(served.write_authority(folder)),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "registry.cli", "seed", *arguments, "--json",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment,
    )  # fmt: skip
    output, errors = await asyncio.wait_for(process.communicate(), HANG_SECONDS)
    assert process.returncode is not None and output, errors.decode()
    return process.returncode, json.loads(output), errors.decode()


async def hosts(database_url: str) -> list[str]:
    store = Store(make_engine(database_url))
    try:
        return [host for (host,) in await rows(store, "SELECT host FROM hosts ORDER BY host")]
    finally:
        await store.close()


async def test_the_mcp_servers_of_a_registry_and_then_the_new_ones(
    view: View, tmp_path: Path, migrated_databases: MigratedDatabases
) -> None:
    origin = Origin(view, 2, failing=2)
    arguments = "mcp-registry", "--url", f"https://{ORIGIN}"
    with migrated_databases.borrowed() as database:
        async with Sites({ORIGIN: origin}) as served:
            code, report, _ = await run(tmp_path, database, served, *arguments)
            assert (code, report["complete"]) == (NO, False)
            code, report, said = await run(tmp_path, database, served, *arguments)
            assert (code, report["complete"]) == (DONE, True)
            assert origin.pages[2] == origin.pages[1], "the page that failed is asked for first"
            assert "continuing the interrupted run" in said
            assert await hosts(database) == REMOTES
            first = len(origin.pages)
            code, report, said = await run(tmp_path, database, served, *arguments)
            assert "reading what is new" in said
            assert (code, report["names"]) == (DONE, 0), "nothing is new, which is no failure"
            assert len(origin.pages) == first + 1
            since = re.search(r"updated_since=([0-9TZ.%A-]+)", origin.pages[-1])
            assert since is not None
            asked = datetime.fromisoformat(since[1].replace("%3A", ":"))
            assert timedelta(minutes=59) < datetime.now(UTC) - asked < timedelta(minutes=80)
            await crawl(view.store, {NEW: served_by(card(NEW, "later"))}, datetime.now(UTC))
            code, report, _ = await run(tmp_path, database, served, *arguments)
            assert (code, report["hosts"]) == (DONE, 1)
            assert await hosts(database) == sorted([*REMOTES, NEW])
            code, report, said = await run(tmp_path, database, served, *arguments, "--restart")
            assert (code, report["hosts"], "reading" in said) == (DONE, 0, False)
            assert "updated_since" not in origin.pages[-1]


async def test_the_services_of_a_registry_and_then_the_new_ones(
    view: View, tmp_path: Path, migrated_databases: MigratedDatabases
) -> None:
    origin = Origin(view, 100)
    arguments = "waypost", f"https://{ORIGIN}/"
    listed = sorted(row["domain"] for row in (await view.json("/api/services", limit=100))["data"])
    with migrated_databases.borrowed() as database:
        async with Sites({ORIGIN: origin}) as served:
            code, report, _ = await run(tmp_path, database, served, *arguments)
            assert (code, report["hosts"], report["complete"]) == (DONE, len(listed), True)
            assert await hosts(database) == listed
            code, report, said = await run(tmp_path, database, served, *arguments)
            assert (code, report["names"]) == (DONE, 0)
            assert "reading what is new" in said
            await crawl(view.store, {NEW: adp_site(NEW)}, datetime.now(UTC))
            code, report, _ = await run(tmp_path, database, served, *arguments)
            assert (code, report["hosts"], report["known"]) == (DONE, 1, 0)
