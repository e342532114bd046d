"""Waits that end early when the crawl is to stop: thousands of hosts in flight spend nearly all their time in one."""

import asyncio
import time
from math import ceil
from typing import Final

TICK: Final = 0.01
"""Seconds; waits end at whole ticks. So those of a moment share one timer, which costs 0.5 KB and as much time as all
the rest of a wait."""


class Pauses:
    """All waits of one crawler. Bound to its loop."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}  # by the tick at which they end

    def __len__(self) -> int:
        """Waits that have not ended."""
        return sum(not over.done() for together in self._waiting.values() for over in together)

    def wait(self, seconds: float) -> "asyncio.Future[None]":
        """Done after so many seconds and not less, at most a tick more; or with `end_with`."""
        loop, now = asyncio.get_running_loop(), time.monotonic()
        over = loop.create_future()
        tick = ceil((now + seconds) / TICK)
        together = self._waiting.get(tick)
        if together is None:
            together = self._waiting[tick] = []
            loop.call_later(tick * TICK - now, self._end, tick)
        together.append(over)
        return over

    async def end_with(self, stop: asyncio.Event) -> None:
        """Ends, once `stop` is set, the waits that have begun until then."""
        await stop.wait()
        for together in self._waiting.values():
            _finish(together)

    def _end(self, tick: int) -> None:
        _finish(self._waiting.pop(tick))


def _finish(together: "list[asyncio.Future[None]]") -> None:
    for over in together:
        if not over.done():
            over.set_result(None)
