"""Waits for hosts to be recorded: one listening connection per process, for any number of waiters."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Final, Self

import psycopg

from registry.store.engine import ANSWER_SECONDS, connect, session_conninfo
from registry.store.ledger import RECORDED
from registry.store.unit_of_work import Store

RECONNECT_SECONDS: Final = 1.0


class RecordedListener:
    """Listens for recorded hosts, from the first call of `wait` on. An async context manager."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def wait(self, domain: str, host: str, *, since: datetime, seconds: float) -> bool:
        """Wait at most `seconds`; return whether a visit of the host was recorded since `since`."""
        if self._task is None:
            self._task = asyncio.create_task(self._listen())
        event, deadline = asyncio.Event(), asyncio.get_running_loop().time() + seconds
        self._waiting[host].add(event)
        try:
            while True:
                is_listening = await _is_set_by(deadline, self._listening)
                event.clear()
                # Look up after listening began: earlier recordings are found here, later ones set the event.
                if await self._is_recorded(domain, host, since):
                    return True
                if not is_listening or not await _is_set_by(deadline, event):
                    return False
        finally:
            self._waiting[host].discard(event)
            if not self._waiting[host]:
                del self._waiting[host]

    async def _is_recorded(self, domain: str, host: str, since: datetime) -> bool:
        async with self._store.begin() as uow:
            known = await uow.hosts.get(domain, host)
        return known is not None and known.last_visit_at is not None and known.last_visit_at >= since

    async def _listen(self) -> None:
        """Listen until cancelled. A lost connection wakes all waiters, because it loses notifications."""
        while True:
            with suppress(psycopg.Error, OSError):
                conninfo = session_conninfo(self._store.engine)
                async with await connect(
                    conninfo, name="waypost listen", answer_seconds=ANSWER_SECONDS, autocommit=True
                ) as connection:
                    await connection.execute(f"LISTEN {RECORDED}")
                    self._listening.set()
                    async for notice in connection.notices():
                        self._wake(self._waiting.get(notice.payload, ()))
            self._listening.clear()
            self._wake(event for events in self._waiting.values() for event in events)
            await asyncio.sleep(RECONNECT_SECONDS)

    @staticmethod
    def _wake(events: Iterable[asyncio.Event]) -> None:
        for event in list(events):
            event.set()


async def _is_set_by(deadline: float, event: asyncio.Event) -> bool:
    """Return whether the event is set until `deadline`, in seconds of the event loop's clock. Cut off only this wait: a
    look-up that is cancelled while it connects would leave its connection open."""
    with suppress(TimeoutError):
        async with asyncio.timeout_at(deadline):
            await event.wait()
    return event.is_set()
