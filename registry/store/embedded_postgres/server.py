"""The embedded PostgreSQL: one server per folder, shared by any number of processes and stopped after the last one.

A process needs only `start`. An exclusive `flock` on `start.lock` serialises starters. Every user process holds a
shared `flock` on `users.lock`, which the kernel releases when it ends; `watchdog.py` stops the server when that lock
has no holder. `home.py` finds the directories and binaries, `cluster.py` starts the server. POSIX only; elsewhere set
DATABASE_URL. Standard library only, so that a process finds a running server in milliseconds.
"""

import contextlib
import fcntl
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from registry.store.embedded_postgres import watchdog
from registry.store.embedded_postgres.cluster import IN_BACKGROUND, NAME, PingResult, ask, bring_up, detach
from registry.store.embedded_postgres.home import EmbeddedUnavailable, ServerHome, find_home

__all__ = ["EmbeddedServer", "EmbeddedUnavailable", "start"]


@dataclass(eq=False)
class _Hold:
    """The shared lock of this process on one home, and the number of its users in this process."""

    home: Path
    lock: int
    users: int = 0

    def leave(self) -> None:
        self.users -= 1
        if not self.users and _holds.get(self.home) is self:
            os.close(_holds.pop(self.home).lock)


@dataclass(eq=False)
class EmbeddedServer:
    """A reference to a running server, which runs at least until this is released or the process ends."""

    dsn: str  # for SQLAlchemy; the same in every process that shares the server
    _hold: _Hold | None = field(repr=False)

    def release(self) -> None:
        """Release this reference; others in this process stay valid. Does nothing if repeated or in a fork."""
        with _mutex:
            hold, self._hold = self._hold, None
            if hold is not None:
                hold.leave()


def start(folder: Path) -> EmbeddedServer:
    """Start the server of `folder` unless it runs, and hold it for this process; block until it answers.

    Call it from any thread and any number of processes, and again after the server was lost: committed data is kept.
    Each call returns a separate reference. The folder is created if missing. Log files: `log/`, and `start.log` for
    output from before logging began.

    Raise EmbeddedUnavailable if PostgreSQL is missing or cannot run, or the folder belongs to another user; OSError if
    the folder cannot be written.
    """
    with _mutex:
        server_home = find_home(folder)
        with _exclusive(server_home.home) as start_lock:
            hold = _hold(server_home.home)
            try:
                _ensure_watchdog(server_home)
                if ask(server_home) is not PingResult.READY:
                    bring_up(server_home, start_lock)
            except BaseException:
                hold.leave()
                raise
        dsn = f"postgresql+psycopg://{NAME}@/{NAME}?host={quote(str(server_home.sockets))}"
        return EmbeddedServer(dsn, hold)


# The locks of this process. A forked child must not use its parent's locks, so it takes new ones.

_mutex = threading.Lock()
_holds: dict[Path, _Hold] = {}


def _forget() -> None:
    for hold in _holds.values():
        os.close(hold.lock)  # close only, because unlocking would release the parent's lock too
    _holds.clear()
    _mutex.release()


os.register_at_fork(before=_mutex.acquire, after_in_parent=_mutex.release, after_in_child=_forget)


@contextlib.contextmanager
def _exclusive(home: Path) -> Iterator[int]:
    lock = watchdog.open_lock(str(home), watchdog.START_LOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def _hold(home: Path) -> _Hold:
    """Add a user to this process's shared lock, which is taken for the first user."""
    hold = _holds.get(home)
    if hold is not None and not watchdog.is_current(hold.lock, str(home), watchdog.USERS_LOCK):
        os.close(_holds.pop(home).lock)
        hold = None
    if hold is None:
        hold = _Hold(home, watchdog.open_lock(str(home), watchdog.USERS_LOCK))
        fcntl.flock(hold.lock, fcntl.LOCK_SH)
        _holds[home] = hold
    hold.users += 1
    return hold


def _ensure_watchdog(server_home: ServerHome) -> None:
    lock = watchdog.open_lock(str(server_home.home), watchdog.WATCHDOG_LOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # it runs already
    else:
        program = [sys.executable, "-I", "-S", watchdog.__file__]
        program += [str(server_home.home), str(server_home.sockets), str(lock)]
        detach(IN_BACKGROUND, ["watchdog", *program], server_home.home / "watchdog.log", cwd="/", pass_fds=(lock,))
    finally:
        os.close(lock)
