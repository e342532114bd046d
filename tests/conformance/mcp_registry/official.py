"""Runs the official MCP registry over a PostgreSQL of its own. It needs the extension uuid-ossp, which the embedded
PostgreSQL lacks and those of distributions have."""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.conformance.check import Failed, output_of
from tests.conformance.tools import Missing, Tools

PACKAGE: Final = "github.com/modelcontextprotocol/registry/cmd/registry"
VERSION: Final = "v1.8.8"
START_SECONDS: Final = 120
_PLACES: Final = "postgresql/*/bin"
_EXTENSIONS: Final = ("postgresql/*/extension/uuid-ossp.control", "pgsql/extension/uuid-ossp.control")


@contextlib.contextmanager
def official(tools: Tools, folder: Path, *, seed_from: str = "") -> Iterator[str]:
    """Yield the URL of an official registry, empty or seeded from a URL. Raise Missing, or Failed when it ends."""
    program = tools.go_install(PACKAGE, VERSION)
    folder.mkdir(parents=True)
    log = folder / "registry.log"
    port = _free_port()
    with _database(folder) as database:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "MCP_REGISTRY_SERVER_ADDRESS": f"127.0.0.1:{port}",
            "MCP_REGISTRY_DATABASE_URL": database,
            "MCP_REGISTRY_JWT_PRIVATE_KEY": secrets.token_hex(32),
            "MCP_REGISTRY_ENABLE_REGISTRY_VALIDATION": "false",  # it would ask package registries
            "MCP_REGISTRY_SEED_FROM": seed_from,
        }
        with log.open("wb") as output:
            process = subprocess.Popen([program], env=environment, stdout=output, stderr=output, cwd=folder)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(f"{url}/v0.1/ping", process, log)
            _check_import(log, seed_from)
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _check_import(log: Path, seed_from: str) -> None:
    """Raise Failed when the import, which ends before the server listens, had errors."""
    text = log.read_text(errors="replace")
    if seed_from and ("Failed to import" in text or "Import completed successfully" not in text):
        raise Failed(text[-4_000:])


@contextlib.contextmanager
def _database(folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database, of a server in `folder` that ends with the block."""
    tools = _postgres()
    data, sockets = folder / "data", folder / "sockets"
    sockets.mkdir()
    prefix = _as_other_user(folder)
    port = _free_port()
    output_of(
        [*prefix, tools / "initdb", "-D", data, "-U", "judge", "-A", "trust", "-E", "UTF8", "--no-sync"], folder=folder
    )
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={sockets} -c fsync=off"
    output_of(
        [*prefix, tools / "pg_ctl", "-D", data, "-w", "-l", folder / "postgres.log", "-o", options, "start"],
        folder=folder,
    )
    try:
        yield f"postgres://judge@127.0.0.1:{port}/postgres?sslmode=disable"
    finally:
        output_of([*prefix, tools / "pg_ctl", "-D", data, "-m", "immediate", "stop"], folder=folder)


def _postgres() -> Path:
    if not any(any(Path("/usr/share").glob(pattern)) for pattern in _EXTENSIONS):
        raise Missing("PostgreSQL with the extension uuid-ossp: not installed")
    places = sorted(Path("/usr/lib").glob(_PLACES), reverse=True)
    found = shutil.which("pg_ctl")
    places += [Path(found).parent] if found else []
    place = next((place for place in places if (place / "initdb").exists()), None)
    if place is None:
        raise Missing("PostgreSQL: no initdb")
    return place


def _as_other_user(folder: Path) -> Sequence[str]:
    """Return what to put before commands of PostgreSQL, which refuses to run as root; `folder` becomes that user's."""
    if os.geteuid() != 0:
        return ()
    setpriv = shutil.which("setpriv")
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        user = None
    if setpriv is None or user is None:
        raise Missing("PostgreSQL: it does not run as root, and there is no user postgres or no setpriv")
    for path in (folder, *folder.iterdir()):
        os.chown(path, user.pw_uid, user.pw_gid)
    for parent in folder.parents:  # temporary folders can be entered by their owner only
        if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o001)
    return (setpriv, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")


def _wait_for(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise Failed(f"the official registry does not answer\n{log.read_text(errors='replace')[-4_000:]}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
