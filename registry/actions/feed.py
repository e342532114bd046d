"""Cursors of the change feed: a place and the filter that it was read with, as opaque text.

A cursor holds the id of the last event that was looked at, not only its number: after a restore from a backup, other
events have the same numbers.

Makes the events of ownerships. They name what an owner sets without its value: a note that is deleted is gone.

Reads the change feed by place. Every delivery (pages, streams, web hooks, dumps) reads it here.

Reads the latest events of the change feed, for readers that look at it now and then and keep no place.

Gives committed events their places in the change feed (docs/adr/0030). Any process may call it, at any time.
"""

import base64
import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from registry.core.access.claims import EndReason
from registry.core.changes.kinds import ALL, Types
from registry.core.names.authority import is_covered
from registry.core.names.domains import registrable_domain
from registry.store.claims import ClaimRecord
from registry.store.feed import BEGINNING as BEGINNING  # interfaces name it
from registry.store.feed import SEQUENCED_AT_ONCE, Ends, Stretch
from registry.store.feed import FeedRow as FeedRow  # interfaces name it
from registry.store.feed import FeedState as FeedState  # interfaces name it
from registry.store.feed import Place as Place  # interfaces name it
from registry.store.records import ChangeRecord
from registry.store.unit_of_work import Store

CURSOR_CHARS: Final = 40
_VERSION: Final = b"\x01"
_FILTER_BYTES: Final = 8
_BYTES: Final = len(_VERSION) + 16 + _FILTER_BYTES
_PLACE_BITS: Final = 40  # of an event's id, see store/feed.py


class InvalidCursor(ValueError):
    """The text is no cursor, or belongs to another filter. The message says which, and repeats nothing."""


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
    """Return the event of a setting of the host. `member`: its name in the answer about the service."""
    return ChangeRecord(domain, host, "ownership.changed", now, {"state": "proven", "changed": [member]})


def repinned(domain: str, hosts: Iterable[str], now: datetime) -> list[ChangeRecord]:
    """Return the events of hosts that another canonical host stands for now, or none."""
    return [changed(domain, host, "canonical_host", now) for host in hosts]


def ended(claim: ClaimRecord, reason: EndReason, now: datetime) -> ChangeRecord:
    data = {"state": "ended", "scope": claim.scope, "reason": reason}
    return ChangeRecord(claim.domain, claim.host, "ownership.ended", now, data)


async def sequence(store: Store) -> int:
    """Give all committed events a place, in short transactions; return how many got one.

    Return at once when there are none, or while another process does it. Interrupted at any point, the next call
    continues. Raise StoreUnavailable.
    """
    async with store.read() as uow:
        _, has_unsequenced = await uow.feed.pulse()
    numbered = 0
    while has_unsequenced:
        async with store.begin() as uow:
            batch = await uow.feed.sequence()
        numbered += batch
        has_unsequenced = batch == SEQUENCED_AT_ONCE
    return numbered


async def state(store: Store) -> FeedState:
    """Return the ends of the feed, and how many events wait for their place. Raise StoreUnavailable."""
    async with store.read() as uow:
        return await uow.feed.state()


MAX_LIMIT: Final = 1_000
"""Maximum number of events in a page."""


class ExpiredCursor(Exception):
    """The events after the cursor are not all kept, or it was made before a restore: begin with a dump again.

    `ends`: of the feed now.
    """

    def __init__(self, ends: Ends) -> None:
        super().__init__("the events after this cursor are no longer kept")
        self.ends = ends


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in order. `place`, `cursor`: where the next page begins. `has_more`: it is not empty, or may not be."""

    events: tuple[FeedRow, ...]
    place: Place
    cursor: str
    has_more: bool
    ends: Ends


async def page(store: Store, after: Place | int | None = None, types: Types = ALL, limit: int = 100) -> EventPage:
    """Return the events after a place; after None, from the oldest that is kept. Events get their place first.

    Every committed event is returned exactly once to a reader that goes from page to page, in an order that never
    changes. The events of a host are in the order in which they happened. A page may be empty although `has_more`.

    Raise CursorExpired, and StoreUnavailable.
    """
    await sequence(store)
    async with store.read() as uow:
        stretch = await uow.feed.after(after.seq if isinstance(after, Place) else after, types.kinds, limit=limit)
    if after is not None and not _is_kept(after, stretch):
        raise ExpiredCursor(stretch.ends)
    place = stretch.end
    return EventPage(stretch.events, place, encode(place, types), place.seq < stretch.ends.latest.seq, stretch.ends)


async def latest(store: Store, types: Types = ALL) -> EventPage:
    """Return an empty page at the end of the feed: its cursor leads to the events that come. Raise StoreUnavailable."""
    await sequence(store)
    async with store.read() as uow:
        ends = (await uow.feed.state()).ends
    return EventPage((), ends.latest, encode(ends.latest, types), False, ends)


async def pulse(store: Store) -> int:
    """Give events their places; return the latest place. Cheap: one query when nothing has happened."""
    async with store.read() as uow:
        seq, has_unsequenced = await uow.feed.pulse()
    if has_unsequenced:
        seq += await sequence(store)
    return seq


def _is_kept(after: Place | int, stretch: Stretch) -> bool:
    """Return whether all events after the place are stored, and the place is one of this feed."""
    seq = after if isinstance(after, int) else after.seq
    is_within = stretch.ends.pruned.seq <= seq <= stretch.ends.latest.seq
    return is_within and (isinstance(after, int) or after == stretch.after)  # guard: feed-place-checked


_END = 2**62
"""A place after all others."""


@dataclass(frozen=True, slots=True)
class RecentPage:
    """Events, the latest first. `older`: the cursor of the page of older ones; None when there are none."""

    events: tuple[FeedRow, ...]
    older: str | None


async def recent(
    store: Store,
    types: Types,
    *,
    below: Collection[str] = (),
    only: Collection[str] | None = None,
    cursor: str | None = None,
    limit: int,
) -> RecentPage:
    """Return the latest events, or those before a cursor.

    `below`: only events of these hosts and of all hosts below them. `only`: only events of exactly these hosts, which
    may be none. Raise InvalidCursor, and StoreUnavailable.
    """
    before = _END if cursor is None else decode(cursor, types).seq
    await pulse(store)
    if only is not None and below:
        only = [host for host in only if is_covered(host, below)]
    hosts = only if only is not None else below
    async with store.read() as uow:
        if only is None and not below:
            before = min(before, (await uow.feed.pulse())[0] + 1)
            events = await uow.recent.of_all(before, types.kinds, limit=limit + 1)
        else:
            domains = sorted({registrable_domain(host) for host in hosts})
            events = await uow.recent.of_hosts(before, types.kinds, domains, hosts, below=only is None, limit=limit + 1)
    shown = events[:limit]
    if len(events) <= limit:
        return RecentPage(tuple(shown), None)
    return RecentPage(tuple(shown), encode(Place(shown[-1].seq, shown[-1].event_id), types))
