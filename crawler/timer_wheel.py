"""A timer wheel for the pauses of all visits. Pauses end early when the crawl stops.

Thousands of concurrent visits spend nearly all their time in a pause. A timer of the event loop costs 0.5 KB and as
much CPU as the rest of a pause, so pauses that end in the same tick share one.
"""

import asyncio
import time
from math import ceil
from typing import Final

TICK: Final = 0.01
"""Seconds; pauses end at whole ticks."""


class TimerWheel:
    """The pauses of one crawler. Bound to the event loop that runs it."""

    def __init__(self) -> None:
        self._pauses: dict[int, list[asyncio.Future[None]]] = {}  # by the tick at which they end

    def __len__(self) -> int:
        """Return the number of pauses that have not ended."""
        return sum(not pause.done() for pauses in self._pauses.values() for pause in pauses)

    def pause(self, seconds: float) -> "asyncio.Future[None]":
        """Return a future that is done after `seconds` and at most one tick more, or earlier by `wake_all_on`."""
        loop, now = asyncio.get_running_loop(), time.monotonic()
        pause = loop.create_future()
        tick = ceil((now + seconds) / TICK)
        pauses = self._pauses.get(tick)
        if pauses is None:
            pauses = self._pauses[tick] = []
            loop.call_later(tick * TICK - now, self._expire, tick)
        pauses.append(pause)
        return pause

    async def wake_all_on(self, stop: asyncio.Event) -> None:
        """Wait until `stop` is set, then end all running pauses."""
        await stop.wait()
        for pauses in self._pauses.values():
            _finish(pauses)

    def _expire(self, tick: int) -> None:
        _finish(self._pauses.pop(tick))


def _finish(pauses: "list[asyncio.Future[None]]") -> None:
    for pause in pauses:
        if not pause.done():
            pause.set_result(None)
