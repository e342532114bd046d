"""Session advisory locks. The server releases them when their process ends for any reason."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, LiteralString, cast

import psycopg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from registry.store.domains import LEASE_LOCKS
from registry.store.engine import (
    WatchedConnection,
    connect,
    session_conninfo,
    shares_sessions,
    translated,
    unavailable,
)
from registry.store.primary import until_settled

CHECK_LOCKS: Final = 0x77617904
TARGET_LOCKS: Final = 0x77617902
JOB_LOCKS: Final = 0x77617903
LEAD: Final = "lead"
"""A name beside those of the jobs. The process that holds its lock runs the schedule."""

STAND_BY_SECONDS: Final = 1.0
HEARTBEAT_SECONDS: Final = 2.0
HEARTBEAT_ANSWER_SECONDS: Final = 6.0
"""Time for an answer. With HEARTBEAT_SECONDS it is less than `primary.NOTICE_SECONDS`."""
LOCK_OPTIONS: Final = "-c tcp_keepalives_idle=20 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
"""Options of a session that holds a lock. Some poolers refuse them."""

_LOCK_IS_SEEN: Final = text("""
SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2
    AND classid = CAST(:locks AS oid) AND objid = CAST(CAST(:number AS bigint) AS oid)
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
""")


class SessionsUnusable(RuntimeError):
    """Locks would not hold: a pooler shares sessions between clients, or DATABASE_SESSION_URL is another database."""


@dataclass(frozen=True, slots=True)
class HeldLock:
    """An advisory lock and the connection that holds it. `id` is the second key of the lock."""

    LOST: ClassVar = "the database ended the session"
    """Why the lock was lost, for logs."""

    id: int
    _connection: WatchedConnection

    async def is_alive(self) -> bool:
        """Return whether the lock is still held. Check it before anything that only its owner may do."""
        try:
            await self._connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    async def until_lost(self) -> None:
        """Return when the session has ended: within milliseconds if the server closed it, within 8 s if the server or
        the network is silent. The connection cannot be used for anything else meanwhile."""
        with suppress(psycopg.Error):
            async for _ in self._connection.notices(HEARTBEAT_SECONDS):
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


async def check_sessions(engine: AsyncEngine) -> None:
    """Raise SessionsUnusable unless locks hold; raise StoreUnavailable."""
    if not shares_sessions(engine):
        with translated():
            async with engine.connect() as pooled:
                raw = cast(WatchedConnection, (await pooled.get_raw_connection()).driver_connection)
                if await _is_direct(raw):
                    return
    try:
        if not await keeps_sessions(session_conninfo(engine)):
            raise SessionsUnusable(_SHARED.format(variable=_variable(engine)))
    except psycopg.Error as error:
        if "startup parameter" in str(error):
            raise SessionsUnusable(_SHARED.format(variable=_variable(engine))) from None
        raise unavailable(error) from error
    async with _session(engine) as session:
        number = secrets.randbelow(2**31 - 1) + 1
        await _try_lock(session, CHECK_LOCKS, number)
        with translated():
            async with engine.connect() as pooled:
                seen = await pooled.execute(_LOCK_IS_SEEN, {"locks": CHECK_LOCKS, "number": number})
                if not seen.scalar_one():
                    raise SessionsUnusable(
                        "DATABASE_SESSION_URL leads to another database than DATABASE_URL: set it to the same server "
                        "and name, without the pooler"
                    )


_SHARED: Final = (
    "{variable} leads to a pooler that shares sessions between clients (PgBouncer: pool_mode = transaction) or "
    "refuses `options`, so locks do not hold: let DATABASE_SESSION_URL name the server itself, or a pooler in session "
    "mode that takes `options`"
)


def _variable(engine: AsyncEngine) -> str:
    return "DATABASE_SESSION_URL" if shares_sessions(engine) else "DATABASE_URL"


async def keeps_sessions(conninfo: str) -> bool:
    """Return whether each connection has its own session: a transaction pooler gives the idle one to the next. Raise
    the driver's errors."""
    async with await _connect(conninfo) as first:
        if await _is_direct(first):
            return True
        async with await _connect(conninfo) as second:
            own = await _fetch_backend(first)
            async with second.transaction():
                other, again = await _fetch_backend(second), await _fetch_backend(first)
            return own == again != other


async def _is_direct(connection: WatchedConnection) -> bool:
    """Return whether no pooler is between: one gives its clients other process ids than those of its own sessions."""
    return connection.info.backend_pid == await _fetch_backend(connection)


async def _fetch_backend(connection: WatchedConnection) -> object:
    row = await (await connection.execute("SELECT pg_backend_pid()")).fetchone()
    return row and row[0]


async def _connect(conninfo: str) -> WatchedConnection:
    """Return a session outside the pool. If the network goes silent, the holder notices within 8 s; the server notices,
    and frees the locks, after 50 s. After a promotion, wait until no process holds locks of the old primary."""
    connection = await connect(
        conninfo,
        name="waypost lock",
        answer_seconds=HEARTBEAT_ANSWER_SECONDS,
        prepares=False,  # while it is not known whether sessions are shared
        autocommit=True,
        keepalives_idle=10,
        keepalives_interval=5,
        keepalives_count=2,
        options=LOCK_OPTIONS,
    )
    await until_settled()
    return connection


@asynccontextmanager
async def _session(engine: AsyncEngine) -> AsyncIterator[WatchedConnection]:
    """Open a session that lasts as long as the lock."""
    try:
        connection = await _connect(session_conninfo(engine))
    except psycopg.Error as error:
        raise unavailable(error) from error
    async with connection:
        try:
            yield connection
        finally:
            with suppress(psycopg.Error):  # the end of the session would release it too late for the next process
                await connection.execute("SELECT pg_advisory_unlock_all()")


async def _try_lock(connection: WatchedConnection, locks: int, number: int) -> bool:
    return await _fetch_value(connection, "SELECT pg_try_advisory_lock(%s::int, %s::int)", locks, number) is True


async def _fetch_value(connection: WatchedConnection, statement: LiteralString, *values: object) -> object:
    try:
        row = await (await connection.execute(statement, values)).fetchone()
    except psycopg.Error as error:
        raise unavailable(error) from error
    return row and row[0]
