"""Connections that each kind of process opens, as docs/operations.md says."""

import asyncio
import re
from collections import Counter
from pathlib import Path

import httpx2
import psycopg
import pytest

from registry.store.engine import libpq, sqlalchemy_url
from tests.flow.test_schedule import HOSTS, registry
from tests.support.hang import HANG_SECONDS
from tests.support.running import Command, until
from tests.support.shared import ROOT

pytestmark = pytest.mark.long

KINDS = ("waypost", "waypost cards", "waypost lock", "waypost listen")
POOL, OVERFLOW = 2, 1
OPENED = "SELECT application_name, count(*) FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1"


def documented(process: str) -> Counter[str]:
    """Return the maximum of each kind of connection, by its name."""
    text = (ROOT / "docs" / "operations.md").read_text()
    row = re.search(rf"^\| `waypost {process}` \| pool \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    assert row is not None, process
    return Counter(dict(zip(KINDS, (POOL + OVERFLOW, *map(int, row.groups())), strict=True)))


@pytest.mark.parametrize("process", ["serve", "worker", "schedule"])
async def test_a_process_opens_no_more_connections_than_documented(
    tmp_path: Path, database_url: str, process: str
) -> None:
    peak: Counter[str] = Counter()
    async with registry(tmp_path, database_url, recrawl=1, prune=1) as (_, data_folder):
        async with data_folder.opened() as waypost:
            await waypost.frontier.seed(HOSTS, source="test")
        data_folder.environment |= {"WAYPOST_DATABASE_POOL": str(POOL), "WAYPOST_DATABASE_OVERFLOW": str(OVERFLOW)}
        if process == "serve":
            crawl = data_folder.start("crawl", *HOSTS)
            assert await crawl.exit_code() == 0, crawl.output
        command = data_folder.start(process, *(["--port", "0"] if process == "serve" else []))
        counting = asyncio.create_task(count(database_url, peak))
        if process == "serve":
            await ask(command)
        limits = documented(process)
        if process == "serve":
            limits += documented("worker --drain-only")  # its child
        awaited = {"serve": "waypost listen", "worker": "waypost lock", "schedule": "waypost lock"}[process]
        await until(lambda: peak[awaited] >= min(limits[awaited], 3), HANG_SECONDS, lambda: str(peak))
        await asyncio.sleep(2)
        counting.cancel()
        data_folder.kill_all()
    assert peak["waypost"] > 0 and peak - limits == Counter(), (peak, limits)


async def count(database_url: str, peak: Counter[str]) -> None:
    conninfo = libpq(sqlalchemy_url(database_url))
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True, application_name="") as connection:
        while True:
            for name, number in await (await connection.execute(OPENED)).fetchall():
                if name in KINDS:
                    peak[name] = max(peak[name], number)
            await asyncio.sleep(0.05)


async def ask(command: Command) -> None:
    address = re.compile(r"answers at (http://\S+)")
    await until(lambda: address.search(command.output), HANG_SECONDS, lambda: command.output)
    base = address.search(command.output)
    assert base is not None
    async with httpx2.AsyncClient(base_url=base[1], timeout=HANG_SECONDS) as client:
        paths = ("/api/services", "/api/discover?q=send+a+letter", "/api/status", "/readyz") * 6
        submission = client.post("/api/services", json={"domain": "new.shops.com"})
        await asyncio.gather(submission, *(client.get(path) for path in paths))
