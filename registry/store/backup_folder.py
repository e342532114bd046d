"""The folder of a backup: a few files, and a manifest with their checksums that is written last.

A backup is written beside its place under another name, synced and renamed, so an interrupted one is never taken for a
whole one. A folder that is read may come from anywhere: only names of a fixed form are opened, never through a symbolic
link, and sizes and numbers have bounds. Checksums find damage, not forgery: a dump is a program for the database.
"""

import contextlib
import fcntl
import hashlib
import io
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from registry.core.reading.foreign_lists import parse_bounded
from registry.core.reading.reader import Unreadable
from registry.store.opt_out_file import sync_folder

FORMAT: Final = "waypost-backup"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
DATABASE: Final = "database.dump"
OPT_OUTS: Final = "opt-outs.log"
DUMPS_MANIFEST: Final = "dumps-manifest.json"
KEY_PREFIX: Final = "signing-key-"

FILE_NAME: Final = re.compile(
    rf"{re.escape(DATABASE)}|{re.escape(OPT_OUTS)}|{re.escape(DUMPS_MANIFEST)}|{KEY_PREFIX}[\w-]{{1,100}}\.(jwk|json|pem)",
    re.ASCII,
)
TABLE_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)
_REVISION: Final = re.compile(r"\w{1,64}", re.ASCII)
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MANIFEST_BYTES: Final = 1024 * 1024
_MANIFEST_VALUES: Final = 10_000
_MAX_NUMBER: Final = 2**62
_WRITING: Final = ".waypost-backup.writing"
"""Name of the temporary folder, the same for all backups of one place, so that the next one clears a killed one."""


class BadBackup(Exception):
    """The folder is no backup, is damaged, or does not restore. The message names the file."""


class BackupRefused(Exception):
    """The backup is not made or not restored here; nothing was changed. The message says what to do."""


@dataclass(frozen=True, slots=True)
class BackupFile:
    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """`waypost`: version of the program. `revision`: of the schema. `server`: version of PostgreSQL as a number such as
    180006. `client`: major version of the pg_dump that wrote the dump. `rows`: by table, in the snapshot of the
    dump."""

    created_at: str
    waypost: str
    revision: str
    server: int
    client: int
    rows: Mapping[str, int]
    files: tuple[BackupFile, ...]

    @property
    def key_files(self) -> list[str]:
        return [file.name for file in self.files if file.name.startswith(KEY_PREFIX)]


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[tuple[Path, int]]:
    """Yield a temporary folder for the files, and the descriptor of its lock, which child programs may inherit. At the
    end of the block the folder is renamed to `target`; after an error it is removed. Raise BackupRefused, OSError."""
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise BackupRefused(f"{target} exists: name a new folder")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = target.parent / _WRITING
    with contextlib.suppress(FileExistsError):
        part.mkdir(mode=0o700)
    lock = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupRefused(f"another process is writing a backup in {target.parent}") from None
        part.chmod(0o700)
        for leftover in part.iterdir():  # of a backup that was killed
            leftover.unlink()
        try:
            yield part, lock
            sync_folder(part)
            part.rename(target)
            sync_folder(target.parent)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    finally:
        os.close(lock)


def write_file(path: Path, content: bytes) -> None:
    """Write a new file that only its owner may read. Raise OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(content)


def seal(folder: Path, **facts: Any) -> BackupManifest:
    """Sync all files of the folder, and write the manifest about them. Return the manifest."""
    files = []
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
            files.append(BackupFile(path.name, os.fstat(file.fileno()).st_size, digest))
    manifest = BackupManifest(files=tuple(files), **facts)
    value = {"format": FORMAT, "version": VERSION} | asdict(manifest)
    path = folder / MANIFEST
    write_file(path, orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return manifest


def read_folder(folder: Path) -> BackupManifest:
    """Return the manifest after every file was compared with it. Raise BadBackup, OSError."""
    with open_file(folder, MANIFEST) as file:
        manifest = _read_manifest(file.read(_MANIFEST_BYTES + 1))
    for listed in manifest.files:
        with open_file(folder, listed.name) as file:
            if os.fstat(file.fileno()).st_size != listed.bytes:
                raise BadBackup(f"{listed.name} does not have the size that the manifest states")
            if hashlib.file_digest(file, "sha256").hexdigest() != listed.sha256:  # guard: backup-checksums
                raise BadBackup(f"{listed.name} is damaged: its checksum is not that of the manifest")
    return manifest


def open_file(folder: Path, name: str) -> io.BufferedReader:
    """Open a regular file of the folder. Raise BadBackup if it is missing, a link, or anything else."""
    try:
        # without O_NONBLOCK, opening a pipe would wait forever
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        hint = "; it is no whole backup" if name == MANIFEST else ""
        raise BadBackup(f"{folder / name}: {error.strerror}{hint}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadBackup(f"{folder / name} is not a regular file")
    return os.fdopen(descriptor, "rb")


def _read_manifest(raw: bytes) -> BackupManifest:
    try:
        value = parse_bounded(raw, max_bytes=_MANIFEST_BYTES, max_values=_MANIFEST_VALUES)
    except Unreadable:
        raise BadBackup(f"{MANIFEST} cannot be read") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise BadBackup(f"{MANIFEST} is not of a backup")
    if value.get("version") != VERSION:
        raise BadBackup("the backup has a version that this program does not read: upgrade waypost")
    files, rows = value.get("files"), value.get("rows")
    if not isinstance(files, list) or not isinstance(rows, dict):
        raise BadBackup(f"{MANIFEST} lacks files or rows")
    manifest = BackupManifest(
        created_at=_text(value, "created_at", re.compile(r"[\d:.T+-]{1,40}", re.ASCII)),
        waypost=_text(value, "waypost", re.compile(r"[\w.+-]{1,60}", re.ASCII)),
        revision=_text(value, "revision", _REVISION),
        server=_number(value, "server"),
        client=_number(value, "client"),
        rows={name: _number(rows, name) for name in rows if TABLE_NAME.fullmatch(name)},
        files=tuple(map(_file, files)),
    )
    names = [file.name for file in manifest.files]
    if len(set(names)) < len(names) or DATABASE not in names or len(manifest.rows) < len(rows):
        raise BadBackup(f"{MANIFEST} names a file twice, no database, or what is no table")
    return manifest


def _file(value: object) -> BackupFile:
    if not isinstance(value, dict):
        raise BadBackup(f"{MANIFEST} has an entry that is no file")
    name = _text(value, "name", FILE_NAME)
    return BackupFile(name, _number(value, "bytes"), _text(value, "sha256", _SHA256))


def _text(value: Mapping[str, Any], name: str, pattern: re.Pattern[str]) -> str:
    text = value.get(name)
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise BadBackup(f"{MANIFEST} has an invalid {name}")
    return text


def _number(value: Mapping[str, Any], name: str) -> int:
    number = value.get(name)
    if type(number) is not int or not 0 <= number <= _MAX_NUMBER:
        raise BadBackup(f"{MANIFEST} has an invalid number")
    return number
