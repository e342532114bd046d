"""Repository of the requests made to each address block per day."""

from collections.abc import Collection, Mapping
from datetime import date
from typing import Final

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.tables import BlockDayRow

_AT_ONCE: Final = 1_000

# Every process locks rows in the order of their blocks, so that two of them cannot deadlock.
_ADD = text("""
INSERT INTO block_days (day, block, requests)
SELECT CAST(:day AS date), block, requests
FROM unnest(CAST(:blocks AS text[]), CAST(:requests AS bigint[])) AS made (block, requests) ORDER BY block
ON CONFLICT (day, block) DO UPDATE SET requests = block_days.requests + excluded.requests
RETURNING block, requests
""")
_FORGET = text("""
DELETE FROM block_days WHERE (day, block) IN (
    SELECT day, block FROM block_days WHERE day < :day ORDER BY day, block LIMIT :most FOR UPDATE SKIP LOCKED)
""")
# A crash can lose a few seconds of a count: not worth waiting for the disk.
_ASYNC_COMMIT = text("SET LOCAL synchronous_commit = off")


class Blocks:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, day: date, requests: Mapping[str, int]) -> dict[str, int]:
        """Add requests by block; return the sums of these blocks. Must be alone in its transaction."""
        await self._connection.execute(_ASYNC_COMMIT)
        bound = {"day": day, "blocks": list(requests), "requests": list(requests.values())}
        return dict((await self._connection.execute(_ADD, bound)).all())

    async def of(self, day: date, blocks: Collection[str]) -> dict[str, int]:
        """Return the sums of these blocks; blocks without requests are left out."""
        row = BlockDayRow
        statement = select(row.block, row.requests).where(row.day == day, row.block.in_(list(blocks)))
        return dict((await self._connection.execute(statement)).all())

    async def forget(self, before: date) -> None:
        """Delete some rows of earlier days."""
        await self._connection.execute(_FORGET, {"day": before, "most": _AT_ONCE})
