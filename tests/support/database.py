"""A real PostgreSQL for every test that wants one: `database_url` is an empty, migrated database of its own.

The server is WAYPOST_TEST_DATABASE_URL (a role that may create databases) or the embedded one, in a folder that all
runs of this user share. Migrations run once per process, into a template; a database of it takes some 30 ms.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from registry.store import embedded
from registry.store.engine import libpq, make_engine, sqlalchemy_url
from registry.store.migrate import upgrade
from registry.store.unit_of_work import Store

SERVER = "WAYPOST_TEST_DATABASE_URL"
PREFIX = "waypost_test"

_numbers = count(1)


@pytest.fixture(scope="session")
def database_server() -> str:
    """URL of a server on which databases may be created.

    The embedded one is let go of by the end of the process: there is a fixture for each conftest that imports it.
    """
    if url := os.environ.get(SERVER):
        return url
    server = embedded.start(Path(tempfile.gettempdir()) / f"waypost-tests-{os.geteuid()}")
    _drop_leftovers(server.dsn)
    return server.dsn


@pytest.fixture(scope="session")
def database_template(database_server: str) -> Iterator[str]:
    """Name of a migrated database that nobody is connected to."""
    with new_database(database_server, "template") as name:
        upgrade(on(database_server, name))
        yield name


@pytest.fixture
def database_url(database_server: str, database_template: str) -> Iterator[str]:
    with new_database(database_server, "test", database_template) as name:
        yield on(database_server, name)


@pytest.fixture
def empty_database_url(database_server: str) -> Iterator[str]:
    """A database without any schema."""
    with new_database(database_server, "empty") as name:
        yield on(database_server, name)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    opened = Store(make_engine(database_url, pool_size=5))
    yield opened
    await opened.close()


async def rows(store: Store, statement: str) -> list[tuple[Any, ...]]:
    """What a query gives, read as it is stored."""
    async with store.engine.connect() as connection:
        return [tuple(row) for row in await connection.exec_driver_sql(statement)]


async def until_true(asks: Callable[[], Awaitable[object]], seconds: float = 60.0) -> None:
    """Asks until the answer is true: no event tells what other sessions and processes do. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not await asks():  # noqa: ASYNC110  (see above)
            await asyncio.sleep(0.02)


async def waiting_for_locks(store: Store) -> int:
    """How many transactions of this database wait for a lock."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return len(await rows(store, waiting))


def on(server: str, database: str) -> str:
    """The URL of another database of the same server."""
    return sqlalchemy_url(server).set(database=database).render_as_string(hide_password=False)


@contextmanager
def new_database(server: str, kind: str, template: str = "template0") -> Iterator[str]:
    """The process id in the name tells whose it is: see `_drop_leftovers`."""
    name = f"{PREFIX}_{os.getpid()}_{kind}_{next(_numbers)}"
    with psycopg.connect(libpq(sqlalchemy_url(server)), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
        try:
            yield name
        finally:
            _drop(admin, name)


def _drop(admin: psycopg.Connection[Any], name: str) -> None:
    """Not WITH (FORCE), which fails when autovacuum, whom only a superuser may stop by force, is at work there.

    For the end of its sessions DROP waits five seconds, which a busy machine may need for less.
    """
    ours = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = %s AND usename = current_user"
    admin.execute(ours, (name,))
    admin.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))


def _drop_leftovers(server: str) -> None:
    """Databases of runs that were killed."""
    with psycopg.connect(libpq(sqlalchemy_url(server)), autocommit=True) as admin:
        names = admin.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", (PREFIX + "%",)).fetchall()
        for (name,) in names:
            if not _is_running(int(name.split("_")[2])):
                _drop(admin, name)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
