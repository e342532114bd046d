"""One PostgreSQL cluster: creates it, starts it, and restarts it after a crash.

The leftovers of a killed process are not trusted. A cluster is complete when its directory has its final name, a server
is up when it accepts a login, and a pid file is valid when its process serves this data directory.
"""

import contextlib
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from enum import Enum
from pathlib import Path
from typing import Any

from registry.store.embedded_postgres import home, watchdog
from registry.store.embedded_postgres.home import EmbeddedUnavailable, ServerHome

NAME = "waypost"  # of the role and of the database, also in CREATE_DATABASE
ANSWER_SECONDS = 2.0
LAUNCHES = 40  # a killed postmaster's shared memory stays in use for seconds, until its last backend has ended
LAUNCH_PAUSE_SECONDS = 0.25
RECOVERY_SECONDS = 300.0  # replaying the log after a crash
LOG_DAYS = 7

IN_BACKGROUND = 'exec "$@" </dev/null &\n'
LAUNCH = f"""{IN_BACKGROUND}
until read -r pid rest <"$0" && [ "$pid" = $! ] || ! kill -0 $!; do sleep 0.02; done 2>/dev/null
"""

# The whole configuration; initdb's own file is not read. {sockets} is a plain path (home.PLAIN_PATH).
SETTINGS = """\
listen_addresses = ''
unix_socket_directories = '{sockets}'
unix_socket_permissions = 0700
max_connections = 300
shared_buffers = 128MB
max_wal_size = 512MB
fsync = on
synchronous_commit = on
timezone = 'UTC'
lc_messages = 'C'
default_text_search_config = 'pg_catalog.simple'
cluster_name = 'waypost'
logging_collector = on
log_directory = '../log'
log_filename = 'server-%a.log'
log_rotation_age = 1d
log_rotation_size = 0
log_truncate_on_rotation = on
log_timezone = 'UTC'
log_checkpoints = off
log_min_error_statement = panic
"""
# Statements stay out of the log (last line): they contain texts of sites, of any length.

CREATE_DATABASE = """\
SELECT 'CREATE ROLE waypost LOGIN CREATEDB'
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'waypost') \\gexec
SELECT 'CREATE DATABASE waypost OWNER waypost'
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'waypost') \\gexec
"""


class PingResult(Enum):
    """The server's answer to an attempt to log in to the database."""

    READY = "ready"
    NO_DATABASE = "running, without our role or database"
    NOT_YET = "starting, recovering or stopping"
    NONE = "not listening"


def ask(server_home: ServerHome) -> PingResult:
    """Log in once over the wire protocol (PostgreSQL documentation, "Message Flow", start-up) and return the answer. A
    pid file, `pg_ctl status` or an accepted connection proves nothing: the server can still be dead or unusable."""
    parameters = f"user\0{NAME}\0database\0{NAME}\0\0".encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_SECONDS)
        try:
            connection.connect(str(server_home.sockets / home.SOCKET_FILE))
            connection.sendall(struct.pack("!ii", len(parameters) + 8, 3 << 16) + parameters)
            return _read_answer(connection)
        except (FileNotFoundError, ConnectionRefusedError):
            return PingResult.NONE
        except (TimeoutError, EOFError, BlockingIOError, BrokenPipeError, ConnectionResetError):
            return PingResult.NOT_YET


def bring_up(server_home: ServerHome, start_lock: int) -> None:
    """Bring the server from any state to accepting logins. Call this only while holding start.lock. Raise
    EmbeddedUnavailable with the server's last output if it does not start."""
    programs, version = home.find_binaries(server_home)
    if not (server_home.data / "PG_VERSION").exists():
        _initialise(server_home, programs, version, start_lock)
    deadline = time.monotonic() + RECOVERY_SECONDS
    launches = 0
    while (answer := ask(server_home)) is not PingResult.READY:
        if answer is PingResult.NO_DATABASE:
            _create_database(server_home, programs)
        elif answer is PingResult.NONE and not watchdog.serves(
            watchdog.pid_in(str(server_home.data / watchdog.PID_FILE)), str(server_home.home)
        ):  # no server process exists, which would answer or end
            if launches:
                time.sleep(LAUNCH_PAUSE_SECONDS)
            _launch(server_home, programs, start_lock)
            launches += 1
        if launches > LAUNCHES or time.monotonic() > deadline:
            output = "it was never launched"
            with contextlib.suppress(FileNotFoundError):
                said = (server_home.home / "start.log").read_text(errors="replace").strip()[-1000:]
                output = said or "it said nothing"
            raise EmbeddedUnavailable(f"the PostgreSQL in {server_home.home} does not start: {output}")
        time.sleep(0.01)


def detach(script: str, command: list[str], output: Path, **options: Any) -> None:
    """Start a program in the background, orphaned and in a new session, so that the terminal cannot end it.

    `script` begins with IN_BACKGROUND; the first of `command` is its `$0`, the rest the program and its arguments. All
    output goes to a new file `output`. The intermediate shell ends before this returns, so that the program never
    becomes a zombie of this process. (`pg_ctl start` does the same, but lets the shell interpret the paths.)
    """
    log = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        subprocess.run(["/bin/sh", "-c", script, *command], stdout=log, stderr=log, start_new_session=True, **options)
    finally:
        os.close(log)


def _read_answer(connection: socket.socket) -> PingResult:
    with connection.makefile("rb") as stream:
        for _ in range(100):  # a login is about 20 messages
            head = stream.read(5)
            if len(head) < 5:
                raise EOFError
            body = stream.read(struct.unpack("!i", head[1:])[0] - 4)
            if head[:1] == b"Z":
                return PingResult.READY
            if head[:1] == b"E":
                return _read_refusal(body)
    raise EOFError


def _read_refusal(body: bytes) -> PingResult:
    fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
    match fields.get(b"C"):
        case "53300":  # too many connections: it runs, and others are using the database
            return PingResult.READY
        case "57P03":  # not yet ready to connect
            return PingResult.NOT_YET
        case "28000" | "3D000":  # no such role, no such database
            return PingResult.NO_DATABASE
    raise EmbeddedUnavailable(f"the embedded PostgreSQL refuses a connection: {fields.get(b'M')}")


def _initialise(server_home: ServerHome, programs: Path, version: int, start_lock: int) -> None:
    """Create the cluster under a temporary name and rename it when it is complete. initdb inherits the starter's lock:
    if the starter is killed, the next one waits until initdb has ended too, instead of deleting the directory that it
    is writing."""
    new_data = server_home.home / "data.new"
    if new_data.exists():
        shutil.rmtree(new_data)
    home.make_directory(new_data, 0o700, server_home.account)
    if version >= 17:  # the same sort order on every machine, with any C library
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        if sys.platform == "linux":
            locale.append("--lc-ctype=C.UTF-8")  # defines what pg_trgm treats as letters
    else:
        locale = ["--locale=C.UTF-8"]
    # the socket's directory admits no other account
    command = [str(programs / "initdb"), "--pgdata", str(new_data), "--username=postgres", "--encoding=UTF8"]
    command += [*locale, "--auth-local=trust", "--auth-host=reject"]
    completed = subprocess.run(
        command, capture_output=True, text=True, pass_fds=(start_lock,), **home.identity(server_home.account)
    )
    if completed.returncode != 0:
        raise EmbeddedUnavailable(f"initdb failed: {completed.stderr.strip()[-1000:]}")
    new_data.rename(server_home.data)
    directory = os.open(server_home.home, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _launch(server_home: ServerHome, programs: Path, start_lock: int) -> None:
    """Start the server; return when its pid file exists or its process has ended. Until then the shell holds the
    starter's lock too, as its standard input. So if the starter is killed, the watchdog finds a server that it can
    stop."""
    home.make_directory(server_home.sockets, 0o700, server_home.account)
    home.make_directory(server_home.home / "log", 0o700, server_home.account)
    _clear_stale(server_home)
    # PostgreSQL truncates last week's log files only when it runs over midnight.
    for path in (server_home.home / "log").glob("server-*.log"):
        if path.lstat().st_mtime < time.time() - (LOG_DAYS - 1) * 86400:
            path.unlink()
    settings = server_home.home / "postgresql.conf"
    part = settings.with_suffix(".part")
    part.unlink(missing_ok=True)
    part.write_text(SETTINGS.format(sockets=server_home.sockets), encoding="utf-8")
    part.chmod(0o644)  # read by the account that runs the server
    part.replace(settings)
    server = [str(programs / "postgres"), "-D", str(server_home.data), "-c", f"config_file={settings}"]
    command = [str(server_home.data / watchdog.PID_FILE), *server]
    detach(LAUNCH, command, server_home.home / "start.log", stdin=start_lock, **home.identity(server_home.account))


def _clear_stale(server_home: ServerHome) -> None:
    """Remove lock files whose pid belongs to a zombie or, after a reboot, to an unrelated process. PostgreSQL refuses
    to start because of those. It handles the files of ended processes itself."""
    for path in (server_home.data / watchdog.PID_FILE, server_home.sockets / f"{home.SOCKET_FILE}.lock"):
        pid = watchdog.pid_in(str(path))
        if pid is not None and _exists(pid) and not watchdog.serves(pid, str(server_home.home)):
            path.unlink(missing_ok=True)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _create_database(server_home: ServerHome, programs: Path) -> None:
    """Create the role and its database. The role is not a superuser, so an injected statement has few rights."""
    command = [str(programs / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(server_home.sockets),
               "-U", "postgres", "-d", "postgres"]  # fmt: skip
    completed = subprocess.run(
        command, input=CREATE_DATABASE, capture_output=True, text=True, **home.identity(server_home.account)
    )
    if completed.returncode != 0:
        raise EmbeddedUnavailable(f"cannot create the database {NAME}: {completed.stderr.strip()[-1000:]}")
