"""Bounds concurrent work, in all and per client; waiting clients take turns.

In one common queue, a client with a hundred requests would delay all others by a hundred requests. Here it delays them
by one. For one event loop.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import NamedTuple


class QueueFull(Exception):
    """Too much work waits already: of this client (`by_client`), or in all."""

    def __init__(self, *, by_client: bool) -> None:
        super().__init__("too much of this client is waiting" if by_client else "too much is waiting")
        self.by_client = by_client


@dataclass(slots=True, eq=False)
class Turn:
    """The right to do one thing now, until `close`."""

    _turns: "Turns"
    _client: str
    _host: str | None = None
    _closed: bool = False

    def close(self) -> None:
        """Let the next one begin. Further calls do nothing."""
        if not self._closed:
            self._closed = True
            self._turns._leave(self._client, self._host)


class _Waiting(NamedTuple):
    called: "asyncio.Future[None]"
    host: str | None


@dataclass(slots=True, eq=False)
class Turns:
    """Grants `at_once` turns in all and `at_once_each` per client; `waiting` and `waiting_each` may wait.

    A turn may be about a host, whose documents decide how long it takes. Each host has one turn at a time, and such
    turns leave one free for others if there are at least two.
    """

    at_once: int
    at_once_each: int
    waiting: int
    waiting_each: int
    _running: Counter[str] = field(default_factory=Counter)
    _hosts: Counter[str] = field(default_factory=Counter)
    _queues: "OrderedDict[str, deque[_Waiting]]" = field(default_factory=OrderedDict)

    @property
    def taken(self) -> int:
        """Return how many turns are taken now."""
        return self._running.total()

    @property
    def waits(self) -> int:
        """Return how many callers wait for a turn now."""
        return sum(map(len, self._queues.values()))

    async def take(self, client: str, host: str | None = None) -> Turn:
        """Wait for the client's turn and return it; `host`: the host that the work is about, if any. Raise
        QueueFull."""
        if client not in self._queues and self._admits(client, host):
            self._enter(client, host)
            return Turn(self, client, host)
        if len(self._queues.get(client, ())) >= self.waiting_each:  # guard: waiting-each
            raise QueueFull(by_client=True)
        if self.waits >= self.waiting:  # guard: waiting-all
            raise QueueFull(by_client=False)
        await self._wait(client, host)
        return Turn(self, client, host)

    def _admits(self, client: str, host: str | None) -> bool:
        # guard: at-once-each
        if self._running.total() >= self.at_once or self._running[client] >= self.at_once_each:
            return False
        # guard: at-once-of-hosts
        return host is None or (not self._hosts[host] and self._hosts.total() < max(1, self.at_once - 1))

    def _enter(self, client: str, host: str | None) -> None:
        self._running[client] += 1
        if host is not None:
            self._hosts[host] += 1

    async def _wait(self, client: str, host: str | None) -> None:
        called = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(_Waiting(called, host))
        try:
            await called
        except asyncio.CancelledError:
            if called.cancelled():
                self._forget(client, called)
            else:  # called and cancelled at the same time
                self._leave(client, host)
            raise

    def _leave(self, client: str, host: str | None) -> None:
        self._running[client] -= 1
        self._running += Counter()  # drops zeros
        if host is not None:
            self._hosts[host] -= 1
            self._hosts += Counter()
        self._call_next()

    def _call_next(self) -> None:
        """Give every free turn to the client that has waited longest since its last one."""
        for client in list(self._queues):
            first = self._queues[client][0]
            if self._admits(client, first.host):
                self._queues[client].popleft()
                self._enter(client, first.host)
                self._queues.move_to_end(client)  # guard: clients-take-turns
                self._drop_if_empty(client)
                first.called.set_result(None)

    def _forget(self, client: str, called: "asyncio.Future[None]") -> None:
        self._queues[client] = deque(item for item in self._queues[client] if item.called is not called)
        self._drop_if_empty(client)

    def _drop_if_empty(self, client: str) -> None:
        if not self._queues[client]:
            del self._queues[client]
