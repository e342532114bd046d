"""Reads the change feed by place. Every delivery (pages, streams, web hooks, dumps) reads it here."""

from dataclasses import dataclass
from typing import Final

from registry.actions.feed.cursors import encode
from registry.actions.feed.sequencing import sequence
from registry.core.changes.kinds import ALL, Types
from registry.store.feed import BEGINNING as BEGINNING  # interfaces name it
from registry.store.feed import Ends, Stretch
from registry.store.feed import FeedEvent as FeedEvent  # interfaces name it
from registry.store.feed import FeedState as FeedState  # interfaces name it
from registry.store.feed import Place as Place  # interfaces name it
from registry.store.unit_of_work import Store

MAX_LIMIT: Final = 1_000
"""Maximum number of events in a page."""


class CursorExpired(Exception):
    """The events after the cursor are not all kept, or it was made before a restore: begin with a dump again.

    `ends`: of the feed now.
    """

    def __init__(self, ends: Ends) -> None:
        super().__init__("the events after this cursor are no longer kept")
        self.ends = ends


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Events in order. `place`, `cursor`: where the next page begins. `has_more`: it is not empty, or may not be."""

    events: tuple[FeedEvent, ...]
    place: Place
    cursor: str
    has_more: bool
    ends: Ends


async def page(store: Store, after: Place | int | None = None, types: Types = ALL, limit: int = 100) -> FeedPage:
    """Return the events after a place; after None, from the oldest that is kept. Events get their place first.

    Every committed event is returned exactly once to a reader that goes from page to page, in an order that never
    changes. The events of a host are in the order in which they happened. A page may be empty although `has_more`.

    Raise CursorExpired, and StoreUnavailable.
    """
    await sequence(store)
    async with store.read() as uow:
        stretch = await uow.feed.after(after.seq if isinstance(after, Place) else after, types.kinds, limit=limit)
    if after is not None and not _is_kept(after, stretch):
        raise CursorExpired(stretch.ends)
    place = stretch.end
    return FeedPage(stretch.events, place, encode(place, types), place.seq < stretch.ends.latest.seq, stretch.ends)


async def latest(store: Store, types: Types = ALL) -> FeedPage:
    """Return an empty page at the end of the feed: its cursor leads to the events that come. Raise StoreUnavailable."""
    await sequence(store)
    async with store.read() as uow:
        ends = (await uow.feed.state()).ends
    return FeedPage((), ends.latest, encode(ends.latest, types), False, ends)


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
