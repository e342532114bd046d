"""`waypost backup` and `waypost restore` with PostgreSQL's own programs on real databases."""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest
from alembic import command

from registry.core.access.tokens import ApiKey
from registry.settings import Settings
from registry.store.backup_folder import DATABASE, MANIFEST, BackupRefused, BadBackup
from registry.store.engine import libpq, make_engine, sqlalchemy_url
from registry.store.migrate import current_head, make_config, revisions
from registry.store.opt_out_file import OptOutFile, OptOutLine
from registry.store.records import OptOutRecord
from registry.store.unit_of_work import Store
from registry.wiring import backup, open_waypost
from registry.wiring.backup import BackupManifest, RestoreResult, check_backup
from registry.wiring.signing_keys import KeyFiles
from tests.support import database
from tests.support.builders import HOUR, NOW, adp_site, crawl, on
from tests.support.database import new_database, rows, until_true
from tests.support.demo import forget_database
from tests.support.hang import HANG_SECONDS

pytestmark = pytest.mark.slow  # dumps

WRITER = """
import psycopg, sys
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    while True:
        connection.execute("INSERT INTO audit SELECT gen_random_uuid(), now(), 'a', 'b', 'c', 'd', '', '{}'")
"""
HOSTS = ("doves.com", "pigeons.com", "storks.com")


@pytest.fixture
def restored_url(database_server: str) -> Iterator[str]:
    with new_database(database_server, "restored") as name:
        yield database.on(database_server, name)


def settings(url: str | None, folder: Path) -> Settings:
    return Settings.model_validate({"data": folder, "database_url": url})


async def make_backup(config: Settings, folder: Path, *, with_keys: bool = False) -> BackupManifest:
    return await asyncio.to_thread(backup.make_backup, config, folder, with_keys=with_keys)


async def restore_backup(
    config: Settings, folder: Path, *, replaces: str | None = None, with_keys: bool = False
) -> RestoreResult:
    return await asyncio.to_thread(backup.restore_backup, config, folder, replaces=replaces, with_keys=with_keys)


def name_of(url: str) -> str:
    return str(sqlalchemy_url(url).database)


def value(url: str, statement: str) -> object:
    with psycopg.connect(libpq(sqlalchemy_url(url))) as connection:
        row = connection.execute(statement.encode()).fetchone()
        return row and row[0]


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def fill(store: Store) -> None:
    await crawl(store, {host: adp_site(host) for host in HOSTS})


async def test_a_restored_registry_is_the_one_that_was_saved(
    store: Store, database_url: str, restored_url: str, tmp_path: Path
) -> None:
    await fill(store)
    before = {host: await on(store).queries.service(host, include_details=True) for host in HOSTS}
    async with store.begin() as uow:
        await uow.api_keys.add(ApiKey("k1", "on call", ("blocks",), b"digest", NOW, None, None, None))
    here, there = settings(database_url, tmp_path / "here"), settings(restored_url, tmp_path / "there")
    key = KeyFiles(here).add(0)
    for with_keys in (False, True):
        folder = tmp_path / str(with_keys)
        manifest = await make_backup(here, folder, with_keys=with_keys)
        assert (manifest.rows["services"], manifest.rows["visits"]) == (3, 3)
        result = await restore_backup(there, folder, replaces=name_of(restored_url), with_keys=with_keys)
        assert (result.keys, [one.id for one in KeyFiles(there).read()]) == ((1, [key.id]) if with_keys else (0, []))
        assert (value(restored_url, "SELECT revoked_at FROM api_keys") is None) == with_keys
    restored = Store(make_engine(restored_url, pool_size=2))
    try:
        assert {host: await on(restored).queries.service(host, include_details=True) for host in HOSTS} == before
        with pytest.raises(BackupRefused, match="connections use the database: stop serve"):
            await restore_backup(there, tmp_path / "True", replaces=name_of(restored_url), with_keys=True)
    finally:
        await restored.close()


async def test_an_older_backup_brings_no_site_back(
    store: Store, database_url: str, restored_url: str, tmp_path: Path
) -> None:
    """One opted out on this machine, one in the backup's file only, one in the replaced database only."""
    await fill(store)
    here = settings(database_url, tmp_path / "here")
    saved = OptOutFile(tmp_path / "here" / "opt-outs.log")
    saved.append([OptOutLine("out", "storks.com", "operator", "of the backup", NOW)])
    await make_backup(here, tmp_path / "backup")
    await restore_backup(settings(restored_url, tmp_path / "first"), tmp_path / "backup")
    replaced = Store(make_engine(restored_url, pool_size=2))
    async with replaced.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("doves.com", "doves.com", "operator", "of another machine", NOW)])
    await replaced.close()
    present = OptOutFile(tmp_path / "there" / "opt-outs.log")
    present.append([OptOutLine("out", "pigeons.com", "operator", "after the backup", NOW + HOUR)])

    there = settings(restored_url, tmp_path / "there")
    for name in (None, "waypost"):
        with pytest.raises(BackupRefused, match=f"add --replace {name_of(restored_url)}"):
            await restore_backup(there, tmp_path / "backup", replaces=name)
    await restore_backup(there, tmp_path / "backup", replaces=name_of(restored_url))
    async with open_waypost(there) as waypost:
        for host in HOSTS:
            assert await waypost.queries.service(host) is None
            assert (await waypost.frontier.submit(host)).state == "opted_out"
    assert sorted(line.host for line in present.read()[0]) == [*HOSTS]
    assert value(database_url, "SELECT count(*) FROM services") == 3, "the saved registry is as it was"


async def test_a_backup_during_writes_has_one_snapshot(
    store: Store, database_url: str, restored_url: str, tmp_path: Path
) -> None:
    await fill(store)
    with started([sys.executable, "-c", WRITER, libpq(sqlalchemy_url(database_url))]) as writer:
        await until_true(lambda: rows(store, "SELECT 1 FROM audit HAVING count(*) > 50"))
        manifest = await make_backup(settings(database_url, tmp_path), tmp_path / "backup")
        assert writer.poll() is None
        writer.kill()
    await restore_backup(settings(restored_url, tmp_path), tmp_path / "backup")
    assert value(restored_url, "SELECT count(*) FROM audit") == manifest.rows["audit"] > 50


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rows": {"services": 4}}, "services differs from the manifest: 3 instead of 4"),
        ({"rows": {"nothing": 0}}, "nothing"),
        ({"revision": "6b1f0c2d9a47"}, "the schema differs"),
        ({"revision": "ffffffffffff"}, "does not know: upgrade waypost"),
        ({"server": 990000}, "of PostgreSQL 99, but this server is"),
    ],
)
async def test_a_refused_backup_changes_nothing(
    store: Store, database_url: str, tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    await fill(store)
    config = settings(database_url, tmp_path)
    await make_backup(config, tmp_path / "backup")
    manifest = orjson.loads((tmp_path / "backup" / MANIFEST).read_bytes())
    (tmp_path / "backup" / MANIFEST).write_bytes(orjson.dumps(manifest | change))
    await store.engine.dispose()
    await store.lane.close()
    with pytest.raises((BadBackup, BackupRefused), match=reason):
        await restore_backup(config, tmp_path / "backup", replaces=name_of(database_url))
    assert await rows(store, "SELECT count(*) FROM services") == [(3,)]


async def test_a_backup_of_an_older_schema_is_migrated(
    empty_database_url: str, restored_url: str, tmp_path: Path
) -> None:
    older = revisions()[-3]
    command.upgrade(make_config(empty_database_url), older)
    assert (await make_backup(settings(empty_database_url, tmp_path), tmp_path / "backup")).revision == older
    await restore_backup(settings(restored_url, tmp_path), tmp_path / "backup")
    assert value(restored_url, "SELECT version_num FROM alembic_version") == current_head()


@pytest.mark.long
async def test_an_embedded_registry_is_saved_checked_and_restored(
    store: Store, database_url: str, tmp_path: Path
) -> None:
    await fill(store)
    await make_backup(settings(database_url, tmp_path), tmp_path / "backup")
    assert (await asyncio.to_thread(check_backup, tmp_path / "backup")).rows["services"] == 3
    assert names_in(tmp_path) == ["backup"]
    new = settings(None, tmp_path / "new")
    await restore_backup(new, tmp_path / "backup")
    async with open_waypost(new) as waypost:
        assert await waypost.queries.service(HOSTS[0]) is not None
    forget_database(tmp_path / "new")


@pytest.mark.long
def test_a_killed_backup_is_none_and_the_next_one_is_whole(database_url: str, tmp_path: Path) -> None:
    target, dump = tmp_path / "backup", tmp_path / ".waypost-backup.writing" / DATABASE
    with psycopg.connect(libpq(sqlalchemy_url(database_url))) as blocking:
        blocking.execute("LOCK TABLE audit IN ACCESS EXCLUSIVE MODE")  # pg_dump waits in the middle
        with waypost("backup", str(target), url=database_url, data=tmp_path) as process:
            wait_until(dump.exists)
            process.kill()
        assert not target.exists()
        with pytest.raises(BackupRefused, match="another process is writing a backup"):  # its pg_dump has not ended yet
            backup.make_backup(settings(database_url, tmp_path), target, with_keys=False)

    def is_made() -> bool:
        with contextlib.suppress(BackupRefused):
            backup.make_backup(settings(database_url, tmp_path), target, with_keys=False)
        return target.exists()

    wait_until(is_made)
    assert names_in(tmp_path) == ["backup"]


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk_is_reported_and_leaves_nothing(database_url: str, tmp_path: Path) -> None:
    with psycopg.connect(libpq(sqlalchemy_url(database_url)), autocommit=True) as connection:
        connection.execute(
            "INSERT INTO audit SELECT gen_random_uuid(), now(), 'a', 'b', 'c', 'd',"
            " string_agg(md5(random()::text), ''), '{}' FROM generate_series(1, 60000)"
        )
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
    try:
        with waypost("backup", str(disk / "backup"), url=database_url, data=tmp_path) as process:
            _, errors = process.communicate(timeout=HANG_SECONDS)
        assert process.returncode == 3 and b"no space is left on the disk" in errors, errors
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def waypost(*arguments: str, url: str, data: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "DATABASE_URL": url, "WAYPOST_DATA": str(data)}
    return started([sys.executable, "-m", "registry.cli", *arguments], env=environment, stderr=subprocess.PIPE)


def started(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, **options)


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)
