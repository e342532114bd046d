"""The change feed: gives committed events their place (docs/adr/0030), and reads events by place or the latest first.

Any process may give places at any time. Pages, streams, web hooks and dumps read the feed here. A cursor is a place and
its filter as opaque text. It holds the id of the last event, not only its number: after a restore from a backup, other
events have the same numbers.
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
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
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
    """Return the event of a changed owner setting, without its value: a deleted note must be gone.

    `member`: name of the setting in the service answer.
    """
    return ChangeRecord(domain, host, "ownership.changed", now, {"state": "proven", "changed": [member]})


def repinned(domain: str, hosts: Iterable[str], now: datetime) -> list[ChangeRecord]:
    """Return the events of hosts whose canonical host changed."""
    return [changed(domain, host, "canonical_host", now) for host in hosts]


def ended(claim: ClaimRecord, reason: EndReason, now: datetime) -> ChangeRecord:
    data = {"state": "ended", "scope": claim.scope, "reason": reason}
    return ChangeRecord(claim.domain, claim.host, "ownership.ended", now, data)


async def sequence(store: Store) -> int:
    """Give all committed events a place, in short transactions; return how many got one.

    Return at once if no event waits, or if another process is doing it. An interrupted call is continued by the next
    one. Raise StoreUnavailable.
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
    """Return the ends of the feed and the number of events without a place. Raise StoreUnavailable."""
    async with store.read() as uow:
        return await uow.feed.state()


MAX_LIMIT: Final = 1_000
"""Maximum number of events in a page."""


class ExpiredCursor(Exception):
    """Some events after the cursor were deleted, or a restore came in between: the client must load a dump.

    `ends`: current ends of the feed.
    """

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


async def page(store: Store, after: Place | int | None = None, types: Types = ALL, limit: int = 100) -> EventPage:
    """Return the events after a place, or from the oldest on if None. Give waiting events their place first.

    A reader that follows the pages gets every committed event exactly once, in an order that never changes; the events
    of a host are in the order in which they happened. A page may be empty although `has_more`.

    Raise ExpiredCursor and StoreUnavailable.
    """
    await sequence(store)
    async with store.read() as uow:
        stretch = await uow.feed.after(after.seq if isinstance(after, Place) else after, types.kinds, limit=limit)
    if after is not None and not _is_kept(after, stretch):
        raise ExpiredCursor(stretch.ends)
    place = stretch.end
    return EventPage(stretch.events, place, encode(place, types), place.seq < stretch.ends.latest.seq, stretch.ends)


async def latest(store: Store, types: Types = ALL) -> EventPage:
    """Return an empty page whose cursor is the current end of the feed. Raise StoreUnavailable."""
    await sequence(store)
    async with store.read() as uow:
        ends = (await uow.feed.state()).ends
    return EventPage((), ends.latest, encode(ends.latest, types), False, ends)


async def pulse(store: Store) -> int:
    """Give events their places and return the latest place. Costs one query if nothing has happened."""
    async with store.read() as uow:
        seq, has_unsequenced = await uow.feed.pulse()
    if has_unsequenced:
        seq += await sequence(store)
    return seq


def _is_kept(after: Place | int, stretch: Stretch) -> bool:
    """Return whether the place belongs to this feed and all events after it are stored."""
    seq = after if isinstance(after, int) else after.seq
    is_within = stretch.ends.pruned.seq <= seq <= stretch.ends.latest.seq
    return is_within and (isinstance(after, int) or after == stretch.after)  # guard: feed-place-checked


_END = 2**62
"""A place after all others."""


@dataclass(frozen=True, slots=True)
class RecentPage:
    """Events, the latest first. `older`: cursor of the next, older page, or None."""

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

    `below`: only events of these hosts and the hosts below them. `only`: only events of exactly these hosts; an empty
    collection gives no events. Raise InvalidCursor and StoreUnavailable.
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
