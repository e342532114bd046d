"""The torture of `python -m tests.flow.kills`, a few kills of it; and four workers on one queue, undisturbed."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.flow.kills import torture
from tests.flow.test_kill import HOSTS, all_visited, at_work, sound
from tests.support.database import rows, until_true
from tests.support.running import PATIENCE
from tests.support.sites import Exchange

pytestmark = pytest.mark.slow


async def test_random_kills_lose_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    report = await torture(tmp_path, kills=4, seed=11, say=said.append)
    assert report.faults == {}, said
    assert report.kills.total() == 4
    assert report.visits >= len(HOSTS)


async def test_four_workers_share_one_queue(tmp_path: Path) -> None:
    """Every domain is visited once, by one of them. Nobody is answered until each of the four has something to do."""
    async with at_work(tmp_path) as (web, made):
        made.environment |= {"WAYPOST_LEASE_BATCH": "2", "WAYPOST_HOSTS_IN_FLIGHT": "4"}
        made.environment |= {"WAYPOST_REQUEST_TIMEOUT": "120", "WAYPOST_HOST_DEADLINE": "600"}
        all_are_there = asyncio.Event()

        async def answer(exchange: Exchange) -> None:
            await all_are_there.wait()
            await web.answer_slowly(exchange)

        web.sites |= dict.fromkeys(HOSTS, answer)
        workers = [made.start("worker") for _ in range(4)]
        async with made.opened() as waypost:
            leased = "SELECT 1 FROM domains HAVING count(DISTINCT lease_holder) = 4"
            await until_true(lambda: rows(waypost._store, leased), PATIENCE)
            all_are_there.set()
            await all_visited(made)
            visits = await rows(waypost._store, "SELECT host, count(*) FROM visits GROUP BY host")
        for worker in workers:
            worker.tell(signal.SIGTERM)
        for worker in workers:
            assert await worker.ended() == 0
        assert sorted(visits) == [(host, 1) for host in HOSTS]
        await sound(made, web)
