"""Bulk writes: all rows in one statement and one parameter, or `executemany` in a pipeline. They never use RETURNING:
callers choose the keys (measured in benchmarks/record)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final, LiteralString

from sqlalchemy import Executable
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.engine import Driver, recordset
from registry.store.tables import Base

AT_ONCE: Final = 1_000


async def many(connection: AsyncConnection, statement: Executable, rows: Iterable[Mapping[str, Any]]) -> int:
    """Run the statement for every row; return the number of rows it touched."""
    rows = iter(rows)
    touched = 0
    while batch := list(islice(rows, AT_ONCE)):
        result = await connection.execute(statement, batch, execution_options={"preserve_rowcount": True})
        touched += result.rowcount
    return touched


async def put_all(
    connection: AsyncConnection,
    table: type[Base],
    rows: Iterable[Mapping[str, Any]],
    *,
    overwrite: Sequence[str] | None = None,
) -> None:
    """Insert rows with the same columns, AT_ONCE of them per statement.

    `overwrite`: the columns to update if a row exists. Empty: leave that row unchanged; None: no row may exist. For
    rows of a few kilobytes: use `many` for large values and for bytes.
    """
    rows, driver = iter(rows), Driver(connection)
    while batch := list(islice(rows, AT_ONCE)):
        await driver.run(_insert(table, tuple(batch[0]), None if overwrite is None else tuple(overwrite)),
                         {"rows": recordset(batch)})  # fmt: skip


@cache
def _insert(table: type[Base], columns: tuple[str, ...], overwrite: tuple[str, ...] | None) -> LiteralString:
    """Return the statement, which contains only names of our own tables and columns."""
    name, names = table.__tablename__, ", ".join(columns)
    statement = f"INSERT INTO {name} ({names}) SELECT {names} FROM json_populate_recordset(NULL::{name}, %(rows)s)"  # noqa: S608  (see above)
    if overwrite is not None:
        key = ", ".join(column.name for column in table.__table__.primary_key)
        assignments = ", ".join(f"{column} = excluded.{column}" for column in overwrite)
        statement += f" ON CONFLICT ({key}) DO UPDATE SET {assignments}" if assignments else " ON CONFLICT DO NOTHING"
    return statement


def columns_of(table: type[Base], *left_out: str) -> tuple[str, ...]:
    """Return the names of the table's columns, without `left_out`."""
    return tuple(column.name for column in table.__table__.columns if column.name not in left_out)
