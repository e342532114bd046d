"""Requests to address blocks per day: one sum over all processes, without deadlocks."""

import asyncio
import random
from datetime import timedelta

from registry.store.unit_of_work import Store
from tests.support.builders import DAY, NOW, finish, leased, on, record
from tests.support.database import rows
from tests.support.hang import HANG_SECONDS

A, B, C = "192.0.2.0/24", "198.51.100.0/24", "2001:db8:1::/48"


async def test_requests_of_all_processes_add_up(store: Store) -> None:
    assert await on(store).crawl.spend({A: 3, B: 1}, ()) == {A: 3, B: 1}
    assert await on(store).crawl.spend({A: 2}, [B, C]) == {A: 5, B: 1}
    assert await on(store).crawl.spend({}, [A]) == {A: 5}
    assert await on(store).crawl.spend({}, ()) == {}


async def test_days_are_utc_and_yesterday_is_deleted(store: Store) -> None:
    await on(store).crawl.spend({A: 3}, ())
    assert await on(store, NOW + DAY).crawl.spend({A: 1}, ()) == {A: 1}
    assert await rows(store, "SELECT block, requests FROM block_days") == [(A, 1)]
    midnight = NOW.replace(hour=23, minute=59, second=59) + DAY
    assert await on(store, midnight).crawl.spend({}, [A]) == {A: 1}
    assert await on(store, midnight + timedelta(seconds=2)).crawl.spend({}, [A]) == {}


async def test_concurrent_updates_lose_nothing_and_never_deadlock(store: Store) -> None:
    """Each adds many blocks in its own order, as dicts of different processes have them."""
    blocks = [f"10.{number}.0.0/24" for number in range(60)]

    async def process(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(8):
            await on(store).crawl.spend(dict.fromkeys(rng.sample(blocks, 50), 1), ())

    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.gather(*(process(seed) for seed in range(5)))
    assert await rows(store, "SELECT sum(requests) FROM block_days") == [(5 * 8 * 50,)]


async def test_recording_a_visit_does_not_wait_for_block_sums(store: Store) -> None:
    await on(store).frontier.seed(["a.com"], source="test")
    lease = await leased(store)
    async with store.begin() as uow:
        await uow.blocks.add(NOW.date(), {A: 1})
        async with asyncio.timeout(HANG_SECONDS):
            recorded = await record(store, lease.token, [finish(lease.domains[0], {})])
    assert recorded.hosts == ["a.com"]
