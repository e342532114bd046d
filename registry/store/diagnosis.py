"""Facts about a database server, for `waypost doctor`, `status` and `serve`: also if it cannot be used."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

import psycopg

from registry.store.engine import libpq, sqlalchemy_url, translated
from registry.store.holder import LOCK_OPTIONS

CONNECT_SECONDS: Final = 5
STATEMENT_SECONDS: Final = 5

_FACTS: Final = """
SELECT current_setting('server_version_num')::int, clock_timestamp(), pg_database_size(current_database()),
    current_setting('server_encoding'), current_setting('max_connections')::int,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), pg_is_in_recovery()
"""
_SCHEMA: Final = "SELECT version_num FROM alembic_version"
_BACKEND: Final = "SELECT pg_backend_pid()"


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """`place`: host and database, without password. `version`: as in server_version_num. `size`: bytes of this
    database. `schema`: revision, None if empty. `keeps_sessions`: False behind a pooler that shares sessions, where
    locks do not hold. `is_read_only`: a standby. `clock_ahead`: how far this machine's clock is ahead of the server's.
    """

    place: str
    version: int
    clock_ahead: timedelta
    size: int
    encoding: str
    max_connections: int
    connections: int
    is_read_only: bool
    schema: str | None
    keeps_sessions: bool


async def examine(url: str, clock: Callable[[], datetime]) -> DatabaseFacts:
    """Look at the database of `url`, in two sessions, within some seconds. Raise BadDatabaseUrl, StoreUnavailable."""
    target = libpq(sqlalchemy_url(url))
    options = f"{LOCK_OPTIONS} -c statement_timeout={STATEMENT_SECONDS}s"
    with translated():
        first, second = [
            await psycopg.AsyncConnection.connect(
                target,
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=CONNECT_SECONDS,
                application_name="waypost diagnosis",
                options=options,
            )
            for _ in range(2)
        ]
        async with first, second:
            asked_at = clock()
            version, now, size, encoding, limit, connections, is_read_only = await _row(first, _FACTS)
            ahead = asked_at + (clock() - asked_at) / 2 - now
            try:
                (schema,) = await _row(first, _SCHEMA)
            except psycopg.errors.UndefinedTable:
                schema = None
            keeps_sessions = await _keeps_sessions(first, second)
            place = f"{first.info.host}/{first.info.dbname}"
    return DatabaseFacts(
        place, version, ahead, size, encoding, limit, connections, is_read_only, schema, keeps_sessions
    )


async def _keeps_sessions(first: "psycopg.AsyncConnection[Any]", second: "psycopg.AsyncConnection[Any]") -> bool:
    """Return whether each connection has its own session: a transaction pooler gives the idle one to the next."""
    (own,) = await _row(first, _BACKEND)
    async with second.transaction():
        (other,) = await _row(second, _BACKEND)
        (again,) = await _row(first, _BACKEND)
    return bool(own == again != other)


async def _row(connection: "psycopg.AsyncConnection[Any]", statement: LiteralString) -> tuple[Any, ...]:
    row = await (await connection.execute(statement)).fetchone()
    return row if row is not None else (None,)
