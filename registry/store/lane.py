"""Connections for the queries of every answer, without SQLAlchemy: no transaction, one round trip, prepared.

Through SQLAlchemy such a query costs eight times as much CPU (2.0 instead of 0.25 ms for the ten cards of an answer,
measured 2026-11-22): its pool pings, begins and resets, all through greenlets.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final, LiteralString, cast

import psycopg
from psycopg.types.json import set_json_loads

from registry.store.engine import (
    ANSWER_SECONDS,
    UNREACHABLE,
    NoAnswer,
    Row,
    StoreUnavailable,
    WatchedConnection,
    connect,
    raise_cancellation,
    translated,
)

CONNECTIONS: Final = 4
"""A process answers on one core: with more connections, queries would wait in the server instead of here."""

_CONNECTION_LOST: Final = (psycopg.OperationalError, psycopg.InterfaceError)


class QueryPool:
    """A connection pool. `conninfo` is libpq's; `prepares` is as in `engine.connect`. Connections are opened on demand
    and kept, each with one cursor, which caches how to decode the columns of its last statement; the next statement is
    nearly always the same."""

    def __init__(self, conninfo: str, connections: int = CONNECTIONS, *, prepares: bool = True) -> None:
        self._conninfo = conninfo
        self._prepares = prepares
        self._idle: list[psycopg.AsyncCursor[Row]] = []
        self._slots = asyncio.Semaphore(connections)

    async def rows(self, statement: LiteralString, bound: dict[str, Any]) -> list[Row]:
        """Return the rows of a query, jsonb as undecoded bytes. Retry on a lost connection, because it only reads.
        Raise StoreUnavailable, also after ANSWER_SECONDS, and Unstorable for values that the database refuses."""
        deadline = asyncio.get_running_loop().time() + ANSWER_SECONDS
        with translated():
            try:
                return await self.fetch(statement, bound, deadline)
            except (NoAnswer, TimeoutError):
                reason = f"the database has not answered for {ANSWER_SECONDS} seconds"
                UNREACHABLE.failed(reason)
                raise StoreUnavailable(reason, is_outage=True) from None

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().connection.close()

    async def fetch(self, statement: LiteralString, bound: dict[str, Any], deadline: float) -> list[Row]:
        """Do what `rows` does until `deadline`, but raise the driver's errors, or TimeoutError before the statement was
        sent. `deadline`: in seconds of the event loop's clock."""
        async with asyncio.timeout_at(deadline):
            await self._slots.acquire()
        try:
            while self._idle:
                try:
                    return await self._run(self._idle.pop(), statement, bound, deadline)
                except (NoAnswer, psycopg.errors.SerializationFailure):
                    raise
                except _CONNECTION_LOST as error:
                    raise_cancellation(error)
                    continue  # a server restart cuts all idle connections; pinging each time would cost more
            async with asyncio.timeout_at(deadline):
                cursor = await self._connect()
            return await self._run(cursor, statement, bound, deadline)
        finally:
            self._slots.release()

    async def _run(
        self, cursor: psycopg.AsyncCursor[Row], statement: LiteralString, bound: dict[str, Any], deadline: float
    ) -> list[Row]:
        """Run the statement. Keep the connection if nothing failed, or if only the statement was cancelled in favour of
        a standby's replay. Cancelling at the deadline instead would wait for a server that says nothing."""
        connection = cast(WatchedConnection, cursor.connection)
        connection.answer_seconds = max(deadline - asyncio.get_running_loop().time(), 0)
        try:
            await cursor.execute(statement, bound, prepare=True)
            rows = await cursor.fetchall()
        except psycopg.errors.SerializationFailure:
            self._idle.append(cursor)
            raise
        except BaseException:
            await connection.close()
            raise
        self._idle.append(cursor)
        return rows

    async def _connect(self) -> psycopg.AsyncCursor[Row]:
        connection = await connect(
            self._conninfo,
            name="waypost cards",
            answer_seconds=ANSWER_SECONDS,
            prepares=self._prepares,
            autocommit=True,
        )
        set_json_loads(lambda value: value, connection)  # an undecodable value must not fail the whole answer
        return connection.cursor(binary=True)


def texts(values: Iterable[str]) -> str:
    """Return an array as one parameter for `%(values)s::text[]`: the driver dumps lists item by item, in Python.
    PostgreSQL documentation, "Array Input and Output Syntax"."""
    quoted = ",".join('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values)
    return "{" + quoted + "}"


def bound_keys(keys: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return (domain, host) pairs as the parameters of `unnest(%(domains)s::text[], %(hosts)s::text[])`."""
    return {"domains": texts([domain for domain, _ in keys]), "hosts": texts([host for _, host in keys])}
