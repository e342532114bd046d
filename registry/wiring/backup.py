"""Backups: the database, the file of opt-outs, the manifest of the dumps and, on request, the signing keys."""

import asyncio
import contextlib
import importlib.metadata
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from registry.core.web_bot_auth import MAX_KEY_BYTES
from registry.settings import POSTGRES_FOLDER, Settings
from registry.store import migrate
from registry.store.backup import Database
from registry.store.backup_folder import (
    DATABASE,
    DUMPS_MANIFEST,
    KEY_PREFIX,
    OPT_OUTS,
    new_folder,
    open_file,
    read_folder,
    seal,
    write_file,
)
from registry.store.backup_folder import BackupManifest as BackupManifest  # the command line names it
from registry.store.backup_folder import BackupRefused as BackupRefused  # the command line catches it
from registry.store.backup_folder import BadBackup as BadBackup  # the command line catches it
from registry.store.dump_files import MANIFEST as DUMP_MANIFEST
from registry.store.embedded_postgres import server as embedded
from registry.store.embedded_postgres import watchdog
from registry.store.embedded_postgres.home import find_home
from registry.store.opt_out_file import MAX_LINE_BYTES, OptOutFile, read_lines
from registry.store.postgres_programs import ProgramsUnavailable as ProgramsUnavailable  # the command line catches it
from registry.wiring import open_waypost, opt_out_path, utc_now
from registry.wiring.embedded_database import database_url
from registry.wiring.signing_keys import KeyFiles


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """`keys`: signing keys that were put back."""

    manifest: BackupManifest
    keys: int


def make_backup(settings: Settings, folder: Path, *, with_keys: bool) -> BackupManifest:
    """Write a backup to a new folder while everything may run. Raise BackupRefused, ProgramsUnavailable, OSError,
    BadDatabaseUrl, KeysUnusable or one of NOT_READY; nothing is left then."""
    with new_folder(folder) as (part, lock), _database(settings) as database:
        facts = database.dump(part, lock)
        # After the dump, so that the file has every opt-out that the dump has.
        _copy_if_exists(opt_out_path(settings), part / OPT_OUTS)
        _copy_if_exists(settings.dumps_folder / DUMP_MANIFEST, part / DUMPS_MANIFEST)
        if with_keys:
            for path in KeyFiles(settings).paths():
                _copy_if_exists(path, part / f"{KEY_PREFIX}{path.name}")
        version = importlib.metadata.version("waypost")
        return seal(part, created_at=utc_now().isoformat(timespec="seconds"), waypost=version, **facts)


def check_backup(folder: Path) -> BackupManifest:
    """Restore a backup into a temporary embedded server beside the folder, compare it with its manifest, and migrate
    it to the schema of this program. Nothing of it stays. Raise BadBackup, BackupRefused, ProgramsUnavailable, OSError
    or one of NOT_READY."""
    manifest = read_folder(folder)
    scratch = Path(tempfile.mkdtemp(prefix=".waypost-check-", dir=folder.absolute().parent))
    scratch.chmod(0o711)  # started by root, another account runs the server and has to reach its data
    home = find_home(scratch / POSTGRES_FOLDER)
    try:
        server = embedded.start(scratch / POSTGRES_FOLDER)
        try:
            with open_file(folder, DATABASE) as dump:
                Database(server.dsn, is_embedded=True).restore(dump, manifest, revokes_keys=False)
            migrate.upgrade(server.dsn)
        finally:
            server.release()
    finally:
        watchdog.stop(str(home.home))
        for remains in (home.sockets, home.home, scratch):
            shutil.rmtree(remains, ignore_errors=True)
    return manifest


def restore_backup(settings: Settings, folder: Path, *, replaces: str | None, with_keys: bool) -> RestoreResult:
    """Restore a backup into the database of the settings, and apply the opt-outs of the backup, of this machine and of
    the replaced database. Everything is verified before anything is changed.

    `replaces`: name of the database, if it may hold something. `with_keys`: put signing keys back, and leave API keys
    valid. Raise BadBackup, BackupRefused, ProgramsUnavailable, OSError, BadDatabaseUrl, KeysUnusable or one of
    NOT_READY."""
    manifest = read_folder(folder)
    with _database(settings) as database:
        state = database.state()
        if state.is_filled and replaces != state.name:
            raise BackupRefused(
                f"the database {state.name} is not empty: to delete everything in it, add --replace {state.name}"
            )
        file = OptOutFile(opt_out_path(settings))
        known = set(file.read()[0])
        saved = []
        if any(listed.name == OPT_OUTS for listed in manifest.files):
            with open_file(folder, OPT_OUTS) as lines:
                saved = read_lines(iter(lambda: lines.readline(MAX_LINE_BYTES + 1), b""))[0]  # bounded lines
        # Before the database changes, so that no moment lacks them.
        missing = dict.fromkeys(line for line in (*saved, *state.opt_outs) if line not in known)
        if missing:
            file.append(missing)  # guard: restore-merges-opt-outs
        with open_file(folder, DATABASE) as dump:
            database.restore(dump, manifest, revokes_keys=not with_keys)
        migrate.upgrade(database.url)
    keys = _restore_keys(settings, folder, manifest) if with_keys else 0
    asyncio.run(_replay_opt_outs(settings))
    return RestoreResult(manifest, keys)


async def _replay_opt_outs(settings: Settings) -> None:
    async with open_waypost(settings):
        pass  # opening the registry applies the file


def _restore_keys(settings: Settings, folder: Path, manifest: BackupManifest) -> int:
    """Add the keys that are missing here, and return how many they were."""
    added = 0
    for name in manifest.key_files:
        with open_file(folder, name) as file:
            added += KeyFiles(settings).put(file.read(MAX_KEY_BYTES + 1))
    return added


@contextlib.contextmanager
def _database(settings: Settings) -> Iterator[Database]:
    url, release = database_url(settings)
    try:
        yield Database(settings.session_url or url, is_embedded=settings.database_url is None)
    finally:
        release()


def _copy_if_exists(source: Path, target: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        write_file(target, source.read_bytes())
