"""Gives committed events their places in the change feed (docs/adr/0030). Any process may call it, at any time."""

from registry.store.feed import SEQUENCED_AT_ONCE
from registry.store.feed import FeedState as FeedState  # interfaces name it
from registry.store.unit_of_work import Store


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
