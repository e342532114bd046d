"""One PostgreSQL cluster: is it there, make it, launch it, bring it back after a crash.

Nothing here trusts what a killed process left behind: a cluster counts when its directory has its final name, a
server is up when it lets us in, a pid file counts when its process serves our data.
"""

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

from registry.store import watchdog
from registry.store.embedded_place import (
    SOCKET_FILE,
    EmbeddedUnavailable,
    Place,
    find_binaries,
    identity,
    make_directory,
)

NAME = "waypost"  # of the role and of the database, also in CREATE_DATABASE
ANSWER_SECONDS = 2.0
LAUNCHES = 40  # a killed postmaster's shared memory stays in use until its last backend has noticed: some seconds
LAUNCH_PAUSE_SECONDS = 0.25
RECOVERY_SECONDS = 300.0  # replaying the log after a crash
LOG_DAYS = 7

IN_BACKGROUND = 'exec "$@" </dev/null &\n'
LAUNCH = f"""{IN_BACKGROUND}
until read -r pid rest <"$0" && [ "$pid" = $! ] || ! kill -0 $!; do sleep 0.02; done 2>/dev/null
"""

# The whole configuration; initdb's own file is not read. {sockets} is a plain path (embedded_place.PLAIN_PATH).
SETTINGS = """\
listen_addresses = ''
unix_socket_directories = '{sockets}'
unix_socket_permissions = 0700
max_connections = 100
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
# Statements stay out of the log (last line): they carry what strangers published, at any length.

CREATE_DATABASE = """\
SELECT 'CREATE ROLE waypost LOGIN CREATEDB'
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'waypost') \\gexec
SELECT 'CREATE DATABASE waypost OWNER waypost'
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'waypost') \\gexec
"""


class Answer(Enum):
    """What the server says to somebody who wants into the database."""

    READY = "ready"
    NO_DATABASE = "running, without our role or database"
    NOT_YET = "starting, recovering or stopping"
    NONE = "nobody listens"


def ask(place: Place) -> Answer:
    """Logs in once, in the protocol's own words (PostgreSQL documentation, "Message Flow", start-up).

    A pid file, `pg_ctl status` and an accepted connection each can speak for a server that is dead or of no use.
    """
    parameters = f"user\0{NAME}\0database\0{NAME}\0\0".encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(ANSWER_SECONDS)
        try:
            line.connect(str(place.sockets / SOCKET_FILE))
            line.sendall(struct.pack("!ii", len(parameters) + 8, 3 << 16) + parameters)
            return _read_answer(line)
        except (FileNotFoundError, ConnectionRefusedError):
            return Answer.NONE
        except (TimeoutError, EOFError, BlockingIOError, BrokenPipeError, ConnectionResetError):
            return Answer.NOT_YET


def bring_up(place: Place, start_lock: int) -> None:
    """From whatever state to a server that lets us in. Only to be called under start.lock.

    Raises EmbeddedUnavailable with the server's last words when it does not come up.
    """
    programs, version = find_binaries(place)
    if not (place.data / "PG_VERSION").exists():
        _initialise(place, programs, version, start_lock)
    deadline = time.monotonic() + RECOVERY_SECONDS
    launches = 0
    while (answer := ask(place)) is not Answer.READY:
        if answer is Answer.NO_DATABASE:
            _create_database(place, programs)
        elif answer is Answer.NONE and not _lives(place):
            if launches:
                time.sleep(LAUNCH_PAUSE_SECONDS)
            _launch(place, programs, start_lock)
            launches += 1
        if launches > LAUNCHES or time.monotonic() > deadline:
            raise EmbeddedUnavailable(f"the PostgreSQL in {place.home} does not come up: {_last_words(place)}")
        time.sleep(0.01)


def detach(script: str, command: list[str], output: Path, **how: Any) -> None:
    """Starts a program as nobody's child in a session of its own, out of reach of the terminal.

    `script` begins with IN_BACKGROUND; the first of `command` is its `$0`, the rest the program and its arguments.
    All output goes to a new file `output`. The shell in between ends before this returns, so that the program's end
    leaves no zombie of ours. (`pg_ctl start` does the same, but lets the shell interpret the paths.)
    """
    log = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        subprocess.run(["/bin/sh", "-c", script, *command], stdout=log, stderr=log, start_new_session=True, **how)
    finally:
        os.close(log)


def _read_answer(line: socket.socket) -> Answer:
    with line.makefile("rb") as stream:
        for _ in range(100):  # a login is about 20 messages
            head = stream.read(5)
            if len(head) < 5:
                raise EOFError
            body = stream.read(struct.unpack("!i", head[1:])[0] - 4)
            if head[:1] == b"Z":
                return Answer.READY
            if head[:1] == b"E":
                return _read_refusal(body)
    raise EOFError


def _read_refusal(body: bytes) -> Answer:
    fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
    match fields.get(b"C"):
        case "53300":  # too many connections: it runs, and those who hold them have a database
            return Answer.READY
        case "57P03":  # cannot connect now
            return Answer.NOT_YET
        case "28000" | "3D000":  # no such role, no such database
            return Answer.NO_DATABASE
    raise EmbeddedUnavailable(f"the embedded PostgreSQL refuses a connection: {fields.get(b'M')}")


def _lives(place: Place) -> bool:
    """Whether a server is there that will answer or end."""
    return watchdog.serves(watchdog.pid_in(str(place.data / watchdog.PID_FILE)), str(place.home))


def _initialise(place: Place, programs: Path, version: int, start_lock: int) -> None:
    """Makes the cluster aside and gives it its name when it is complete.

    initdb inherits the starter's lock: should the starter be killed, the next one waits until initdb has ended
    too, instead of clearing the directory under it.
    """
    fresh = place.home / "data.new"
    if fresh.exists():
        shutil.rmtree(fresh)
    make_directory(fresh, 0o700, place.account)
    if version >= 17:  # the same order on every machine, whatever its C library
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        if sys.platform == "linux":
            locale.append("--lc-ctype=C.UTF-8")  # what pg_trgm takes for letters
    else:
        locale = ["--locale=C.UTF-8"]
    command = [
        str(programs / "initdb"),
        "--pgdata",
        str(fresh),
        "--username=postgres",
        "--encoding=UTF8",
        *locale,
        "--auth-local=trust",
        "--auth-host=reject",  # the socket's directory admits nobody else
    ]
    done = subprocess.run(command, capture_output=True, text=True, pass_fds=(start_lock,), **identity(place.account))
    if done.returncode != 0:
        raise EmbeddedUnavailable(f"initdb failed: {done.stderr.strip()[-1000:]}")
    fresh.rename(place.data)
    directory = os.open(place.home, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _launch(place: Place, programs: Path, start_lock: int) -> None:
    """Starts the server; returns when its pid file is there, or the process is not.

    Until then the shell holds the starter's lock too, as its standard input: should the starter be killed, the
    watchdog finds a server that it can stop.
    """
    make_directory(place.sockets, 0o700, place.account)
    make_directory(place.home / "log", 0o700, place.account)
    _clear_stale(place)
    _prune_logs(place.home / "log")
    settings = place.home / "postgresql.conf"
    part = settings.with_suffix(".part")
    part.unlink(missing_ok=True)
    part.write_text(SETTINGS.format(sockets=place.sockets), encoding="utf-8")
    part.chmod(0o644)  # read by the account that runs the server
    part.replace(settings)
    server = [str(programs / "postgres"), "-D", str(place.data), "-c", f"config_file={settings}"]
    command = [str(place.data / watchdog.PID_FILE), *server]
    detach(LAUNCH, command, place.home / "start.log", stdin=start_lock, **identity(place.account))


def _clear_stale(place: Place) -> None:
    """Removes lock files whose pid belongs to a zombie or, since a reboot, to a stranger.

    PostgreSQL refuses to start for those; for a process that is gone it knows itself what to do.
    """
    for path in (place.data / watchdog.PID_FILE, place.sockets / f"{SOCKET_FILE}.lock"):
        pid = watchdog.pid_in(str(path))
        if pid is not None and _exists(pid) and not watchdog.serves(pid, str(place.home)):
            path.unlink(missing_ok=True)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _prune_logs(directory: Path) -> None:
    """PostgreSQL empties last week's log file only when it runs over midnight."""
    for path in directory.glob("server-*.log"):
        if path.lstat().st_mtime < time.time() - (LOG_DAYS - 1) * 86400:
            path.unlink()


def _create_database(place: Place, programs: Path) -> None:
    """Our role owns its database and may make others, no more: an injected statement is not a superuser's."""
    command = [str(programs / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(place.sockets),
               "-U", "postgres", "-d", "postgres"]  # fmt: skip
    done = subprocess.run(command, input=CREATE_DATABASE, capture_output=True, text=True, **identity(place.account))
    if done.returncode != 0:
        raise EmbeddedUnavailable(f"cannot create the database {NAME}: {done.stderr.strip()[-1000:]}")


def _last_words(place: Place) -> str:
    try:
        return (place.home / "start.log").read_text(errors="replace").strip()[-1000:] or "it said nothing"
    except FileNotFoundError:
        return "it was never launched"
