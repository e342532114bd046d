"""Pauses end when their time is over, or at once when the crawl is to stop, and leave nothing behind."""

import asyncio

from crawler.pauses import Pauses


async def test_ends_after_its_time() -> None:
    pauses, loop = Pauses(), asyncio.get_running_loop()
    began = loop.time()
    await pauses.wait(0.05)
    assert loop.time() - began >= 0.05
    assert len(pauses) == 0


async def test_all_end_when_the_crawl_stops() -> None:
    pauses, stop = Pauses(), asyncio.Event()
    ending = asyncio.create_task(pauses.end_with(stop))
    waiting = [pauses.wait(3600) for _ in range(3)]
    await asyncio.sleep(0)
    assert len(pauses) == 3
    stop.set()
    async with asyncio.timeout(120):
        await asyncio.gather(*waiting, ending)
    assert len(pauses) == 0


async def test_one_that_is_cancelled_is_forgotten() -> None:
    pauses = Pauses()
    waiting = pauses.wait(3600)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert len(pauses) == 0
