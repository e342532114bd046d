"""The base of all repositories: their connection, the usual reads of rows, and bulk writes.

Bulk writes send all rows in one statement and one parameter, or use `executemany` in a pipeline. They never use
RETURNING: callers choose the keys (measured in benchmarks/record).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final, LiteralString, TypeVar

from sqlalchemy import ColumnElement, Executable, delete, or_, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.engine import Driver, recordset
from registry.store.tables import Base

AT_ONCE: Final = 1_000

Key = tuple[str, str]
"""A domain and a host."""

Bound = Mapping[str, Any]
_T = TypeVar("_T")


class Repository:
    """Queries and statements of one aggregate, in one transaction."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._driver = Driver(connection)

    async def _list(self, make: Callable[..., _T], statement: Executable, bound: Bound | None = None) -> list[_T]:
        """Return a record of each row."""
        return [make(*row) for row in await self._execute(statement, bound)]

    async def _scalars(self, statement: Executable, bound: Bound | None = None) -> list[Any]:
        """Return the first value of each row."""
        return list((await self._execute(statement, bound)).scalars())

    async def _keys(self, statement: Executable, bound: Bound | None = None) -> list[Key]:
        """Return each row as a domain and a host."""
        return [(domain, host) for domain, host in await self._execute(statement, bound)]

    async def _one(self, make: Callable[..., _T], statement: Executable, bound: Bound | None = None) -> _T:
        """Return a record of the only row."""
        return make(*(await self._execute(statement, bound)).one())

    async def _first(self, make: Callable[..., _T], statement: Executable, bound: Bound | None = None) -> _T | None:
        """Return a record of the first row; None without rows."""
        row = (await self._execute(statement, bound)).first()
        return None if row is None else make(*row)

    async def _number(self, statement: Executable, bound: Bound | None = None) -> int:
        """Return the only value of the only row."""
        return int((await self._execute(statement, bound)).scalar_one())

    async def _touched(self, statement: Executable, bound: Bound | None = None) -> int:
        """Run a statement; return the number of rows that it changed or deleted."""
        return (await self._execute(statement, bound)).rowcount

    async def _replace(self, table: type[Base], values: Mapping[str, Any]) -> None:
        """Insert a row, or replace the row with its key."""
        statement = insert(table).values(values)
        keys = [column.name for column in table.__table__.primary_key]
        await self._execute(statement.on_conflict_do_update(index_elements=keys, set_=values))

    async def _delete(self, tables: Iterable[Any], keys: Collection[Key]) -> None:
        """Delete the rows of these hosts."""
        for table in tables if keys else ():
            await self._execute(delete(table).where(tuple_(table.domain, table.host).in_(list(keys))))

    async def _put_all(
        self, table: type[Base], rows: Iterable[Mapping[str, Any]], *, overwrite: Sequence[str] | None = None
    ) -> None:
        """Insert rows with the same columns, AT_ONCE of them per statement. `overwrite`: the columns to update if a row
        exists. Empty: leave that row unchanged; None: no row may exist. For rows of a few kilobytes: use `_many` for
        large values and for bytes."""
        rows = iter(rows)
        while batch := list(islice(rows, AT_ONCE)):
            statement = _insert(table, tuple(batch[0]), None if overwrite is None else tuple(overwrite))
            await self._driver.run(statement, {"rows": recordset(batch)})

    async def _many(self, statement: Executable, rows: Iterable[Mapping[str, Any]]) -> int:
        """Run the statement for every row; return the number of rows it touched."""
        rows = iter(rows)
        touched = 0
        while batch := list(islice(rows, AT_ONCE)):
            result = await self._execute(statement, batch, execution_options={"preserve_rowcount": True})
            touched += result.rowcount
        return touched


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


def is_or_below(column: Any, host: str) -> ColumnElement[bool]:
    """Return the condition that a column holds the host or a host below it."""
    return or_(column == host, column.endswith("." + host, autoescape=True))


def columns_of(table: type[Base], *left_out: str) -> tuple[str, ...]:
    """Return the names of the table's columns, without `left_out`."""
    return tuple(column.name for column in table.__table__.columns if column.name not in left_out)


def selected(table: type[Base], record: Any) -> tuple[Any, ...]:
    """Return the columns of a table for the fields of a record (a dataclass), in their order."""
    return tuple(getattr(table, name) for name in record.__dataclass_fields__)
