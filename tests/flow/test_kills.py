"""The torture of `python -m tests.flow.kills`, a few kills of it; and four workers on one queue, undisturbed."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.flow.kills import torture
from tests.flow.test_kill import HOSTS, all_visited, at_work, sound
from tests.support.database import rows

pytestmark = pytest.mark.slow


async def test_random_kills_lose_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    report = await torture(tmp_path, kills=4, seed=11, say=said.append)
    assert report.faults == {}, said
    assert report.kills.total() == 4
    assert report.visits >= len(HOSTS)


async def test_four_workers_share_one_queue(tmp_path: Path) -> None:
    """Every domain is visited once, by one of them; and more than one had work to do."""
    async with at_work(tmp_path) as (web, made):
        made.environment |= {"WAYPOST_LEASE_BATCH": "2", "WAYPOST_HOSTS_IN_FLIGHT": "4"}
        workers = [made.start("worker") for _ in range(4)]
        holders: set[int] = set()
        async with made.opened() as waypost:
            visiting = asyncio.create_task(all_visited(made))
            while not visiting.done():
                leased = "SELECT DISTINCT lease_holder FROM domains WHERE lease_holder IS NOT NULL"
                holders |= {holder for (holder,) in await rows(waypost._store, leased)}
                await asyncio.sleep(0.05)
            await visiting
            visits = await rows(waypost._store, "SELECT host, count(*) FROM visits GROUP BY host")
        for worker in workers:
            worker.tell(signal.SIGTERM)
        for worker in workers:
            assert await worker.ended() == 0
        assert sorted(visits) == [(host, 1) for host in HOSTS]
        assert len(holders) == 4
        await sound(made, web)
