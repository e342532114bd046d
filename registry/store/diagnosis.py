"""Facts about a database server, for `waypost doctor`, `status` and `serve`: also if it cannot be used."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

import psycopg

from registry.store.engine import WatchedConnection, connect, libpq, sqlalchemy_url, translated
from registry.store.holder import keeps_sessions

STATEMENT_SECONDS: Final = 5

_FACTS: Final = """
SELECT current_setting('server_version_num')::int, clock_timestamp(), pg_database_size(current_database()),
    current_setting('server_encoding'), current_setting('max_connections')::int,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), pg_is_in_recovery()
"""
_SCHEMA: Final = "SELECT version_num FROM alembic_version"


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


async def examine(url: str, clock: Callable[[], datetime], session_url: str | None = None) -> DatabaseFacts:
    """Look at the database of `url`, within some seconds. `session_url`: as in `make_engine`. Raise BadDatabaseUrl,
    StoreUnavailable."""
    target = libpq(sqlalchemy_url(url))
    sessions = target if session_url is None else libpq(sqlalchemy_url(session_url, "DATABASE_SESSION_URL"))
    name = "waypost diagnosis"
    with translated():
        async with await connect(
            target, name=name, answer_seconds=STATEMENT_SECONDS, prepares=False, autocommit=True
        ) as connection:
            asked_at = clock()
            version, now, size, encoding, limit, connections, is_read_only = await _row(connection, _FACTS)
            ahead = asked_at + (clock() - asked_at) / 2 - now
            try:
                (schema,) = await _row(connection, _SCHEMA)
            except psycopg.errors.UndefinedTable:
                schema = None
            place = f"{connection.info.host}/{connection.info.dbname}"
        keeps = await keeps_sessions(sessions)
    return DatabaseFacts(place, version, ahead, size, encoding, limit, connections, is_read_only, schema, keeps)


async def _row(connection: WatchedConnection, statement: LiteralString) -> tuple[Any, ...]:
    row = await (await connection.execute(statement)).fetchone()
    return row if row is not None else (None,)
