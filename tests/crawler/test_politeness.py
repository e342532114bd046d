import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Collection, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.politeness import (
    EDGES,
    PER_ADDRESS,
    PER_EDGE_ADDRESS,
    BlockBudgets,
    Pace,
    Places,
    block_of,
    connections_at,
    counted,
)  # fmt: skip


def test_shared_edges_may_be_asked_by_more_at_once() -> None:
    assert connections_at("104.16.1.1") == PER_EDGE_ADDRESS
    assert connections_at("2606:4700::6810:1") == PER_EDGE_ADDRESS
    assert connections_at("8.8.8.8") == PER_ADDRESS
    assert connections_at("shop.example") == PER_ADDRESS
    assert all(edge.source.startswith("https://") and edge.as_of for edge in EDGES)


def test_what_belongs_to_one_block() -> None:
    assert block_of("8.8.8.8") == block_of("8.8.8.255") == "8.8.8.0/24"
    assert block_of("8.8.9.8") == "8.8.9.0/24"
    assert block_of("2001:4860:4860::8888") == block_of("2001:4860:4860:ffff::1") == "2001:4860:4860::/48"
    assert block_of("104.16.1.1") is None and block_of("2606:4700::6810:1") is None  # shared edges
    assert block_of("shop.example") is None  # a name of the connect-to table


async def _most_at_once(places: Places, stays: Collection[str], watched: str) -> int:
    most = now = 0

    async def stay(place: str) -> None:
        nonlocal most, now
        async with places.at(place):
            now += place.startswith(watched)
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= place.startswith(watched)

    async with asyncio.timeout(120):
        await asyncio.gather(*(stay(place) for place in stays))
    return most


async def test_no_more_than_two_at_one_address_and_others_unhindered() -> None:
    places = Places(per_block=64)
    assert await _most_at_once(places, ["8.8.8.8"] * 9 + ["9.9.9.9"] * 2, "8.8.8.8") == PER_ADDRESS
    assert len(places) == 0  # millions of addresses pass through one process


async def test_no_more_than_so_many_in_one_block() -> None:
    places = Places(per_block=5)
    block = [f"8.8.8.{number}" for number in range(40)]
    assert await _most_at_once(places, block, "8.8.8.") == 5
    elsewhere = [f"8.8.{number}.1" for number in range(40)]
    assert await _most_at_once(places, elsewhere, "8.8.") == 40
    edge = [f"104.16.1.{number}" for number in range(40)]
    assert await _most_at_once(places, edge, "104.16.") == 40
    names = [f"shop{number}.example" for number in range(40)]
    assert await _most_at_once(places, names, "shop") == 40
    assert len(places) == 0


async def test_a_crowded_address_leaves_its_block_to_its_neighbours() -> None:
    """Who waits for an address holds no place of the block: thirty of them would fill it."""
    places, order = Places(per_block=3), list[str]()

    async def stay(place: str, seconds: float) -> None:
        async with places.at(place):
            await asyncio.sleep(seconds)
            order.append(place)

    async with asyncio.timeout(120):
        crowd = [asyncio.create_task(stay("8.8.8.8", 0.05)) for _ in range(30)]
        await asyncio.sleep(0)
        await stay("8.8.8.9", 0.0)
        assert order == ["8.8.8.9"]
        await asyncio.gather(*crowd)


async def test_thousands_of_visits_in_any_order_all_get_their_turn() -> None:
    """Also when they move on from address to address of the same few blocks, as redirects do, and some are ended."""
    chaos, places, done = random.Random(8), Places(per_block=4), 0

    async def visit() -> None:
        nonlocal done
        for _ in range(3):
            async with places.at(f"8.8.{chaos.randrange(6)}.{chaos.randrange(9)}"):
                await asyncio.sleep(0)
        done += 1

    tasks = [asyncio.create_task(visit()) for _ in range(3_000)]
    await asyncio.sleep(0)
    for task in tasks[::10]:
        task.cancel()
    async with asyncio.timeout(120):
        await asyncio.gather(*tasks, return_exceptions=True)
    assert done == 2_700
    assert len(places) == 0


async def test_place_is_given_back_by_who_is_cancelled_while_waiting() -> None:
    places = Places(per_block=64)
    async with contextlib.AsyncExitStack() as held:
        for _ in range(PER_ADDRESS):
            await held.enter_async_context(places.at("8.8.8.8"))
        waiting = asyncio.create_task(places.at("8.8.8.8").__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert len(places) == 0


class Sums:
    """The sums of all processes, as the database keeps them."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.away = False

    async def spend(self, made: Mapping[str, int], of: Collection[str]) -> dict[str, int]:
        if self.away:
            raise ConnectionError
        self.made.update(made)
        return {block: self.made[block] for block in {*made, *of}}


async def test_a_block_that_had_its_requests_is_left_alone_by_every_process() -> None:
    sums, one, other = Sums(), BlockBudgets(10), BlockBudgets(10)
    for _ in range(6):
        one.asked("8.8.8.8")
        other.asked("8.8.8.9")
        other.asked("9.9.9.9")
    assert not one.is_spent("8.8.8.1") and not other.is_spent("8.8.8.1")
    await one.sync(sums.spend)
    await other.sync(sums.spend)
    assert other.is_spent("8.8.8.1") and not other.is_spent("9.9.9.9")
    one.asked("8.8.8.8")
    await one.sync(sums.spend)
    assert one.is_spent("8.8.8.1")
    assert sums.made == {"8.8.8.0/24": 13, "9.9.9.0/24": 6}


async def test_a_new_day_is_noticed_and_quiet_blocks_are_forgotten() -> None:
    sums, budgets = Sums(), BlockBudgets(2)
    for place in ("8.8.8.8", "8.8.8.8", "9.9.9.9"):
        budgets.asked(place)
    await budgets.sync(sums.spend)
    assert budgets.is_spent("8.8.8.8") and budgets._told == {"8.8.8.0/24": 2, "9.9.9.0/24": 1}
    await budgets.sync(sums.spend)
    assert budgets._told == {"8.8.8.0/24": 2}, "only what is spent is still asked for"
    sums.made.clear()
    await budgets.sync(sums.spend)
    assert not budgets.is_spent("8.8.8.8")
    await budgets.sync(sums.spend)
    assert budgets._told == {}


async def test_edges_and_names_of_the_table_have_no_budget() -> None:
    budgets = BlockBudgets(1)
    for place in ("104.16.1.1", "shop.example"):
        budgets.asked(place)
        assert not budgets.is_spent(place)
    assert not budgets._untold


async def test_what_could_not_be_told_is_told_later() -> None:
    sums, budgets = Sums(), BlockBudgets(5)
    sums.away = True
    async with counted(budgets, sums.spend):
        budgets.asked("8.8.8.8")
        with pytest.raises(ConnectionError):
            await budgets.sync(sums.spend)
        budgets.asked("8.8.8.8")
        sums.away = False
    assert sums.made == {"8.8.8.0/24": 2}, "at the end of the crawl at the latest"


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.sampled_from(["8.8.8.8", "8.8.8.9", "9.9.9.9"]), st.sampled_from(["ask", "sync", "away"])))
)
async def test_no_request_is_lost_or_counted_twice(steps: list[tuple[str, str]]) -> None:
    sums, budgets = Sums(), BlockBudgets(3)
    asked: Counter[str | None] = Counter()
    for place, what in steps:
        if what == "ask":
            budgets.asked(place)
            asked[block_of(place)] += 1
            continue
        sums.away = what == "away"
        with contextlib.suppress(ConnectionError):
            await budgets.sync(sums.spend)
    sums.away = False
    await budgets.sync(sums.spend)
    assert sums.made == asked
    for place in ("8.8.8.8", "9.9.9.9"):
        budgets.asked(place)
    await budgets.sync(sums.spend)
    for place in ("8.8.8.8", "9.9.9.9"):
        assert budgets.is_spent(place) is (asked[block_of(place)] + 1 >= 3)


def test_robots_may_ask_for_longer_pauses_never_for_shorter_ones() -> None:
    pace = Pace(1.0, left=40)
    assert pace.due < 0.0  # nobody was asked yet
    pace.obey(0.1)
    pace.asked(100.0)
    assert pace.due == 101.0
    pace.obey(7.0)
    assert pace.due == 107.0
    pace.asked(200.0)
    assert pace.due == 207.0
    assert pace.left == 38
    pace.obey(None)  # the next host of the domain has its own robots.txt
    assert pace.due == 201.0
