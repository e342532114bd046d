"""Session advisory locks: they end with their process however it ends, so nobody has to clean up after it."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final, LiteralString

import psycopg
from sqlalchemy.ext.asyncio import AsyncEngine

from registry.store.domains import LEASE_LOCKS
from registry.store.engine import CONNECT_SECONDS, libpq
from registry.store.errors import StoreUnavailable

TARGET_LOCKS: Final = 0x77617902
JOB_LOCKS: Final = 0x77617903
LEAD: Final = "lead"
"""Beside the names of jobs: who holds it runs the schedule."""

STAND_BY_SECONDS: Final = 1.0


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

    async def until_lost(self) -> None:
        """Returns when the session has ended under us, within milliseconds where the server closed it.

        Nothing else can be asked of the hold meanwhile.
        """
        with suppress(psycopg.Error):
            async for _ in self._connection.notifies():
                pass


@asynccontextmanager
async def hold_leases(engine: AsyncEngine) -> AsyncIterator[Hold]:
    """Entered by a worker for as long as it crawls: `recover` frees the leases of holders whose lock is gone.

    Who loses it must end its visits at once, before somebody else begins the same ones. Raises StoreUnavailable.
    """
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
    """The right to drain a search target; None when another process has it. Raises StoreUnavailable."""
    async with await _connect(engine) as connection:
        number = await _number(connection, target)
        try:
            yield Hold(number, connection) if await _try_lock(connection, TARGET_LOCKS, number) else None
        finally:
            await _unlock(connection)


@asynccontextmanager
async def hold_job(engine: AsyncEngine, job: str, *, patient: bool = False) -> AsyncIterator[Hold | None]:
    """The right to run a job, or LEAD; None when another process has it. The patient wait for it, on one session.

    Raises StoreUnavailable.
    """
    async with await _connect(engine) as connection:
        number = await _number(connection, job)
        try:
            has = await _try_lock(connection, JOB_LOCKS, number)
            while patient and not has:
                await asyncio.sleep(STAND_BY_SECONDS)
                has = await _try_lock(connection, JOB_LOCKS, number)
            yield Hold(number, connection) if has else None
        finally:
            await _unlock(connection)


async def _connect(engine: AsyncEngine) -> "psycopg.AsyncConnection[tuple[object, ...]]":
    """Not from the pool: a session that lives as long as the lock.

    Over a network that has gone silent its holder notices within 20 s, the server, who frees the lock, after 50 s.
    """
    try:
        return await psycopg.AsyncConnection.connect(
            libpq(engine.url),
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="waypost lock",
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=2,
            options="-c tcp_keepalives_idle=20 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3",
        )
    except psycopg.Error as error:
        raise StoreUnavailable(f"no session for a lock: {type(error).__name__}") from error


async def _number(connection: "psycopg.AsyncConnection[tuple[object, ...]]", name: str) -> int:
    return int(str(await _ask(connection, "SELECT hashtext(%s)", name)))


async def _try_lock(connection: "psycopg.AsyncConnection[tuple[object, ...]]", locks: int, number: int) -> bool:
    return await _ask(connection, "SELECT pg_try_advisory_lock(%s::int, %s::int)", locks, number) is True


async def _ask(
    connection: "psycopg.AsyncConnection[tuple[object, ...]]", question: LiteralString, *values: object
) -> object:
    """The one value of the one row of the answer."""
    try:
        row = await (await connection.execute(question, values)).fetchone()
    except psycopg.Error as error:
        raise StoreUnavailable(f"no lock: {type(error).__name__}") from error
    return row and row[0]


async def _unlock(connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
    """The end of the session does it too, but a moment later: the next one to come would find it locked."""
    with suppress(psycopg.Error):
        await connection.execute("SELECT pg_advisory_unlock_all()")


def _draw() -> int:
    return secrets.randbelow(2**31 - 1) + 1
