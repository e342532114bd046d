"""Session advisory locks: they end with their process however it ends, so nobody has to clean up after it."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import psycopg
from sqlalchemy.ext.asyncio import AsyncEngine

from registry.store.domains import LEASE_LOCKS
from registry.store.engine import CONNECT_SECONDS, libpq

TARGET_LOCKS: Final = 0x77617902


@dataclass(frozen=True, slots=True)
class Hold:
    """A lock and the connection it lives on. `id` is its second key."""

    id: int
    _connection: "psycopg.AsyncConnection[tuple[object, ...]]"

    async def is_alive(self) -> bool:
        """Whether the lock is still ours; asked before anything that only its owner may do."""
        try:
            await self._connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True


@asynccontextmanager
async def hold_leases(engine: AsyncEngine) -> AsyncIterator[Hold]:
    """Entered once by a worker for its lifetime: `recover` frees the leases of holders whose lock is gone."""
    async with await _connect(engine) as connection:
        number = _draw()
        while not await _try_lock(connection, LEASE_LOCKS, number):
            number = _draw()
        try:
            yield Hold(number, connection)
        finally:
            await _unlock(connection)


@asynccontextmanager
async def hold_target(engine: AsyncEngine, target: str) -> AsyncIterator[Hold | None]:
    """The right to drain a search target; None when another process has it."""
    async with await _connect(engine) as connection:
        found = await connection.execute("SELECT hashtext(%s)", (target,))
        row = await found.fetchone()
        number = int(str(row[0])) if row else 0
        try:
            yield Hold(number, connection) if await _try_lock(connection, TARGET_LOCKS, number) else None
        finally:
            await _unlock(connection)


async def _connect(engine: AsyncEngine) -> "psycopg.AsyncConnection[tuple[object, ...]]":
    """Not from the pool: a session that lives as long as the lock, noticed dead by the server within a minute."""
    return await psycopg.AsyncConnection.connect(
        libpq(engine.url),
        autocommit=True,
        connect_timeout=CONNECT_SECONDS,
        application_name="waypost lock",
        options="-c tcp_keepalives_idle=20 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3",
    )


async def _try_lock(connection: "psycopg.AsyncConnection[tuple[object, ...]]", locks: int, number: int) -> bool:
    found = await connection.execute("SELECT pg_try_advisory_lock(%s::int, %s::int)", (locks, number))
    row = await found.fetchone()
    return row is not None and row[0] is True


async def _unlock(connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
    """The end of the session does it too, but a moment later: the next one to come would find it locked."""
    with suppress(psycopg.Error):
        await connection.execute("SELECT pg_advisory_unlock_all()")


def _draw() -> int:
    return secrets.randbelow(2**31 - 1) + 1
