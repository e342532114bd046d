"""Makes the SQLAlchemy engine (async, psycopg 3), translates errors, and gives direct access to psycopg.

JSON stays undecoded, so it cannot poison a result set. Direct psycopg, on SQLAlchemy's connection and in its
transaction, is for the few statements that run for every visited host: there most of the cost is SQLAlchemy's work for
every parameter of every row (measured in benchmarks/record). Everything else goes through SQLAlchemy.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, LiteralString, cast

import orjson
import psycopg
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, DataError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine


class StoreUnavailable(ConnectionError):
    """The server is unreachable, too busy, or aborted the call (deadlock). The same call may succeed later."""


class Unstorable(ValueError):
    """PostgreSQL refuses a value. The transaction was rolled back and can be retried without the value."""


class BadDatabaseUrl(ValueError):
    """The configured URL is not a PostgreSQL URL. The message never repeats it: it may contain a password."""


# The driver's errors, for statements that bypass SQLAlchemy (COPY).
_VALUES = (psycopg.DataError, psycopg.IntegrityError)
_SERVER = (psycopg.OperationalError, psycopg.InterfaceError)


@contextmanager
def translated() -> Iterator[None]:
    """Raise Unstorable for values that the database refuses, StoreUnavailable if it is unreachable, CancelledError if a
    cancellation caused the error."""
    try:
        yield
    except (*_VALUES, DataError, IntegrityError, UnicodeEncodeError) as error:
        raise Unstorable(_first_line(error)) from error
    except (*_SERVER, OperationalError, InterfaceError, PoolTimeout) as error:
        raise_cancellation(error)
        raise StoreUnavailable(_first_line(error)) from error


def raise_cancellation(error: Exception) -> None:
    """Raise CancelledError if the running task is being cancelled. A cancelled query may fail with an error of the
    driver instead. A caller that takes this for a lost database and tries again would ignore the cancellation."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from error


def _first_line(error: Exception) -> str:
    """Return the driver's message, never the statement: its parameters are texts of sites."""
    cause = getattr(error, "orig", None) or error
    return f"{type(cause).__name__}: {str(cause).partition(chr(10))[0][:200]}"


DRIVER: Final = "postgresql+psycopg"
CONNECT_SECONDS: Final = 10
_FOR_URL: Final = {"user": "username", "password": "password", "dbname": "database"}


def make_engine(url: str, *, pool_size: int = 10) -> AsyncEngine:
    """Return an engine for a URL (postgresql://, postgresql+psycopg://) or a libpq connection string. jsonb is returned
    as undecoded bytes, see `decode`: the driver would decode a whole result set, and one undecodable value would lose
    all other rows (a poison row)."""
    return create_async_engine(
        sqlalchemy_url(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,  # the embedded server may have been restarted
        hide_parameters=True,  # parameters contain texts of sites, which must not be logged
        json_serializer=encode,
        json_deserializer=bytes,
        connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": "waypost"},
    )


def sqlalchemy_url(url: str) -> URL:
    """Return the URL of the same database for SQLAlchemy. Raise BadDatabaseUrl."""
    try:
        if "://" in url:
            return _of_postgres(make_url(url)).set(drivername=DRIVER)
        options = {key: value for key, value in conninfo_to_dict(url).items() if value is not None}
    except (ArgumentError, ProgrammingError, ValueError):
        raise BadDatabaseUrl(
            "DATABASE_URL is not understood; postgresql://user:password@host/name is expected"
        ) from None
    fields: dict[str, Any] = {name: str(options.pop(key)) for key, name in _FOR_URL.items() if key in options}
    return URL.create(DRIVER, **fields, query={key: str(value) for key, value in options.items()})


def _of_postgres(url: URL) -> URL:
    if url.drivername.partition("+")[0] not in ("postgresql", "postgres"):
        raise ValueError(url.drivername)
    return url


def libpq(url: URL) -> str:
    """Return a libpq connection string of the same database, for connections outside the pool."""
    fields = {key: getattr(url, name) for key, name in _FOR_URL.items()} | {"host": url.host, "port": url.port}
    options = {key: value for key, value in fields.items() if value is not None}
    return make_conninfo("", **options, **{key: str(value) for key, value in url.query.items()})


def encode(value: Any) -> str:
    """Return JSON for a jsonb column. Raise TypeError or ValueError for other values, also for lone surrogates."""
    return orjson.dumps(value).decode()


def decode(value: bytes | None) -> Any:
    """Return the value of a jsonb column. Raise ValueError if it cannot be decoded (`1e5000`, too deep)."""
    return None if value is None else orjson.loads(value)


SEPARATOR: Final = " "
"""Separates the names of a list; no host name contains it."""

Row = tuple[Any, ...]


class Driver:
    """Runs statements in psycopg's syntax: `%(name)s` for parameters, rows as tuples, jsonb as undecoded bytes. Raises
    psycopg's errors, which `translated` translates like SQLAlchemy's."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def rows(self, statement: LiteralString, bound: dict[str, Any] | None = None) -> list[Row]:
        """Return the rows of a query, transferred in binary, which is decoded several times as fast."""
        cursor = (await self._psycopg()).cursor(binary=True)
        await cursor.execute(statement, bound)
        return await cursor.fetchall()

    async def run(self, statement: LiteralString, bound: dict[str, Any] | None = None) -> int:
        """Run a statement and return the number of affected rows."""
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

    async def copy_text(self, table: LiteralString, lines: str) -> None:
        """Insert rows in the text format of COPY, all columns in order."""
        cursor = (await self._psycopg()).cursor()
        async with cursor.copy(psycopg.sql.SQL("COPY {} FROM STDIN").format(psycopg.sql.Identifier(table))) as copying:
            await copying.write(lines)

    async def _psycopg(self) -> "psycopg.AsyncConnection[Row]":
        raw = await self._connection.get_raw_connection()
        return cast("psycopg.AsyncConnection[Row]", raw.driver_connection)


listed: Final = SEPARATOR.join
"""Return names as one parameter for `string_to_array(%(names)s, ' ')`: psycopg dumps lists item by item, in Python."""


def recordset(records: Sequence[Any]) -> str:
    """Return dataclasses or dicts as one parameter for `json_populate_recordset(NULL::table, %(records)s)`. Raise
    TypeError for text with lone surrogates."""
    return orjson.dumps(records, default=_bytea).decode()


def _bytea(value: object) -> str:
    """Return bytes in PostgreSQL's hex format (PostgreSQL documentation, "bytea Hex Format")."""
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    raise TypeError(type(value).__name__)
