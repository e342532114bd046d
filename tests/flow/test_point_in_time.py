"""Point-in-time recovery as docs/operations.md describes it, and backups, with a PostgreSQL of this machine."""

import os
import pwd
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import trustme

from registry.store.backup_folder import BackupRefused
from registry.store.migrate import upgrade
from registry.store.postgres_programs import ProgramsUnavailable, find_programs
from registry.wiring.backup import make_backup, restore_backup
from tests.flow.test_backup import settings
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs" / "operations.md").read_text()
SERVERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def block(first: str) -> str:
    """Return the block of the page that begins with these words."""
    found = re.search(rf"^```\n({re.escape(first)}.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, first
    return found[1]


class Server:
    """A cluster in a folder of its own, run by the account `postgres`, reached over TCP with a password."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port, self.data = folder, port, folder / "data"
        self.url = f"postgresql://waypost:s3cret@127.0.0.1:{port}/waypost"
        self.admin = f"host={folder} port={port} user=postgres dbname=postgres"

    def run(self, program: str, *arguments: object) -> None:
        """Run one of its programs as its account."""
        account = pwd.getpwnam("postgres")
        subprocess.run(
            [SERVERS[-1] / program, *map(str, arguments)], user=account.pw_uid, group=account.pw_gid, extra_groups=[],
            cwd="/", env={"PATH": os.defpath}, check=True, stdout=subprocess.DEVNULL, timeout=HANG_SECONDS,
        )  # fmt: skip

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        self.run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-o", options, "-w", "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", self.data, "-m", "fast", "-w", "stop")

    def configure(self, text: str) -> None:
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("\n" + text.replace("/var/backups", str(self.folder / "backups")))

    def value(self, statement: str, *, admin: bool = False) -> object:
        with psycopg.connect(self.admin if admin else self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            row = cursor.fetchone() if cursor.description else None
            return row and row[0]


@pytest.fixture
def server() -> Iterator[Server]:
    if os.geteuid() != 0 or not SERVERS:
        pytest.skip("needs root and a PostgreSQL of this machine")
    account = pwd.getpwnam("postgres")
    folder = Path(f"/var/tmp/waypost-test-{os.getpid()}")
    folder.mkdir(mode=0o755)
    for part in ("backups", "backups/wal"):
        (folder / part).mkdir()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, account.pw_uid, account.pw_gid)
    server = Server(folder, 20_000 + os.getpid() % 10_000)
    try:
        server.run("initdb", "-D", server.data, "-U", "postgres", "-A", "trust", "--auth-host=scram-sha-256")
        server.configure(block("wal_level"))
        server.start()
        server.value("CREATE ROLE waypost LOGIN PASSWORD 's3cret'", admin=True)
        server.value("CREATE DATABASE waypost OWNER waypost TEMPLATE template0 ENCODING UTF8", admin=True)
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def waypost(*arguments: str, url: str, data: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": url, "WAYPOST_DATA": str(data)}
    subprocess.run(
        [sys.executable, "-m", "registry.cli", *arguments], env=environment, check=True, timeout=HANG_SECONDS
    )


def seed(server: Server, host: str) -> None:
    server.value(f"INSERT INTO domains (domain, source, created_at, attempts) VALUES ('{host}', 'test', now(), 0)")


def test_a_database_returns_to_a_time_and_keeps_later_opt_outs(server: Server, tmp_path: Path) -> None:
    upgrade(server.url)
    server.run("pg_basebackup", "-h", server.folder, "-p", server.port, "-U", "postgres", "-D",
               server.folder / "backups" / "base", "-c", "fast")  # fmt: skip
    seed(server, "before.com")
    server.value("SELECT pg_switch_wal()", admin=True)
    wanted = str(server.value("SELECT now()::text"))
    time.sleep(0.1)
    waypost("forget", "before.com", "--opt-out", "--yes", url=server.url, data=tmp_path)
    server.value("TRUNCATE domains, opt_outs")  # the accident
    seed(server, "after.com")
    server.value("SELECT pg_switch_wal()", admin=True)

    server.stop()
    server.data.rename(server.folder / "data.old")
    subprocess.run(["cp", "-a", server.folder / "backups" / "base", server.data], check=True)
    recovery = block("restore_command")
    assert "recovery_target_time = '2026-11-28 12:00:00+00'" in recovery
    server.configure(recovery.replace("2026-11-28 12:00:00+00", wanted))
    (server.data / "recovery.signal").touch()
    server.start()
    until = time.monotonic() + HANG_SECONDS
    while server.value("SELECT pg_is_in_recovery()") and time.monotonic() < until:
        time.sleep(0.1)
    assert server.value("SELECT string_agg(domain, ',') FROM domains") == "before.com"
    assert server.value("SELECT count(*) FROM opt_outs") == 0
    waypost("schedule", "--once", "recrawl", url=server.url, data=tmp_path)
    assert server.value("SELECT string_agg(host, ',') FROM opt_outs") == "before.com"


@pytest.mark.parametrize("package", [True, False], ids=["of the package", "of this machine"])
def test_programs_of_either_kind_save_and_restore_an_own_server(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: bool
) -> None:
    """Those of the package are newer than this server, whose settings then differ."""
    upgrade(server.url)
    seed(server, "before.com")
    if package:
        monkeypatch.setattr("registry.store.embedded_postgres.home.SYSTEM_BINARIES", tmp_path)
        monkeypatch.setenv("PATH", "/nonexistent")
    else:
        monkeypatch.setattr("registry.store.embedded_postgres.home.package_folder", lambda: None)
    config = settings(server.url, tmp_path)
    make_backup(config, tmp_path / "backup", with_keys=False)
    server.value("TRUNCATE domains; INSERT INTO opt_outs VALUES ('o.com', 'o.com', 'operator', '', now())")
    with pytest.raises(BackupRefused, match="--replace waypost"):
        restore_backup(config, tmp_path / "backup", replaces=None, with_keys=False)
    restore_backup(config, tmp_path / "backup", replaces="waypost", with_keys=False)
    assert server.value("SELECT string_agg(domain, ',') FROM domains") == "before.com"
    assert server.value("SELECT string_agg(host, ',') FROM opt_outs") == "o.com"
    assert find_programs(1).version == (18 if package else int(SERVERS[-1].parent.name))


def test_the_programs_of_the_package_are_not_used_where_the_connection_has_tls(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were built without TLS, and would send the password over a plain connection."""
    upgrade(server.url)
    certificate = trustme.CA().issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(server.folder / "tls.pem")
    account = pwd.getpwnam("postgres")
    os.chown(server.folder / "tls.pem", account.pw_uid, account.pw_gid)
    (server.folder / "tls.pem").chmod(0o600)
    server.stop()
    server.configure(f"ssl = on\nssl_cert_file = '{server.folder}/tls.pem'\nssl_key_file = '{server.folder}/tls.pem'\n")
    server.start()
    make_backup(settings(server.url, tmp_path), tmp_path / "backup", with_keys=False)
    monkeypatch.setattr("registry.store.embedded_postgres.home.SYSTEM_BINARIES", tmp_path)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ProgramsUnavailable, match="with TLS, as this connection has"):
        make_backup(settings(server.url, tmp_path), tmp_path / "other", with_keys=False)
    assert not (tmp_path / "other").exists()
