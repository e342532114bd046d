"""One registry seeds from the ARD interface of another one, over TLS, and goes on after it was killed."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from registry.cli.common import DONE, NO
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.api.sites import NEW, SITES
from tests.support.api import Api
from tests.support.database import rows
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Exchange, Reply, Sites

ORIGIN = "registry.example"
URL = f"https://{ORIGIN}/ard"


class Origin:
    """Serves a registry's ARD interface to a crawler, two entries a page. `held`: the number of the page that is never
    answered; `failing`: the number of the page that is answered with 500."""

    def __init__(self, api: Api, *, held: int | None = None, failing: int | None = None) -> None:
        self._api = api
        self.held, self.failing = held, failing
        self.pages: list[str] = []
        self.is_held = asyncio.Event()

    async def __call__(self, exchange: Exchange) -> None:
        path = exchange.path.replace("pageSize=100", "pageSize=2")
        if path.startswith("/ard/agents"):
            self.pages.append(path)
            if len(self.pages) == self.held:
                self.is_held.set()
                await asyncio.Event().wait()
            if len(self.pages) == self.failing:
                await exchange.send(Reply("", 500).encode())
                return
        response = await self._api.client.request(exchange.method, path, content=exchange.body)
        await exchange.send(Reply(response.content, response.status_code).encode())


async def started(folder: Path, database_url: str, served: Sites, *arguments: str) -> asyncio.subprocess.Process:
    known = [f"{host}:443:127.0.0.1:443" for host in (*SITES, NEW)]
    environment = os.environ | {
        "DATABASE_URL": database_url,
        "WAYPOST_DATA": str(folder / "data"),
        "WAYPOST_RESOLVE": "table",
        "WAYPOST_REQUEST_DELAY": "0",
        "WAYPOST_CONNECT_TO": ",".join([*served.connect_to(), *known]),
        "SSL_CERT_FILE": str(served.write_authority(folder)),
    }
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "registry.cli", "seed", "ard-registry", URL, "--json", *arguments,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment,
    )  # fmt: skip


async def run(folder: Path, database_url: str, served: Sites, *arguments: str) -> tuple[int, Any, str]:
    """Run the command to its end. Return its exit code, its report, and what it said beside it."""
    process = await started(folder, database_url, served, *arguments)
    output, errors = await asyncio.wait_for(process.communicate(), HANG_SECONDS)
    assert process.returncode is not None
    return process.returncode, json.loads(output), errors.decode()


async def hosts(database_url: str) -> list[tuple[Any, ...]]:
    store = Store(make_engine(database_url))
    try:
        return await rows(store, "SELECT host, source, referrer FROM hosts ORDER BY host")
    finally:
        await store.close()


@pytest.mark.slow
async def test_a_killed_run_goes_on_where_its_names_are_committed(
    own_api: Api, tmp_path: Path, database_url: str
) -> None:
    expected = sorted(
        (entry["metadata"]["waypost:host"], "ard-registry", entry["identifier"])
        for entry in (await own_api.json("/ard/agents", pageSize=100))["items"]
    )
    origin = Origin(own_api, held=3)
    async with Sites({ORIGIN: origin}) as served:
        process = await started(tmp_path, database_url, served)
        try:
            await asyncio.wait_for(origin.is_held.wait(), HANG_SECONDS)
        finally:
            process.kill()
            await process.communicate()
        assert await hosts(database_url) == expected[:4], "two pages are committed"
        third = origin.pages[2]
        code, report, said = await run(tmp_path, database_url, served)
        assert (code, report["complete"], report["hosts"]) == (DONE, True, len(expected) - 4)
        assert origin.pages[3] == third, "the page that was not answered is asked for first"
        assert "continuing" in said
        assert await hosts(database_url) == expected
        pages = len(origin.pages)
        code, report, said = await run(tmp_path, database_url, served)
        assert (code, report["hosts"], report["known"]) == (DONE, 0, len(expected))
        assert "continuing" not in said
        assert origin.pages[pages:][0] == "/ard/agents?pageSize=2", "a run that ended begins anew"


@pytest.mark.slow
async def test_a_run_that_breaks_off_goes_on_or_begins_anew(own_api: Api, tmp_path: Path, database_url: str) -> None:
    origin = Origin(own_api, failing=2)
    async with Sites({ORIGIN: origin}) as served:
        code, report, _ = await run(tmp_path, database_url, served)
        assert (code, report["complete"], report["hosts"]) == (NO, False, 2)
        assert report["refused"] == {"source_not_read": 1}
        code, report, _ = await run(tmp_path, database_url, served, "--restart")
        assert (code, report["complete"], report["known"]) == (DONE, True, 2)
        assert origin.pages[2] == "/ard/agents?pageSize=2"
