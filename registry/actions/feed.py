"""The change feed: gives committed events their place (docs/adr/0030), and reads events by place or the latest first.

Any process may give places at any time. Pages, streams, web hooks and dumps read the feed here. A cursor is a place and
its filter as opaque text. It holds the id of the last event, not only its number: after a restore from a backup, other
events have the same numbers.
"""

import asyncio
import base64
import contextlib
import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, Literal
from uuid import UUID

import structlog

from registry.actions import call_of
from registry.core.access.claims import EndReason
from registry.core.changes.kinds import ALL, Types
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.outages import log_failure
from registry.store.claims import ClaimRecord
from registry.store.engine import StoreUnavailable
from registry.store.feed import SEQUENCED_AT_ONCE, Ends
from registry.store.feed import FeedRow as FeedRow  # interfaces name it
from registry.store.feed import Place as Place  # interfaces name it
from registry.store.records import ChangeRecord
from registry.store.unit_of_work import Store

POLL_SECONDS: Final = 0.5
"""How often the database is asked for new events while readers wait: once for all readers of this process."""

_BACK_OFF_SECONDS: Final = 5.0

CURSOR_CHARS: Final = 40
_VERSION: Final = b"\x01"
_FILTER_BYTES: Final = 8
_BYTES: Final = len(_VERSION) + 16 + _FILTER_BYTES
_PLACE_BITS: Final = 40  # of an event's id, see store/feed.py

log = structlog.get_logger(__name__)


class InvalidCursor(ValueError):
    """The text is not a cursor, or belongs to another filter. The message says which, and never echoes the text."""


def encode(place: Place, types: Types) -> str:
    """Return the cursor after this place."""
    return base64.urlsafe_b64encode(_VERSION + place.event_id.bytes + _filter(types)).rstrip(b"=").decode()


def decode(cursor: str, types: Types) -> Place:
    """Return the place of a cursor. Raise InvalidCursor unless `encode` made it for the same filter."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise InvalidCursor("it was not made by this registry") from None
    if len(raw) != _BYTES or not raw.startswith(_VERSION):
        raise InvalidCursor("it was not made by this registry")
    event_id, own_filter = UUID(bytes=raw[1:17]), raw[17:]
    if own_filter != _filter(types):
        raise InvalidCursor("it belongs to another value of `types`")
    return Place(event_id.int & ((1 << _PLACE_BITS) - 1), event_id)


def _filter(types: Types) -> bytes:
    return hashlib.sha256(",".join(types.patterns).encode()).digest()[:_FILTER_BYTES]


def proven(claim: ClaimRecord, now: datetime) -> ChangeRecord:
    data = {"state": "proven", "method": claim.method, "scope": claim.scope}
    return ChangeRecord(claim.domain, claim.host, "ownership.proven", now, data)


def changed(domain: str, host: str, member: Literal["owner_note", "canonical_host"], now: datetime) -> ChangeRecord:
    """Return the event of a changed owner setting, without its value: a deleted note must be gone. `member`: name of
    the setting in the service answer."""
    return ChangeRecord(domain, host, "ownership.changed", now, {"state": "proven", "changed": [member]})


def repinned(domain: str, hosts: Iterable[str], now: datetime) -> list[ChangeRecord]:
    """Return the events of hosts whose canonical host changed."""
    return [changed(domain, host, "canonical_host", now) for host in hosts]


def ended(claim: ClaimRecord, reason: EndReason, now: datetime) -> ChangeRecord:
    data = {"state": "ended", "scope": claim.scope, "reason": reason}
    return ChangeRecord(claim.domain, claim.host, "ownership.ended", now, data)


async def sequence(store: Store) -> int:
    """Give all committed events a place, in short transactions; return how many got one. Return at once if no event
    waits, or if another process is doing it. An interrupted call is continued by the next one. Raise
    StoreUnavailable."""
    async with store.read() as uow:
        _, has_unsequenced = await uow.feed.pulse()
    numbered = 0
    while has_unsequenced:
        async with store.begin() as uow:
            batch = await uow.feed.sequence()
        numbered += batch
        has_unsequenced = batch == SEQUENCED_AT_ONCE
    return numbered


MAX_LIMIT: Final = 1_000  # maximum number of events in a page


class ExpiredCursor(Exception):
    """Some events after the cursor were deleted, or a restore came in between: the client must load a dump. `ends`:
    current ends of the feed."""

    def __init__(self, ends: Ends) -> None:
        super().__init__("the events after this cursor are no longer kept")
        self.ends = ends


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in order. `place`, `cursor`: where the next page begins. `has_more`: the next page may have events."""

    events: tuple[FeedRow, ...]
    place: Place
    cursor: str
    has_more: bool
    ends: Ends


async def pulse(store: Store) -> int:
    """Give events their places and return the latest place. Costs one query if nothing has happened."""
    async with store.read() as uow:
        seq, has_unsequenced = await uow.feed.pulse()
    if has_unsequenced:
        seq += await sequence(store)
    return seq


_END = 2**62  # a place after all others


@dataclass(frozen=True, slots=True)
class RecentPage:
    """Events, the latest first. `older`: cursor of the next, older page, or None."""

    events: tuple[FeedRow, ...]
    older: str | None


class FeedActions:
    """Reads the change feed, gives events their places, and waits for the next event."""

    state = call_of(lambda uow: uow.feed.state, Store.read)

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shared: dict[tuple[Place, Types, int], asyncio.Task[EventPage]] = {}
        self._news = asyncio.Event()
        self._ended = asyncio.Event()
        self._waiting = 0
        self._latest = 0
        self._poller: asyncio.Task[None] | None = None

    async def shared_page(self, after: Place, types: Types, limit: int) -> EventPage:
        """Return `page`; concurrent calls with equal arguments share one query and its page. Events wake all waiting
        readers at the same time, most of them at the same place."""
        key = (after, types, limit)
        task = self._shared.get(key)
        if task is None:
            task = self._shared[key] = asyncio.create_task(self.page(*key))
            task.add_done_callback(partial(self._forget, key))
        return await asyncio.shield(task)

    def _forget(self, key: tuple[Place, Types, int], task: asyncio.Task[EventPage]) -> None:
        del self._shared[key]
        if not task.cancelled():
            task.exception()  # mark as seen, even if all callers have left

    async def sequence(self) -> int:
        return await sequence(self._store)

    async def wait(self, after: Place, seconds: float) -> bool:
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
                latest = await pulse(self._store)
                if latest != self._latest:  # lower after a restore, so waiting readers must look again
                    self._latest = latest
                    self._news.set()
                    if not self._ended.is_set():
                        self._news = asyncio.Event()
            except StoreUnavailable as error:
                log_failure(log, "feed.unavailable", error)
                pause = _BACK_OFF_SECONDS
            await asyncio.sleep(pause)
        self._poller = None

    async def page(self, after: Place | int | None = None, types: Types = ALL, limit: int = 100) -> EventPage:
        """Return the events after a place, or from the oldest on if None. Give waiting events their place first.

        A reader that follows the pages gets every committed event exactly once, in an order that never changes; the
        events of a host are in the order in which they happened. A page may be empty although `has_more`.

        Raise ExpiredCursor and StoreUnavailable.
        """
        await sequence(self._store)
        async with self._store.read() as uow:
            stretch = await uow.feed.after(after.seq if isinstance(after, Place) else after, types.kinds, limit=limit)
        if after is not None:
            seq = after if isinstance(after, int) else after.seq
            is_kept = stretch.ends.pruned.seq <= seq <= stretch.ends.latest.seq
            is_kept = is_kept and (isinstance(after, int) or after == stretch.after)  # guard: feed-place-checked
            if not is_kept:
                raise ExpiredCursor(stretch.ends)
        place = stretch.end
        return EventPage(stretch.events, place, encode(place, types), place.seq < stretch.ends.latest.seq, stretch.ends)

    async def latest(self, types: Types = ALL) -> EventPage:
        """Return an empty page whose cursor is the current end of the feed. Raise StoreUnavailable."""
        await sequence(self._store)
        async with self._store.read() as uow:
            ends = (await uow.feed.state()).ends
        return EventPage((), ends.latest, encode(ends.latest, types), False, ends)

    async def recent(
        self,
        types: Types,
        *,
        below: Collection[str] = (),
        only: Collection[str] | None = None,
        cursor: str | None = None,
        limit: int,
    ) -> RecentPage:
        """Return the latest events, or those before a cursor. `below`: only events of these hosts and the hosts below
        them. `only`: only events of exactly these hosts; an empty collection gives no events. Raise InvalidCursor and
        StoreUnavailable."""
        before = _END if cursor is None else decode(cursor, types).seq
        await pulse(self._store)
        if only is not None and below:
            only = [host for host in only if is_covered(host, below)]
        hosts = only if only is not None else below
        async with self._store.read() as uow:
            if only is None and not below:
                before = min(before, (await uow.feed.pulse())[0] + 1)
                events = await uow.feed.latest_of_all(before, types.kinds, limit=limit + 1)
            else:
                domains = sorted({registrable_domain(host) for host in hosts})
                events = await uow.feed.latest_of_hosts(
                    before, types.kinds, domains, hosts, below=only is None, limit=limit + 1
                )
        shown = events[:limit]
        if len(events) <= limit:
            return RecentPage(tuple(shown), None)
        return RecentPage(tuple(shown), encode(Place(shown[-1].seq, shown[-1].event_id), types))
