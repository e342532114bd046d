"""What blocks of addresses were asked today, summed up over all processes."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from registry.store.unit_of_work import Store


async def spend(store: Store, made: Mapping[str, int], of: Collection[str], *, now: datetime) -> dict[str, int]:
    """Adds the requests `made`, by block, to today's (UTC); gives today's sums of those blocks and of the blocks `of`.

    A transaction of its own that touches nothing else: `record` never waits for it. Raises StoreUnavailable; then
    the requests were not counted, or, where only the answer was lost, are counted again by the next attempt.
    """
    day = now.astimezone(UTC).date()
    async with store.begin() as uow:
        sums = await uow.blocks.of(day, of) if of else {}
        if made:
            sums |= await uow.blocks.add(day, made)
            await uow.blocks.forget(day)
    return sums
