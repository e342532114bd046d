"""The change feed: read it, give events their places, and wait for the next event."""

import asyncio
import contextlib
from collections.abc import Collection
from functools import partial
from typing import Final

import structlog

from registry.actions import feed
from registry.core.changes.kinds import ALL, Types
from registry.store.engine import StoreUnavailable
from registry.store.unit_of_work import Store

POLL_SECONDS: Final = 0.5
"""How often the database is asked for new events while readers wait: once for all readers of this process."""

_BACK_OFF_SECONDS: Final = 5.0

log = structlog.get_logger(__name__)


class FeedActions:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._shared: dict[tuple[feed.Place, Types, int], asyncio.Task[feed.EventPage]] = {}
        self._news = asyncio.Event()
        self._ended = asyncio.Event()
        self._waiting = 0
        self._latest = 0
        self._poller: asyncio.Task[None] | None = None

    async def page(self, after: feed.Place | int | None = None, types: Types = ALL, limit: int = 100) -> feed.EventPage:
        return await feed.page(self._store, after, types, limit)

    async def shared_page(self, after: feed.Place, types: Types, limit: int) -> feed.EventPage:
        """Return `page`; concurrent calls with equal arguments share one query and its page.

        Events wake all waiting readers at the same time, most of them at the same place.
        """
        key = (after, types, limit)
        task = self._shared.get(key)
        if task is None:
            task = self._shared[key] = asyncio.create_task(self.page(*key))
            task.add_done_callback(partial(self._forget, key))
        return await asyncio.shield(task)

    def _forget(self, key: tuple[feed.Place, Types, int], task: asyncio.Task[feed.EventPage]) -> None:
        del self._shared[key]
        if not task.cancelled():
            task.exception()  # mark as seen, even if all callers have left

    async def latest(self, types: Types = ALL) -> feed.EventPage:
        return await feed.latest(self._store, types)

    async def state(self) -> feed.FeedState:
        return await feed.state(self._store)

    async def sequence(self) -> int:
        return await feed.sequence(self._store)

    async def recent(
        self,
        types: Types,
        *,
        below: Collection[str] = (),
        only: Collection[str] | None = None,
        cursor: str | None = None,
        limit: int,
    ) -> feed.RecentPage:
        return await feed.recent(self._store, types, below=below, only=only, cursor=cursor, limit=limit)

    def place(self, cursor: str, types: Types) -> feed.Place:
        """Return the place of a cursor. Raise InvalidCursor."""
        return feed.decode(cursor, types)

    async def wait(self, after: feed.Place, seconds: float) -> bool:
        """Return True once there is an event of any kind after the place; False after `seconds`, or at once if
        `end_waiting` was called."""
        deadline = asyncio.get_running_loop().time() + seconds
        self._waiting += 1
        if self._poller is None:
            self._poller = asyncio.create_task(self._poll())
        try:
            while self._latest <= after.seq and not self._ended.is_set():
                try:
                    async with asyncio.timeout_at(deadline):
                        await self._news.wait()
                except TimeoutError:
                    break
            return self._latest > after.seq and not self._ended.is_set()
        finally:
            self._waiting -= 1

    def end_waiting(self) -> None:
        """End all waits, now and later, because the server stops."""
        self._ended.set()
        self._news.set()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    async def close(self) -> None:
        self.end_waiting()
        if self._poller is not None:
            self._poller.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._poller

    async def _poll(self) -> None:
        while self._waiting and not self._ended.is_set():
            pause = POLL_SECONDS
            try:
                self._tell(await feed.pulse(self._store))
            except StoreUnavailable as error:
                log.warning("feed.unavailable", error=type(error).__name__)
                pause = _BACK_OFF_SECONDS
            await asyncio.sleep(pause)
        self._poller = None

    def _tell(self, latest: int) -> None:
        if latest != self._latest:  # lower after a restore, so waiting readers must look again
            self._latest = latest
            self._news.set()
            if not self._ended.is_set():
                self._news = asyncio.Event()
