"""Reads for answers from a replica (DATABASE_READ_URL), which are never older than a bound.

The primary says about once a second how far its log has got. A connection to the replica is used only if its server has
replayed what the primary had written at most `staleness` seconds before the answer. Each connection is asked itself,
because one name often leads to several replicas. Everything else goes to the primary.
"""

import asyncio
import math
from collections import deque
from contextvars import Context
from typing import Any, Final, LiteralString, cast
from weakref import WeakKeyDictionary

import psycopg

from registry.outages import Outage
from registry.store.engine import Row, WatchedConnection, first_line, raise_cancellation
from registry.store.lane import CONNECTIONS, QueryPool

LOOK_SECONDS: Final = 1.0
"""Time between two questions to a server, while there are reads."""
REPLICA_SECONDS: Final = 1.0
"""Time for an answer of the replica, before the primary is asked instead."""
OPEN_SECONDS: Final = 5.0
"""Least time between two attempts to connect to the replica."""

UNUSED: Final = Outage("database.replica_unused", "database.replica_used")

# A standby's last checkpoint may lag behind a change of timeline. It is then left unused until its next one: positions
# of different timelines cannot be compared.
_PRIMARY: Final = """
SELECT system_identifier, current_database(), ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int,
    pg_current_wal_lsn() - '0/0'::pg_lsn
FROM pg_control_system()
"""
_REPLICA: Final = """
SELECT pg_backend_pid(), pg_is_in_recovery(), system_identifier, current_database(), timeline_id,
    pg_last_wal_replay_lsn() - '0/0'::pg_lsn
FROM pg_control_system(), pg_control_checkpoint()
"""


class ReplicaUnusable(psycopg.Error):
    """The connection does not lead to a replica of this database."""


class _Behind(Exception):
    """The rows may be too old."""


class ReplicaPool(QueryPool):
    """A pool of connections to the replica, which are opened in the background: no read waits for that. What fails
    there is read from the primary."""

    def __init__(self, conninfo: str, primary: QueryPool, staleness: float) -> None:
        """`staleness`: maximum age of rows in seconds, when they are returned. `primary` is closed with this pool."""
        super().__init__(conninfo)
        self._primary = primary
        self._staleness = staleness
        self._interval = min(LOOK_SECONDS, staleness / 2)
        self._identity: list[Any] = []  # of the primary: system, database, timeline
        self._positions: deque[tuple[float, Any]] = deque()  # of the primary's log, and when it was asked
        self._proofs: WeakKeyDictionary[WatchedConnection, tuple[float, float]] = WeakKeyDictionary()
        """When the server of a connection was asked, and up to when it had replayed all commits."""
        self._is_open = False
        self._open_at = self._look_at = self._paused_until = -math.inf
        self._look: asyncio.Task[None] | None = None

    async def rows(self, statement: LiteralString, bound: dict[str, Any]) -> list[Row]:
        """Return the rows from the replica, or as `primary` does."""
        now = asyncio.get_running_loop().time()
        if now >= self._look_at and (self._look is None or self._look.done()):
            self._look_at = now + self._interval
            self._look = asyncio.create_task(self._look_at_servers(), context=Context())  # not of this request
        is_bounded = self._is_open and now - self._positions[-1][0] <= self._staleness
        if is_bounded and now >= self._paused_until:
            try:
                rows = await self.fetch(statement, bound, now + REPLICA_SECONDS)
            except (TimeoutError, psycopg.errors.SerializationFailure):
                pass  # all connections are busy, or the query was in the way of the replay
            except _Behind:
                self._paused_until = now + self._interval
                UNUSED.failed(f"the replica is more than {self._staleness:g} seconds behind")
            except (psycopg.Error, UnicodeEncodeError) as error:
                raise_cancellation(error)
                self._is_open = False
                UNUSED.failed(first_line(error))
            else:
                UNUSED.worked()
                return rows
        return await self._primary.rows(statement, bound)

    async def close(self) -> None:
        if self._look is not None:
            self._look.cancel()
            await asyncio.wait([self._look])
        await super().close()
        await self._primary.close()

    async def _look_at_servers(self) -> None:
        """Ask the primary for its position, and connect to the replica if needed."""
        asked_at = asyncio.get_running_loop().time()
        try:
            [(*identity, position)] = await self._primary.fetch(_PRIMARY, {}, asked_at + REPLICA_SECONDS)
            if identity != self._identity:
                self._identity = identity
                self._positions.clear()
                self._proofs.clear()
            self._positions.append((asked_at, position))
            while self._positions[0][0] < asked_at - self._staleness:
                self._positions.popleft()
            if not self._is_open and asked_at >= self._open_at:
                self._open_at = asked_at + OPEN_SECONDS
                await super().close()
                while len(self._idle) < CONNECTIONS:
                    self._idle.append(await super()._connect())
                self._is_open = True
        except (psycopg.Error, TimeoutError) as error:
            raise_cancellation(error)
            UNUSED.failed(first_line(error))

    async def _connect(self) -> psycopg.AsyncCursor[Row]:
        raise ReplicaUnusable("the connection was lost")

    async def _run(
        self, cursor: psycopg.AsyncCursor[Row], statement: LiteralString, bound: dict[str, Any], deadline: float
    ) -> list[Row]:
        connection = cast(WatchedConnection, cursor.connection)
        try:
            as_of = await self._prove(connection, deadline)
        except BaseException:
            await connection.close()
            raise
        rows = await super()._run(cursor, statement, bound, deadline)
        if asyncio.get_running_loop().time() - as_of > self._staleness:
            raise _Behind
        return rows

    async def _prove(self, connection: WatchedConnection, deadline: float) -> float:
        """Return the time up to which the server has replayed all commits. Raise ReplicaUnusable, or the driver's
        errors."""
        now = asyncio.get_running_loop().time()
        asked_at, as_of = self._proofs.get(connection, (-math.inf, -math.inf))
        if now - asked_at < self._interval and now - as_of <= self._staleness:
            return as_of
        connection.answer_seconds = max(deadline - now, 0)
        cursor = await connection.cursor(binary=True).execute(_REPLICA)
        [(process, is_standby, *identity, replayed)] = await cursor.fetchall()
        if process != connection.info.backend_pid:
            raise ReplicaUnusable("DATABASE_READ_URL leads to a pooler: name the server itself")
        if not is_standby or identity != self._identity:
            raise ReplicaUnusable("DATABASE_READ_URL leads to no standby of this database and its timeline")
        as_of = max((at for at, position in self._positions if position <= replayed), default=-math.inf)
        self._proofs[connection] = now, as_of
        return as_of
