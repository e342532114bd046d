"""Writing many rows: `executemany` in a pipeline, no RETURNING, keys chosen by us (measured: stack notes section 3)."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from sqlalchemy import Executable
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.tables import Base

AT_ONCE: Final = 1_000


async def many(connection: AsyncConnection, statement: Executable, rows: Iterable[Mapping[str, Any]]) -> int:
    """Runs the statement for every row; gives the number of rows that it touched."""
    rows = iter(rows)
    touched = 0
    while batch := list(islice(rows, AT_ONCE)):
        result = await connection.execute(statement, batch, execution_options={"preserve_rowcount": True})
        touched += result.rowcount
    return touched


def upsert(table: type[Base], columns: Iterable[str]) -> Insert:
    """INSERT that overwrites `columns` of a row that is there already."""
    statement = insert(table)
    key = [column.name for column in table.__table__.primary_key]
    return statement.on_conflict_do_update(
        index_elements=key, set_={column: getattr(statement.excluded, column) for column in columns}
    )


def columns_of(table: type[Base], *left_out: str) -> tuple[str, ...]:
    """The names of the table's columns but `left_out`."""
    return tuple(column.name for column in table.__table__.columns if column.name not in left_out)
