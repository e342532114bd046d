"""Bounds how much is done at once, in all and for each client; clients that wait take turns.

One queue for all would let a client with a hundred requests delay everybody else by a hundred requests. Here it delays
the others by one. For one event loop.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field


class Crowded(Exception):
    """Too much is waiting already: of this client (`by_client`), or of all together."""

    def __init__(self, *, by_client: bool) -> None:
        super().__init__("too much of this client is waiting" if by_client else "too much is waiting")
        self.by_client = by_client


@dataclass(slots=True, eq=False)
class Turn:
    """The right to do one thing now, until `close`."""

    _turns: "Turns"
    _client: str
    _closed: bool = False

    def close(self) -> None:
        """Let the next one begin. Further calls do nothing."""
        if not self._closed:
            self._closed = True
            self._turns._leave(self._client)


@dataclass(slots=True, eq=False)
class Turns:
    """`at_once` turns in all and `at_once_each` of one client; `waiting` and `waiting_each` may wait for one."""

    at_once: int
    at_once_each: int
    waiting: int
    waiting_each: int
    _running: Counter[str] = field(default_factory=Counter)
    _queues: "OrderedDict[str, deque[asyncio.Future[None]]]" = field(default_factory=OrderedDict)

    @property
    def taken(self) -> int:
        """How many turns are taken now."""
        return self._running.total()

    @property
    def waits(self) -> int:
        """How many wait for a turn now."""
        return sum(map(len, self._queues.values()))

    async def take(self, client: str) -> Turn:
        """Return when it is the client's turn. Raise Crowded."""
        if client not in self._queues and self._admits(client):
            self._running[client] += 1
            return Turn(self, client)
        if len(self._queues.get(client, ())) >= self.waiting_each:  # guard: waiting-each
            raise Crowded(by_client=True)
        if self.waits >= self.waiting:  # guard: waiting-all
            raise Crowded(by_client=False)
        await self._wait(client)
        return Turn(self, client)

    def _admits(self, client: str) -> bool:
        # guard: at-once-each
        return self._running.total() < self.at_once and self._running[client] < self.at_once_each

    async def _wait(self, client: str) -> None:
        called = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(called)
        try:
            await called
        except asyncio.CancelledError:
            if called.cancelled():
                self._forget(client, called)
            else:  # called and cancelled at the same time
                self._leave(client)
            raise

    def _leave(self, client: str) -> None:
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        self._call_next()

    def _call_next(self) -> None:
        """Give every free turn to the client that has waited longest since its last one."""
        for client in list(self._queues):
            if self._admits(client):
                called = self._queues[client].popleft()
                self._running[client] += 1
                self._queues.move_to_end(client)  # guard: clients-take-turns
                self._drop_if_empty(client)
                called.set_result(None)

    def _forget(self, client: str, called: "asyncio.Future[None]") -> None:
        self._queues[client].remove(called)
        self._drop_if_empty(client)

    def _drop_if_empty(self, client: str) -> None:
        if not self._queues[client]:
            del self._queues[client]
