"""A few kills by `python -m tests.flow.kills`, and four workers on one queue without kills."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.flow.kills import torture
from tests.flow.test_kill import HOSTS, all_visited, assert_complete, at_work
from tests.support.database import rows, until_true
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Exchange

pytestmark = pytest.mark.long  # test_kill.py kills each kind of process once


async def test_random_kills_lose_nothing(tmp_path: Path) -> None:
    lines: list[str] = []
    report = await torture(tmp_path, kills=8, seed=11, log=lines.append)
    assert report.faults == {}, lines
    assert report.kills.total() == 8
    assert report.visits >= len(HOSTS)


async def test_four_workers_share_one_queue(tmp_path: Path) -> None:
    """One worker visits each domain once. No request is answered until each of the four workers holds a lease."""
    async with at_work(tmp_path) as (web, data_folder):
        data_folder.environment |= {"WAYPOST_LEASE_BATCH": "2", "WAYPOST_HOSTS_IN_FLIGHT": "4"}
        all_leased = asyncio.Event()

        async def answer(exchange: Exchange) -> None:
            await all_leased.wait()
            await web.answer_slowly(exchange)

        web.sites |= dict.fromkeys(HOSTS, answer)
        workers = [data_folder.start("worker") for _ in range(4)]
        async with data_folder.opened() as waypost:
            leased = "SELECT 1 FROM domains HAVING count(DISTINCT lease_holder) = 4"
            await until_true(lambda: rows(waypost._store, leased), HANG_SECONDS)
            all_leased.set()
            await all_visited(data_folder)
            visits = await rows(waypost._store, "SELECT host, count(*) FROM visits GROUP BY host")
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            assert await worker.exit_code() == 0
        assert sorted(visits) == [(host, 1) for host in HOSTS]
        await assert_complete(data_folder, web)
