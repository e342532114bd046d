import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Collection, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.politeness import (
    PER_ADDRESS,
    PER_SHARED_ADDRESS,
    SHARED_NETWORKS,
    BlockBudgets,
    ConnectionLimiter,
    RequestPacer,
    TimerWheel,
    block_of,
    max_connections,
    sync_block_budgets,
)  # fmt: skip
from registry.core.visiting.shares import DomainBudget, Standing
from tests.crawler.support import connection_slot
from tests.support.hang import HANG_SECONDS


def test_shared_networks_allow_more_connections() -> None:
    assert max_connections("104.16.1.1") == PER_SHARED_ADDRESS
    assert max_connections("2606:4700::6810:1") == PER_SHARED_ADDRESS
    assert max_connections("8.8.8.8") == PER_ADDRESS
    assert max_connections("shop.example") == PER_ADDRESS
    assert all(shared.source.startswith("https://") and shared.as_of for shared in SHARED_NETWORKS)


def test_addresses_are_grouped_into_blocks() -> None:
    assert block_of("8.8.8.8") == block_of("8.8.8.255") == "8.8.8.0/24"
    assert block_of("8.8.9.8") == "8.8.9.0/24"
    assert block_of("2001:4860:4860::8888") == block_of("2001:4860:4860:ffff::1") == "2001:4860:4860::/48"
    assert block_of("104.16.1.1") is None and block_of("2606:4700::6810:1") is None  # shared edges
    assert block_of("shop.example") is None  # a name of the connect-to table


async def _most_at_once(limiter: ConnectionLimiter, addresses: Collection[str], prefix: str) -> int:
    peak = current = 0

    async def hold_slot(address: str) -> None:
        nonlocal peak, current
        async with connection_slot(limiter, address):
            current += address.startswith(prefix)
            peak = max(peak, current)
            await asyncio.sleep(0.01)
            current -= address.startswith(prefix)

    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.gather(*(hold_slot(address) for address in addresses))
    return peak


async def test_connections_to_one_address_are_limited_and_others_unhindered() -> None:
    limiter = ConnectionLimiter(per_block=64)
    assert await _most_at_once(limiter, ["8.8.8.8"] * 9 + ["9.9.9.9"] * 2, "8.8.8.8") == PER_ADDRESS
    assert not limiter.limits  # millions of addresses pass through one process, so none may be kept


async def test_connections_to_one_block_are_limited() -> None:
    limiter = ConnectionLimiter(per_block=5)
    block = [f"8.8.8.{number}" for number in range(40)]
    assert await _most_at_once(limiter, block, "8.8.8.") == 5
    other_blocks = [f"8.8.{number}.1" for number in range(40)]
    assert await _most_at_once(limiter, other_blocks, "8.8.") == 40
    shared_edge = [f"104.16.1.{number}" for number in range(40)]
    assert await _most_at_once(limiter, shared_edge, "104.16.") == 40
    names = [f"shop{number}.example" for number in range(40)]
    assert await _most_at_once(limiter, names, "shop") == 40
    assert not limiter.limits


async def test_a_crowded_address_does_not_block_its_neighbours() -> None:
    """A visit that waits for its address takes no slot of the block; thirty waiting ones would fill it."""
    limiter, order = ConnectionLimiter(per_block=3), list[str]()

    async def hold_slot(address: str, seconds: float) -> None:
        async with connection_slot(limiter, address):
            await asyncio.sleep(seconds)
            order.append(address)

    async with asyncio.timeout(HANG_SECONDS):
        tasks = [asyncio.create_task(hold_slot("8.8.8.8", 0.05)) for _ in range(30)]
        await asyncio.sleep(0)
        await hold_slot("8.8.8.9", 0.0)
        assert order == ["8.8.8.9"]
        await asyncio.gather(*tasks)


async def test_the_limiter_serves_thousands_of_visits_without_a_deadlock() -> None:
    """Also when visits move between addresses of the same blocks, as redirects do, and some are cancelled."""
    rng, limiter, finished_visits = random.Random(8), ConnectionLimiter(per_block=4), 0

    async def visit() -> None:
        nonlocal finished_visits
        for _ in range(3):
            async with connection_slot(limiter, f"8.8.{rng.randrange(6)}.{rng.randrange(9)}"):
                await asyncio.sleep(0)
        finished_visits += 1

    tasks = [asyncio.create_task(visit()) for _ in range(3_000)]
    await asyncio.sleep(0)
    for task in tasks[::10]:
        task.cancel()
    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.gather(*tasks, return_exceptions=True)
    assert finished_visits == 2_700
    assert not limiter.limits


async def test_a_cancelled_waiter_leaves_nothing_behind() -> None:
    limiter = ConnectionLimiter(per_block=64)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(PER_ADDRESS):
            await stack.enter_async_context(connection_slot(limiter, "8.8.8.8"))
        waiting = asyncio.create_task(limiter.acquire("8.8.8.8"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert not limiter.limits


class Sums:
    """The request counts of all processes, as the database keeps them."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.away = False

    async def spend(self, requests: Mapping[str, int], blocks: Collection[str]) -> dict[str, int]:
        if self.away:
            raise ConnectionError
        self.made.update(requests)
        return {block: self.made[block] for block in {*requests, *blocks}}


async def test_a_spent_block_budget_holds_for_every_process() -> None:
    sums, first, second = Sums(), BlockBudgets(10), BlockBudgets(10)
    for _ in range(6):
        first.record_request("8.8.8.8")
        second.record_request("8.8.8.9")
        second.record_request("9.9.9.9")
    assert not first.is_spent("8.8.8.1") and not second.is_spent("8.8.8.1")
    await first.sync(sums.spend)
    await second.sync(sums.spend)
    assert second.is_spent("8.8.8.1") and not second.is_spent("9.9.9.9")
    first.record_request("8.8.8.8")
    await first.sync(sums.spend)
    assert first.is_spent("8.8.8.1")
    assert sums.made == {"8.8.8.0/24": 13, "9.9.9.0/24": 6}


async def test_a_new_day_resets_budgets_and_unspent_blocks_are_forgotten() -> None:
    sums, budgets = Sums(), BlockBudgets(2)
    for address in ("8.8.8.8", "8.8.8.8", "9.9.9.9"):
        budgets.record_request(address)
    await budgets.sync(sums.spend)
    assert budgets.is_spent("8.8.8.8") and budgets._totals == {"8.8.8.0/24": 2, "9.9.9.0/24": 1}
    await budgets.sync(sums.spend)
    assert budgets._totals == {"8.8.8.0/24": 2}, "only what is spent is still asked for"
    sums.made.clear()
    await budgets.sync(sums.spend)
    assert not budgets.is_spent("8.8.8.8")
    await budgets.sync(sums.spend)
    assert budgets._totals == {}


async def test_shared_networks_and_names_of_the_table_have_no_budget() -> None:
    budgets = BlockBudgets(1)
    for address in ("104.16.1.1", "shop.example"):
        budgets.record_request(address)
        assert not budgets.is_spent(address)
    assert not budgets._unsynced


async def test_requests_that_could_not_be_synced_are_synced_later() -> None:
    sums, budgets = Sums(), BlockBudgets(5)
    sums.away = True
    async with sync_block_budgets(budgets, sums.spend):
        budgets.record_request("8.8.8.8")
        with pytest.raises(ConnectionError):
            await budgets.sync(sums.spend)
        budgets.record_request("8.8.8.8")
        sums.away = False
    assert sums.made == {"8.8.8.0/24": 2}, "at the end of the crawl at the latest"


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.sampled_from(["8.8.8.8", "8.8.8.9", "9.9.9.9"]), st.sampled_from(["ask", "sync", "away"])))
)
async def test_no_request_is_lost_or_counted_twice(steps: list[tuple[str, str]]) -> None:
    sums, budgets = Sums(), BlockBudgets(3)
    requests: Counter[str | None] = Counter()
    for address, step in steps:
        if step == "ask":
            budgets.record_request(address)
            requests[block_of(address)] += 1
            continue
        sums.away = step == "away"
        with contextlib.suppress(ConnectionError):
            await budgets.sync(sums.spend)
    sums.away = False
    await budgets.sync(sums.spend)
    assert sums.made == requests
    for address in ("8.8.8.8", "9.9.9.9"):
        budgets.record_request(address)
    await budgets.sync(sums.spend)
    for address in ("8.8.8.8", "9.9.9.9"):
        assert budgets.is_spent(address) is (requests[block_of(address)] + 1 >= 3)


def test_a_crawl_delay_can_only_lengthen_the_pause() -> None:
    pacer = RequestPacer(1.0, DomainBudget(40))
    assert pacer.next_at < 0.0  # no request yet
    pacer.set_crawl_delay(0.1)
    pacer.record_request(100.0)
    assert pacer.next_at == 101.0
    pacer.set_crawl_delay(7.0)
    assert pacer.next_at == 107.0
    pacer.record_request(200.0)
    assert pacer.next_at == 207.0
    assert (pacer.sent, pacer.budget.requests_left(Standing.KEPT)) == (2, 38)
    pacer.set_crawl_delay(None)  # the next host of the domain has its own robots.txt
    assert pacer.next_at == 201.0


def running(wheel: TimerWheel) -> int:
    return sum(not pause.done() for pauses in wheel._pauses.values() for pause in pauses)


async def test_a_pause_ends_after_its_time() -> None:
    wheel, loop = TimerWheel(), asyncio.get_running_loop()
    began = loop.time()
    await wheel.pause(0.05)
    assert loop.time() - began >= 0.05
    assert running(wheel) == 0


async def test_all_pauses_end_when_the_crawl_stops() -> None:
    wheel, stop = TimerWheel(), asyncio.Event()
    ending = asyncio.create_task(wheel.wake_all_on(stop))
    waiting = [wheel.pause(3600) for _ in range(3)]
    await asyncio.sleep(0)
    assert running(wheel) == 3
    stop.set()
    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.gather(*waiting, ending)
    assert running(wheel) == 0


async def test_a_cancelled_pause_is_forgotten() -> None:
    wheel = TimerWheel()
    waiting = wheel.pause(3600)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert running(wheel) == 0
