"""Questions that every answer asks, straight to the driver: no transaction, one round trip, prepared.

Through SQLAlchemy such a question costs this process eight times as much CPU (2.0 against 0.25 ms for the ten cards of
an answer, 2026-11-22): its pool pings, begins and resets, all of it through greenlets.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final, LiteralString

import psycopg
from psycopg.types.json import set_json_loads

from registry.store.driver import Row
from registry.store.engine import CONNECT_SECONDS
from registry.store.errors import StoreUnavailable, translated

CONNECTIONS: Final = 4
"""One process answers on one core: more connections than that only wait in the server instead of here."""

ANSWER_SECONDS: Final = 10
_CUT: Final = (psycopg.OperationalError, psycopg.InterfaceError)


class Lane:
    """`conninfo` is libpq's. Connections are opened when they are needed and kept, each with one cursor: it remembers
    how the columns of its last statement are read, and nearly always the same statement comes next."""

    def __init__(self, conninfo: str, connections: int = CONNECTIONS) -> None:
        self._conninfo = conninfo
        self._idle: list[psycopg.AsyncCursor[Row]] = []
        self._slots = asyncio.Semaphore(connections)

    async def rows(self, statement: LiteralString, bound: dict[str, Any]) -> list[Row]:
        """What a query gives, jsonb as undecoded bytes. It is asked again where a connection was cut: it only reads.

        Raises StoreUnavailable, also after ANSWER_SECONDS, and Unstorable for values that the database refuses.
        """
        with translated():
            try:
                async with asyncio.timeout(ANSWER_SECONDS), self._slots:
                    return await self._asked(statement, bound)
            except TimeoutError:
                raise StoreUnavailable(f"the database has not answered for {ANSWER_SECONDS} seconds") from None

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().connection.close()

    async def _asked(self, statement: LiteralString, bound: dict[str, Any]) -> list[Row]:
        while self._idle:
            try:
                return await self._on(self._idle.pop(), statement, bound)
            except _CUT:
                continue  # a restart of the server cuts all that wait here, and a ping each time would cost more
        return await self._on(await self._connect(), statement, bound)

    async def _on(self, cursor: psycopg.AsyncCursor[Row], statement: LiteralString, bound: dict[str, Any]) -> list[Row]:
        """The connection is kept only if nothing went wrong on it."""
        try:
            await cursor.execute(statement, bound, prepare=True)
            found = await cursor.fetchall()
        except BaseException:
            await cursor.connection.close()
            raise
        self._idle.append(cursor)
        return found

    async def _connect(self) -> psycopg.AsyncCursor[Row]:
        connection: psycopg.AsyncConnection[Row] = await psycopg.AsyncConnection.connect(
            self._conninfo, autocommit=True, connect_timeout=CONNECT_SECONDS, application_name="waypost"
        )
        set_json_loads(_undecoded, connection)
        return connection.cursor(binary=True)


def _undecoded(value: str | bytes) -> str | bytes:
    return value  # one that nobody can decode must not take the whole answer with it


def texts(values: Iterable[str]) -> str:
    """An array as one parameter, for `%(values)s::text[]`: the driver dumps a list item by item, in Python.

    PostgreSQL documentation, "Array Input and Output Syntax".
    """
    quoted = ",".join('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values)
    return "{" + quoted + "}"
