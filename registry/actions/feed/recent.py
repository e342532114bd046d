"""Reads the latest events of the change feed, for readers that look at it now and then and keep no place."""

from collections.abc import Collection
from dataclasses import dataclass

from registry.actions.feed import cursors, reading
from registry.core.changes.kinds import Types
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.store.feed import FeedEvent as FeedEvent  # interfaces name it
from registry.store.feed import Place
from registry.store.unit_of_work import Store

_END = 2**62
"""A place after all others."""


@dataclass(frozen=True, slots=True)
class RecentPage:
    """Events, the latest first. `older`: the cursor of the page of older ones; None when there are none."""

    events: tuple[FeedEvent, ...]
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
    may be none. Raise cursors.InvalidCursor, and StoreUnavailable.
    """
    before = _END if cursor is None else cursors.decode(cursor, types).seq
    await reading.pulse(store)
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
    return RecentPage(tuple(shown), cursors.encode(Place(shown[-1].seq, shown[-1].event_id), types))
