"""Direct use of psycopg, on SQLAlchemy's connection and in its transaction.

For the few statements that run for every visited host (measured in benchmarks/record). There most of the cost is
SQLAlchemy's own work, repeated for every parameter of every row. Everything else goes through SQLAlchemy.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, LiteralString, cast

import orjson
import psycopg
from sqlalchemy.ext.asyncio import AsyncConnection

SEPARATOR: Final = " "
"""Separates the names of a list; no host name contains it."""

Row = tuple[Any, ...]


class Driver:
    """Runs statements in psycopg's syntax: `%(name)s` for parameters, rows as tuples, jsonb as undecoded bytes.

    Raises psycopg's errors, which `errors.translated` translates like SQLAlchemy's.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def rows(self, statement: LiteralString, bound: dict[str, Any] | None = None) -> list[Row]:
        """Return the rows of a query. Values are transferred in binary, which is decoded several times as fast."""
        cursor = (await self._psycopg()).cursor(binary=True)
        await cursor.execute(statement, bound)
        return await cursor.fetchall()

    async def run(self, statement: LiteralString, bound: dict[str, Any] | None = None) -> int:
        """Run a statement and return the number of rows it touched."""
        cursor = await (await self._psycopg()).execute(statement, bound)
        return cursor.rowcount

    async def copy(self, table: LiteralString, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows, which must not exist yet."""
        cursor = (await self._psycopg()).cursor()
        target = psycopg.sql.SQL("COPY {} ({}) FROM STDIN").format(
            psycopg.sql.Identifier(table), psycopg.sql.SQL(", ").join(map(psycopg.sql.Identifier, columns))
        )
        async with cursor.copy(target) as copying:
            for row in rows:
                await copying.write_row(row)

    async def _psycopg(self) -> "psycopg.AsyncConnection[Row]":
        raw = await self._connection.get_raw_connection()
        return cast("psycopg.AsyncConnection[Row]", raw.driver_connection)


def listed(names: Iterable[str]) -> str:
    """Return names as one parameter for `string_to_array(%(names)s, ' ')`: lists are dumped item by item, in Python."""
    return SEPARATOR.join(names)


def recordset(records: Sequence[Any]) -> str:
    """Return dataclasses or dicts as one parameter for `json_populate_recordset(NULL::table, %(records)s)`.

    Raise TypeError for text with lone surrogates.
    """
    return orjson.dumps(records, default=_bytea).decode()


def _bytea(value: object) -> str:
    """Return bytes in PostgreSQL's hex format (PostgreSQL documentation, "bytea Hex Format")."""
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    raise TypeError(type(value).__name__)
