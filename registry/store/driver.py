"""The driver beneath SQLAlchemy, on the same connection and in the same transaction.

For the few statements that every visited host costs (measured in benchmarks/record): there SQLAlchemy's own work, done
anew for every parameter of every row, is most of it. Everything else goes through SQLAlchemy.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, LiteralString, cast

import orjson
import psycopg
from sqlalchemy.ext.asyncio import AsyncConnection

SEPARATOR: Final = " "
"""Between the names of one list; no host has it in its name."""

Row = tuple[Any, ...]


class Driver:
    """Statements in psycopg's own words: `%(name)s` for parameters, rows as tuples, jsonb as undecoded bytes.

    Raises psycopg's errors, which `errors.translated` knows like SQLAlchemy's.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def rows(self, statement: LiteralString, bound: dict[str, Any] | None = None) -> list[Row]:
        """What a query gives; values come in binary, which is read several times as fast."""
        cursor = (await self._psycopg()).cursor(binary=True)
        await cursor.execute(statement, bound)
        return await cursor.fetchall()

    async def run(self, statement: LiteralString, bound: dict[str, Any] | None = None) -> int:
        """Gives the number of rows that it touched."""
        cursor = await (await self._psycopg()).execute(statement, bound)
        return cursor.rowcount

    async def copy(self, table: LiteralString, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """New rows, which must not be there yet."""
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
    """Names as one parameter, for `string_to_array(%(names)s, ' ')`: a list is dumped item by item, in Python."""
    return SEPARATOR.join(names)


def recordset(records: Sequence[Any]) -> str:
    """Dataclasses or dicts as one parameter, for `json_populate_recordset(NULL::table, %(records)s)`.

    Raises TypeError for text with lone surrogates.
    """
    return orjson.dumps(records, default=_bytea).decode()


def _bytea(value: object) -> str:
    """PostgreSQL documentation, "bytea Hex Format"."""
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    raise TypeError(type(value).__name__)
