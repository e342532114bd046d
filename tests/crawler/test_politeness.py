import asyncio
import contextlib

from crawler.politeness import EDGES, PER_ADDRESS, PER_EDGE_ADDRESS, Pace, Places, connections_at


def test_shared_edges_may_be_asked_by_more_at_once() -> None:
    assert connections_at("104.16.1.1") == PER_EDGE_ADDRESS
    assert connections_at("2606:4700::6810:1") == PER_EDGE_ADDRESS
    assert connections_at("8.8.8.8") == PER_ADDRESS
    assert connections_at("shop.example") == PER_ADDRESS
    assert all(edge.source.startswith("https://") and edge.as_of for edge in EDGES)


async def test_no_more_than_two_at_one_address_and_others_unhindered() -> None:
    places, most, now = Places(), 0, 0

    async def stay(place: str) -> None:
        nonlocal most, now
        async with places.at(place):
            now += place == "8.8.8.8"
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= place == "8.8.8.8"

    async with asyncio.timeout(5):
        await asyncio.gather(*(stay("8.8.8.8") for _ in range(9)), *(stay("9.9.9.9") for _ in range(2)))
    assert most == PER_ADDRESS
    assert len(places) == 0  # millions of addresses pass through one process


async def test_place_is_given_back_by_who_is_cancelled_while_waiting() -> None:
    places = Places()
    async with contextlib.AsyncExitStack() as held:
        for _ in range(PER_ADDRESS):
            await held.enter_async_context(places.at("8.8.8.8"))
        waiting = asyncio.create_task(places.at("8.8.8.8").__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert len(places) == 0


def test_robots_may_ask_for_longer_pauses_never_for_shorter_ones() -> None:
    pace = Pace(1.0, left=40)
    assert pace.pause() == 0.0  # nobody was asked yet
    pace.obey(0.1)
    assert pace.delay == 1.0
    pace.obey(7.0)
    pace.asked()
    assert 6.0 < pace.pause() <= 7.0
    assert pace.left == 39
    pace.obey(None)  # the next host of the domain has its own robots.txt
    assert pace.delay == 1.0
