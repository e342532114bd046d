"""Waits that end early when the crawl is to stop: thousands of hosts in flight spend nearly all their time in one."""

import asyncio


class Pauses:
    """All waits of one crawler. Bound to its loop.

    A future and a timer for each: `asyncio.wait_for` around an event makes a task as well, at five times the cost.
    """

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def __len__(self) -> int:
        """Waits that have not ended."""
        return len(self._waiting)

    async def wait(self, seconds: float) -> None:
        """For so many seconds, or until `end`."""
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        timer = loop.call_later(seconds, _finish, over)
        self._waiting.add(over)
        try:
            await over
        finally:
            timer.cancel()
            self._waiting.discard(over)

    async def end_with(self, stop: asyncio.Event) -> None:
        """Ends, once `stop` is set, the waits that have begun until then."""
        await stop.wait()
        for over in self._waiting:
            _finish(over)


def _finish(over: "asyncio.Future[None]") -> None:
    if not over.done():
        over.set_result(None)
