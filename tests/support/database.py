"""A real PostgreSQL for the tests that need one: `database_url` is an empty, migrated database for one test.

tests/conftest.py makes these fixtures known to every test.

The server is WAYPOST_TEST_DATABASE_URL (a role that may create databases) or the embedded one, in a folder that all
runs of this user share. Migrations run once per process, into a template. Its copies are emptied after a test (10 ms)
and used again: creating a database takes 40 ms, dropping one takes as long and seconds where a disk is busy.
"""

import asyncio
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from registry.store import lane
from registry.store.embedded_postgres import cluster
from registry.store.embedded_postgres import server as embedded
from registry.store.engine import libpq, make_engine, sqlalchemy_url
from registry.store.migrate import upgrade
from registry.store.unit_of_work import Store
from tests.support.hang import HANG_SECONDS, pause

SERVER = "WAYPOST_TEST_DATABASE_URL"
PREFIX = "waypost_test"
OWNED = re.compile(rf"{PREFIX}_(\d+)_(\d+)_.+")
"""The name of a database, with the id and the start of its process: containers use the same few ids in each run."""

MAX_BYTES_EMPTIED = 4_000_000
"""Size of all tables above which a database is dropped instead of emptied: deleted rows slow down what comes after."""

# Every change of a catalog row has a new `xmin`. Statistics are overwritten in place, without one.
SCHEMA = """
    WITH relations AS (SELECT oid, xmin FROM pg_class WHERE relnamespace = 'public'::regnamespace),
    entries (entry) AS (
        SELECT concat_ws(' ', 'relation', oid, xmin) FROM relations
        UNION ALL SELECT concat_ws(' ', 'column', attrelid, attnum, a.xmin)
            FROM pg_attribute a JOIN relations r ON r.oid = attrelid
        UNION ALL SELECT concat_ws(' ', 'default', adrelid, adnum, d.xmin)
            FROM pg_attrdef d JOIN relations r ON r.oid = adrelid
        UNION ALL SELECT concat_ws(' ', 'index', indexrelid, i.xmin)
            FROM pg_index i JOIN relations r ON r.oid = indrelid
        UNION ALL SELECT concat_ws(' ', 'trigger', t.oid, t.xmin)
            FROM pg_trigger t JOIN relations r ON r.oid = tgrelid
        UNION ALL SELECT concat_ws(' ', 'sequence', seqrelid, s.xmin)
            FROM pg_sequence s JOIN relations r ON r.oid = seqrelid
        UNION ALL SELECT concat_ws(' ', 'constraint', oid, xmin)
            FROM pg_constraint WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT concat_ws(' ', 'function', oid, xmin)
            FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT concat_ws(' ', 'schema', oid, xmin) FROM pg_namespace WHERE nspname !~ '^pg_'
        UNION ALL SELECT concat_ws(' ', 'database', oid, xmin) FROM pg_database WHERE datname = current_database()
        UNION ALL SELECT concat_ws(' ', 'setting', setrole, s.xmin)
            FROM pg_db_role_setting s JOIN pg_database d ON d.oid = setdatabase AND datname = current_database()
    )
    SELECT md5(string_agg(entry, ',' ORDER BY entry)) FROM entries
"""
TABLES = """
    SELECT relname, pg_relation_size(oid) FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'alembic_version'
"""
RESTART_SEQUENCES = """
    SELECT setval(seqrelid::regclass, seqstart, false) FROM pg_sequence JOIN pg_class c ON c.oid = seqrelid
    WHERE relnamespace = 'public'::regnamespace
"""

FORGETFUL = "fsync = off\nfull_page_writes = off"
"""For data that need not outlive the machine, which saves a fifth of the time. Killed processes lose nothing."""

_numbers = count(1)


@pytest.fixture(scope="session", autouse=True)
def patient_queries() -> Iterator[None]:
    """Let queries of the read path take as long as a busy machine needs."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lane, "ANSWER_SECONDS", HANG_SECONDS)
        yield


@pytest.fixture(scope="session")
def database_server() -> str:
    """Return the URL of a server on which databases may be created.

    The process releases the embedded server when it ends.
    """
    if url := os.environ.get(SERVER):
        return url
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cluster, "SETTINGS", cluster.SETTINGS.replace("fsync = on", FORGETFUL))
        server = embedded.start(Path(tempfile.gettempdir()) / f"waypost-tests-{os.geteuid()}")
    drop_leftovers(server.dsn)
    return server.dsn


@pytest.fixture(scope="session")
def database_template(database_server: str) -> Iterator[str]:
    """Yield the name of a migrated database without connections."""
    with new_database(database_server, "template") as name:
        upgrade(on(database_server, name))
        yield name


@pytest.fixture(scope="session")
def migrated_databases(database_server: str, database_template: str) -> Iterator["MigratedDatabases"]:
    databases = MigratedDatabases(database_server, database_template)
    yield databases
    databases.close()


@pytest.fixture
def database_url(migrated_databases: "MigratedDatabases") -> Iterator[str]:
    with migrated_databases.borrowed() as url:
        yield url


@pytest.fixture
def empty_database_url(database_server: str) -> Iterator[str]:
    """Yield the URL of a database without any schema."""
    with new_database(database_server, "empty") as name:
        yield on(database_server, name)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    opened = Store(make_engine(database_url, pool_size=5))
    yield opened
    await opened.close()


async def rows(store: Store, statement: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query, as they are stored."""
    async with store.engine.connect() as connection:
        return [tuple(row) for row in await connection.exec_driver_sql(statement)]


async def execute(store: Store, statement: str) -> None:
    """Execute a statement that returns no rows, and commit."""
    async with store.engine.begin() as connection:
        await connection.exec_driver_sql(statement)


async def until_true(condition: Callable[[], Awaitable[object]], seconds: float = HANG_SECONDS) -> None:
    """Poll until the answer is true, since no event tells what other processes do. Raise TimeoutError."""
    async with asyncio.timeout(seconds):
        began = time.monotonic()
        while not await condition():
            await asyncio.sleep(pause(time.monotonic() - began, 0.02))
            began = time.monotonic()


async def waiting_for_locks(store: Store) -> int:
    """Return how many transactions of this database wait for a lock."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return len(await rows(store, waiting))


@dataclass
class MigratedDatabases:
    """Copies of the template, each used by one test at a time and emptied in between."""

    server: str
    template: str
    _free: list["_Copy"] = field(default_factory=list)

    @contextmanager
    def borrowed(self) -> Iterator[str]:
        """Yield the URL of an empty database. It is dropped afterwards if its schema or its settings were changed."""
        copy = self._free.pop() if self._free else self._create()
        try:
            yield copy.url
        finally:
            if copy.empty():
                self._free.append(copy)
            else:
                copy.drop.close()

    def close(self) -> None:
        for copy in self._free:
            copy.drop.close()

    def _create(self) -> "_Copy":
        with ExitStack() as drop:
            name = drop.enter_context(new_database(self.server, "test", self.template))
            url = on(self.server, name)
            with _connect(url) as connection:
                return _Copy(name, url, _single_value(connection, SCHEMA), drop.pop_all())


@dataclass
class _Copy:
    name: str
    url: str
    schema: object
    drop: ExitStack

    def empty(self) -> bool:
        """Delete all rows and restart the sequences. Return False when the database cannot be used again."""
        try:
            with _connect(self.url) as connection:
                _end_sessions(connection, self.name)
                tables = connection.execute(TABLES).fetchall()
                if (
                    _single_value(connection, SCHEMA) != self.schema
                    or sum(size for _, size in tables) > MAX_BYTES_EMPTIED
                ):
                    return False
                while filled := _filled(connection, [name for name, _ in tables]):  # triggers write rows on deletion
                    for name in filled:
                        # A trigger refuses to delete rows of the audit log.
                        statement = sql.SQL("TRUNCATE {}" if name == "audit" else "DELETE FROM {}")
                        connection.execute(statement.format(sql.Identifier(name)))
                connection.execute(RESTART_SEQUENCES)
        except psycopg.Error:
            return False
        return True


def on(server: str, database: str) -> str:
    """Return the URL of another database of the same server."""
    return sqlalchemy_url(server).set(database=database).render_as_string(hide_password=False)


@contextmanager
def new_database(server: str, kind: str, template: str = "template0") -> Iterator[str]:
    """Create a database and drop it afterwards. `drop_leftovers` reads its name."""
    name = f"{PREFIX}_{os.getpid()}_{_start_of(os.getpid())}_{kind}_{next(_numbers)}"
    with _connect(server) as admin:
        # Copied file by file, which takes half as long as through the log.
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        admin.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        try:
            yield name
        finally:
            _drop(admin, name)


def _drop(admin: psycopg.Connection[Any], name: str) -> None:
    """Terminate the sessions of this role, then drop the database.

    WITH (FORCE) fails while autovacuum, which only a superuser may terminate, is at work there. DROP waits five seconds
    for sessions to end, which is too short on a busy machine.
    """
    _end_sessions(admin, name)
    admin.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))


def _end_sessions(connection: psycopg.Connection[Any], database: str) -> None:
    """Terminate the other sessions of this role, and wait until they have ended."""
    own_sessions = "datname = %s AND usename = current_user AND pid <> pg_backend_pid()"
    connection.execute(
        f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE {own_sessions}", (database,)
    )


def _filled(connection: psycopg.Connection[Any], tables: Sequence[str]) -> list[str]:
    """Return the tables that have rows."""
    if_filled = sql.SQL("SELECT {} WHERE EXISTS (SELECT FROM {})")
    statement = sql.SQL(" UNION ALL ").join(
        if_filled.format(sql.Literal(name), sql.Identifier(name)) for name in tables
    )
    return [name for (name,) in connection.execute(statement)]


def _single_value(connection: psycopg.Connection[Any], statement: LiteralString) -> object:
    row = connection.execute(statement).fetchone()
    return row and row[0]


def _connect(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(libpq(sqlalchemy_url(url)), autocommit=True)


def drop_leftovers(server: str) -> None:
    """Drop the databases of runs that were killed."""
    with _connect(server) as admin:
        names = admin.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", (PREFIX + "%",)).fetchall()
        for (name,) in names:
            owner = OWNED.fullmatch(name)
            if owner and _start_of(int(owner[1])) != int(owner[2]):
                _drop(admin, name)


def _start_of(process: int) -> int | None:
    """Return when the process started, in clock ticks since the boot (proc_pid_stat(5)); None if it has ended."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
    except (FileNotFoundError, ProcessLookupError):
        return None
