"""The folder of a backup: it appears whole or not at all, and a hostile one is refused before anything is opened."""

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from registry.store.backup_folder import (
    DATABASE,
    MANIFEST,
    OPT_OUTS,
    BackupRefused,
    BadBackup,
    new_folder,
    read_folder,
    seal,
    write_file,
)
from registry.store.postgres_programs import Connection, ProgramsUnavailable, find_programs

FACTS = {
    "created_at": "2026-11-28T12:00:00+00:00", "waypost": "0.1.0", "revision": "3b8e5d1f7a26", "server": 180006,
    "client": 18, "rows": {"hosts": 3},
}  # fmt: skip


def make(target: Path) -> Path:
    with new_folder(target) as (part, _):
        write_file(part / DATABASE, b"dump")
        write_file(part / OPT_OUTS, b"lines")
        seal(part, **FACTS)
    return target


def test_a_backup_is_private_and_read_again(tmp_path: Path) -> None:
    manifest = read_folder(make(tmp_path / "new" / "backup"))
    assert (manifest.revision, manifest.rows, [file.name for file in manifest.files]) == (
        FACTS["revision"], {"hosts": 3}, [DATABASE, OPT_OUTS],
    )  # fmt: skip
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "new" / "backup").iterdir()} == {0o600}
    assert (tmp_path / "new" / "backup").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["backup"]


def test_an_interrupted_backup_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "backup") as (part, _):
        write_file(part / DATABASE, b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".waypost-backup.writing").mkdir()  # of a killed process
    write_file(tmp_path / ".waypost-backup.writing" / DATABASE, b"half")
    assert read_folder(make(tmp_path / "backup")).files[0].bytes == 4


def test_places_that_are_taken_are_refused(tmp_path: Path) -> None:
    taken = make(tmp_path / "taken")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    for target in (taken, tmp_path / "link", tmp_path / "file"):
        with pytest.raises(BackupRefused, match="exists"):
            make(target)
    with (
        new_folder(tmp_path / "busy"),
        pytest.raises(BackupRefused, match="another process"),
        new_folder(tmp_path / "busy"),
    ):
        pass


def entry(name: Any, **members: Any) -> dict[str, Any]:
    return {"name": name, "bytes": 4, "sha256": "0" * 64} | members


@pytest.mark.parametrize(
    "change",
    [
        {"files": [entry("../manifest.json")]},
        {"files": [entry("/etc/passwd")]},
        {"files": [entry("database.dump\n")]},
        {"files": [entry("signing-key-../x.pem")]},
        {"files": [entry(7)]},
        {"files": []},
        {"files": [7]},
        {"files": [entry(DATABASE, bytes=2**63)]},
        {"files": [entry(DATABASE, bytes=-1)]},
        {"files": [entry(DATABASE, bytes=True)]},
        {"files": [entry(DATABASE, sha256="x")]},
        {"files": [entry(DATABASE), entry(DATABASE)]},
        {"rows": {"hosts); DROP TABLE hosts; --": 1}},
        {"rows": {"hosts": "1"}},
        {"rows": {"hosts": 1e300}},
        {"rows": {f"t{number}": 1 for number in range(20_000)}},
        {"revision": "'; DROP"},
        {"created_at": "\x1b[31m"},
        {"waypost": ["0.1.0"]},
        {"server": None},
        {"version": 2},
        {"format": "waypost-dump"},
    ],
)
def test_a_hostile_manifest_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = make(tmp_path / "backup")
    manifest = orjson.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_bytes(orjson.dumps(manifest | change))
    with pytest.raises(BadBackup):
        read_folder(folder)


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{", b'{"server": 1e999999999}', b'{"server": ' + b"9" * 10_000 + b"}", b"[" * 2_000_000]
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(raw)
    with pytest.raises(BadBackup):
        read_folder(tmp_path)


def _damaged(path: Path) -> None:
    path.write_bytes(b"pmud")


def _short(path: Path) -> None:
    path.write_bytes(b"dum")


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("name", [DATABASE, MANIFEST])
@pytest.mark.parametrize("change", [_damaged, _short, _link, _pipe, Path.unlink])
def test_files_that_are_not_as_written_are_refused(tmp_path: Path, name: str, change: Any) -> None:
    folder = make(tmp_path / "backup")
    change(folder / name)
    with pytest.raises(BadBackup, match=name):
        read_folder(folder)


def test_too_old_programs_are_refused_in_words() -> None:
    with pytest.raises(ProgramsUnavailable, match=r"PostgreSQL 99 or later are needed.*postgresql-client-99"):
        find_programs(99)


def test_no_secret_is_on_a_command_line() -> None:
    reached = Connection.of("host=a user=b password='s3 cret' dbname=c", is_embedded=False)
    assert "s3" not in reached.conninfo and reached.environment["PGPASSWORD"] == "s3 cret"
    with pytest.raises(ProgramsUnavailable, match="sslpassword"):
        Connection.of("host=a sslpassword=secret", is_embedded=False)
