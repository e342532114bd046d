"""An outage of the database is a few log lines in each process, and each says why.

The database is a PostgreSQL of this test, which the processes use by DATABASE_URL, as an operator's own.
"""

import asyncio
import json
import os
import signal
from pathlib import Path

import httpx2
import pytest

from registry.store.embedded_postgres import server as embedded
from registry.store.embedded_postgres.home import find_home
from tests.flow.test_kill import at_work
from tests.support.cluster import copy_cluster
from tests.support.demo import forget_database
from tests.support.hang import HANG_SECONDS
from tests.support.running import until

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

OUTAGE_SECONDS = 70.0
ELSEWHERE = ("connect_to.in_force", "job.ended", "worker.missing")
"""Warnings of other causes: the table of names, and `refresh` without a network."""

MAX_LINES = 4
"""One at the beginning, one after a minute, one at the end; a process may also say what it lost."""


class Log:
    """The events that a process logs from now on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.begin = path.stat().st_size

    def events(self) -> list[dict[str, object]]:
        lines = self.path.read_bytes()[self.begin :].decode().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def named(self, event: str) -> list[dict[str, object]]:
        return [one for one in self.events() if one.get("event") == event]


async def ask(url: str) -> None:
    """Ask some twenty times a second, whatever the answers are."""
    async with httpx2.AsyncClient(base_url=url, timeout=HANG_SECONDS) as client:
        while True:
            await client.get("/api/services")
            await client.get("/api/discover?q=letters")
            await asyncio.sleep(0.1)


async def test_an_outage_of_the_database_is_a_few_lines_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "postgres"
    for name in ("data", "work"):
        (tmp_path / name).mkdir()
    copy_cluster(folder)
    server = embedded.start(folder)
    try:
        async with at_work(tmp_path / "work", server.dsn, seconds=None) as (_, data_folder):
            serving = data_folder.start("serve", "--port", "0")
            worker, schedule = data_folder.start("worker"), data_folder.start("schedule")
            url = (await serving.line_with("the API answers at")).split()[4]
            await worker.line_with("worker.started")
            await schedule.line_with("leader.elected")
            asking = asyncio.create_task(ask(url))
            await asyncio.sleep(3)
            logs = [Log(command.log) for command in data_folder.commands]
            os.kill(int((find_home(folder).data / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
            await asyncio.sleep(OUTAGE_SECONDS)
            assert not asking.done(), asking.exception()
            server = embedded.start(folder)
            await until(
                lambda: all(log.named("database.available") for log in logs),
                2 * HANG_SECONDS,
                lambda: "\n".join(map(str, (log.events() for log in logs))),
            )
            asking.cancel()
        for log in logs:
            warnings = [one for one in log.events() if one["level"] != "info" and one["event"] not in ELSEWHERE]
            assert len(warnings) <= MAX_LINES, warnings
            assert all(event.get("reason") for event in warnings), warnings
            *_, last = log.named("database.unavailable")
            assert "No such file" in str(last["reason"]), last
    finally:
        server.release()
        forget_database(tmp_path / "data")
