"""Counts today's requests to each address block, over all processes."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from registry.store.unit_of_work import Store


async def count_requests(
    store: Store, requests: Mapping[str, int], blocks: Collection[str], *, now: datetime
) -> dict[str, int]:
    """Add the `requests`, by block, to today's (UTC); return today's sums of those blocks and of `blocks`.

    It runs in a transaction of its own that touches nothing else: `record` never waits for it. Raise StoreUnavailable;
    then the requests were not counted, or, when only the answer was lost, a retry counts them again.
    """
    day = now.astimezone(UTC).date()
    async with store.begin() as uow:
        sums = await uow.blocks.of(day, blocks) if blocks else {}
        if requests:
            sums |= await uow.blocks.add(day, requests)
            await uow.blocks.forget(day)
    return sums
