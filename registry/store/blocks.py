"""Repository of what each block of addresses was asked today."""

from collections.abc import Collection, Mapping
from datetime import date
from typing import Final

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.tables import BlockDayRow

_AT_ONCE: Final = 1_000

# Rows are locked in the order of their blocks, by whatever process: so two of them never wait in a circle.
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
# What a crash can lose is a few seconds of a count: not worth the wait for a disk.
_HURRY = text("SET LOCAL synchronous_commit = off")


class Blocks:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, day: date, made: Mapping[str, int]) -> dict[str, int]:
        """Adds requests by block; gives the sums of these blocks. Has to be alone in its transaction."""
        await self._connection.execute(_HURRY)
        bound = {"day": day, "blocks": list(made), "requests": list(made.values())}
        return dict((await self._connection.execute(_ADD, bound)).all())

    async def of(self, day: date, blocks: Collection[str]) -> dict[str, int]:
        """The sums of these blocks; those without any are left out."""
        row = BlockDayRow
        statement = select(row.block, row.requests).where(row.day == day, row.block.in_(list(blocks)))
        return dict((await self._connection.execute(statement)).all())

    async def forget(self, before: date) -> None:
        """Some rows of earlier days."""
        await self._connection.execute(_FORGET, {"day": before, "most": _AT_ONCE})
