"""Session advisory locks. The server releases them when their process ends for any reason."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, LiteralString, TypeAlias

import psycopg
from sqlalchemy.ext.asyncio import AsyncEngine

from registry.store.domains import LEASE_LOCKS
from registry.store.engine import CONNECT_SECONDS, StoreUnavailable, libpq, raise_cancellation

TARGET_LOCKS: Final = 0x77617902
JOB_LOCKS: Final = 0x77617903
LEAD: Final = "lead"
"""A name beside those of the jobs. The process that holds its lock runs the schedule."""

STAND_BY_SECONDS: Final = 1.0
LOCK_OPTIONS: Final = "-c tcp_keepalives_idle=20 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
"""Options of a session that holds a lock. Some poolers refuse them."""

_Connection: TypeAlias = "psycopg.AsyncConnection[tuple[object, ...]]"


@dataclass(frozen=True, slots=True)
class HeldLock:
    """An advisory lock and the connection that holds it. `id` is the second key of the lock."""

    id: int
    _connection: _Connection

    async def is_alive(self) -> bool:
        """Return whether the lock is still held. Check it before anything that only its owner may do."""
        try:
            await self._connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    async def until_lost(self) -> None:
        """Return when the session has ended; within milliseconds if the server closed it. The connection cannot be used
        for anything else meanwhile."""
        with suppress(psycopg.Error):
            async for _ in self._connection.notifies():
                pass


@asynccontextmanager
async def hold_leases(engine: AsyncEngine) -> AsyncIterator[HeldLock]:
    """Hold a lock while a worker crawls: `recover` frees the leases of holders whose lock has gone. A worker that loses
    it must stop its visits at once, before another begins the same ones. Raise StoreUnavailable."""
    async with _session(engine) as connection:
        number = 0
        while not number or not await _try_lock(connection, LEASE_LOCKS, number):
            number = secrets.randbelow(2**31 - 1) + 1
        yield HeldLock(number, connection)


@asynccontextmanager
async def hold_job(
    engine: AsyncEngine, job: str, *, patient: bool = False, locks: int = JOB_LOCKS
) -> AsyncIterator[HeldLock | None]:
    """Hold the right to run a job, or LEAD; yield None if another process has it. `patient`: wait for it instead. Raise
    StoreUnavailable."""
    async with _session(engine) as connection:
        number = int(str(await _fetch_value(connection, "SELECT hashtext(%s)", job)))
        is_held = await _try_lock(connection, locks, number)
        while patient and not is_held:
            await asyncio.sleep(STAND_BY_SECONDS)
            is_held = await _try_lock(connection, locks, number)
        yield HeldLock(number, connection) if is_held else None


hold_target: Final = partial(hold_job, locks=TARGET_LOCKS)
"""Hold the right to drain a search target; yield None if another process has it. Raise StoreUnavailable."""


@asynccontextmanager
async def _session(engine: AsyncEngine) -> AsyncIterator[_Connection]:
    """Open a session outside the pool, which lasts as long as the lock. If the network goes silent, the holder notices
    within 20 s; the server notices, and frees the lock, after 50 s."""
    try:
        connection = await psycopg.AsyncConnection.connect(
            libpq(engine.url),
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="waypost lock",
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=2,
            options=LOCK_OPTIONS,
        )
    except psycopg.Error as error:
        raise_cancellation(error)
        raise StoreUnavailable(f"no session for a lock: {type(error).__name__}") from error
    async with connection:
        try:
            yield connection
        finally:
            with suppress(psycopg.Error):  # the end of the session would release it too late for the next process
                await connection.execute("SELECT pg_advisory_unlock_all()")


async def _try_lock(connection: _Connection, locks: int, number: int) -> bool:
    return await _fetch_value(connection, "SELECT pg_try_advisory_lock(%s::int, %s::int)", locks, number) is True


async def _fetch_value(connection: _Connection, statement: LiteralString, *values: object) -> object:
    try:
        row = await (await connection.execute(statement, values)).fetchone()
    except psycopg.Error as error:
        raise_cancellation(error)
        raise StoreUnavailable(f"no lock: {type(error).__name__}") from error
    return row and row[0]
