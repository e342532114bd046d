"""Pauses end after their time, or at once when the crawl stops, and leave nothing behind."""

import asyncio

from crawler.timer_wheel import TimerWheel
from tests.support.hang import HANG_SECONDS


async def test_a_pause_ends_after_its_time() -> None:
    wheel, loop = TimerWheel(), asyncio.get_running_loop()
    began = loop.time()
    await wheel.pause(0.05)
    assert loop.time() - began >= 0.05
    assert len(wheel) == 0


async def test_all_pauses_end_when_the_crawl_stops() -> None:
    wheel, stop = TimerWheel(), asyncio.Event()
    ending = asyncio.create_task(wheel.wake_all_on(stop))
    waiting = [wheel.pause(3600) for _ in range(3)]
    await asyncio.sleep(0)
    assert len(wheel) == 3
    stop.set()
    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.gather(*waiting, ending)
    assert len(wheel) == 0


async def test_a_cancelled_pause_is_forgotten() -> None:
    wheel = TimerWheel()
    waiting = wheel.pause(3600)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert len(wheel) == 0
