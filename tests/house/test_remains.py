"""A run passes beside the remains of one that was killed."""

import os
import shutil
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from registry.store.embedded_postgres import server as embedded
from registry.store.embedded_postgres.home import find_home
from registry.store.engine import libpq, sqlalchemy_url
from tests.support.cluster import copy_cluster
from tests.support.database import PREFIX, drop_leftovers, new_database
from tests.support.demo import forget_database


def test_databases_of_killed_runs_are_dropped(database_server: str) -> None:
    """In a container the killed process had the id of this one."""
    gone = f"{PREFIX}_{os.getpid()}_1_template_1"
    with (
        new_database(database_server, "kept") as kept,
        psycopg.connect(libpq(sqlalchemy_url(database_server)), autocommit=True) as admin,
    ):
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(gone)))
        drop_leftovers(database_server)
        names = {name for (name,) in admin.execute("SELECT datname FROM pg_database").fetchall()}
    assert kept in names and gone not in names


@pytest.mark.slow
def test_a_new_folder_takes_nothing_from_a_killed_run(tmp_path: Path) -> None:
    """Root's clusters lie outside the folder; here a server still runs on one, and a copy of another was cut short."""
    folder = tmp_path / "data" / "postgres"
    copy_cluster(folder)
    if not (folder / "data").is_symlink():
        pytest.skip("only root's clusters lie outside the folder")
    server = embedded.start(folder)
    (find_home(folder).home / "data.copy").mkdir()
    shutil.rmtree(folder)
    copy_cluster(folder)
    server.release()
    again = embedded.start(folder)
    try:
        with psycopg.connect(libpq(sqlalchemy_url(again.dsn))) as connection:
            assert connection.execute("SELECT count(*) FROM domains").fetchone() == (0,)
    finally:
        again.release()
        forget_database(tmp_path / "data")
