"""Create a database for each run, and measure the CPU time of PostgreSQL."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql

from registry.store.engine import libpq, sqlalchemy_url
from registry.store.migrate import upgrade

PREFIX = "waypost_bench"
_TICKS = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def template(server: str) -> Iterator[str]:
    """Yield the name of a migrated template database; it includes the process id, so benchmarks may run in parallel."""
    name = f"{PREFIX}_{os.getpid()}_template"
    _drop_leftovers(server)
    with connected(server) as admin:
        drop(admin, name)
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            upgrade(_on(server, name))
            yield name
        finally:
            drop(admin, name)


@contextlib.contextmanager
def fresh(server: str, template: str) -> Iterator[str]:
    """Yield the URL of an empty, migrated database that is dropped afterwards."""
    name = f"{PREFIX}_{os.getpid()}_run"
    with connected(server) as admin:
        drop(admin, name)
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
        try:
            yield _on(server, name)
        finally:
            drop(admin, name)


def main_process(server: str) -> int:
    """Return the process id of the postmaster, the parent of all backends."""
    with connected(server) as admin:
        row = admin.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        return _stat(int(str(row[0])))[1]


def cpu(main: int) -> float:
    """Return the CPU seconds of the server's processes, including those that have ended."""
    ended = sum(_stat(main)[2:])
    return (ended + sum(sum(_stat(child)[2:4]) for child in _children(main))) / _TICKS


def seconds_per_visit(database: str) -> float:
    """Return the average duration of a host's visit, from the ledger."""
    with connected(database) as reader:
        row = reader.execute("SELECT avg(extract(epoch FROM finished_at - started_at))::float8 FROM visits").fetchone()
    assert row is not None
    return float(str(row[0] or 0.0))


def _drop_leftovers(server: str) -> None:
    """Drop the databases of killed runs."""
    with connected(server) as admin:
        for row in admin.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", (PREFIX + "%",)).fetchall():
            name = str(row[0])
            if not Path("/proc", name.split("_")[2]).exists():
                drop(admin, name)


def connected(server: str) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(libpq(sqlalchemy_url(server)), autocommit=True)


def drop(admin: "psycopg.Connection[tuple[object, ...]]", name: str) -> None:
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND usename = current_user", (name,)
    )
    admin.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))


def _on(server: str, database: str) -> str:
    return sqlalchemy_url(server).set(database=database).render_as_string(hide_password=False)


def _stat(process: int) -> list[int]:
    """Return process id, parent, then user and system time of itself and of its ended children, in ticks."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return [process, 0, 0, 0, 0, 0]
    return [process, int(fields[1]), *map(int, fields[11:15])]


def _children(parent: int) -> list[int]:
    processes = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [process for process in processes if _stat(process)[1] == parent]
