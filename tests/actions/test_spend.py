"""Requests to address blocks per day: one sum over all processes, without deadlocks."""

import asyncio
import random
from datetime import timedelta

from registry.actions.frontier.lease import count_requests
from registry.actions.frontier.seed import seed
from registry.actions.recording.record import record
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, NOW, finish, take
from tests.support.database import rows
from tests.support.hang import HANG_SECONDS

A, B, C = "192.0.2.0/24", "198.51.100.0/24", "2001:db8:1::/48"


async def test_requests_of_all_processes_add_up(store: Store) -> None:
    assert await count_requests(store, {A: 3, B: 1}, (), now=NOW) == {A: 3, B: 1}
    assert await count_requests(store, {A: 2}, [B, C], now=NOW) == {A: 5, B: 1}
    assert await count_requests(store, {}, [A], now=NOW) == {A: 5}
    assert await count_requests(store, {}, (), now=NOW) == {}


async def test_days_are_utc_and_yesterday_is_deleted(store: Store) -> None:
    await count_requests(store, {A: 3}, (), now=NOW)
    assert await count_requests(store, {A: 1}, (), now=NOW + DAY) == {A: 1}
    assert await rows(store, "SELECT block, requests FROM block_days") == [(A, 1)]
    midnight = NOW.replace(hour=23, minute=59, second=59) + DAY
    assert await count_requests(store, {}, [A], now=midnight) == {A: 1}
    assert await count_requests(store, {}, [A], now=midnight + timedelta(seconds=2)) == {}


async def test_concurrent_updates_lose_nothing_and_never_deadlock(store: Store) -> None:
    """Each adds many blocks in its own order, as dicts of different processes have them."""
    blocks = [f"10.{number}.0.0/24" for number in range(60)]

    async def process(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(8):
            await count_requests(store, dict.fromkeys(rng.sample(blocks, 50), 1), (), now=NOW)

    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.gather(*(process(seed) for seed in range(5)))
    assert await rows(store, "SELECT sum(requests) FROM block_days") == [(5 * 8 * 50,)]


async def test_recording_a_visit_does_not_wait_for_block_sums(store: Store) -> None:
    await seed(store, ["a.com"], source="test", now=NOW)
    lease = await take(store)
    assert lease is not None
    async with store.begin() as uow:
        await uow.blocks.add(NOW.date(), {A: 1})
        async with asyncio.timeout(HANG_SECONDS):
            recorded = await record(store, lease.token, [finish(lease.domains[0], {})], now=NOW)
    assert recorded.hosts == ["a.com"]
