"""The embedded PostgreSQL: one server per folder, shared by any number of processes, gone after the last of them.

`start` is all that a process needs. Starters are serialised by an exclusive `flock` on `start.lock`; whoever
uses the server holds a shared one on `users.lock` until it ends, however it ends; `watchdog.py` stops the server
when nobody holds that any more. `embedded_place.py` knows where the server lives, `embedded_cluster.py` how it comes
up.

POSIX only; elsewhere DATABASE_URL names a server. Standard library only, so that a further process finds the
running server in milliseconds.
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

from registry.store import watchdog
from registry.store.embedded_cluster import IN_BACKGROUND, NAME, Answer, ask, bring_up, detach
from registry.store.embedded_place import EmbeddedUnavailable, Place, find_place

__all__ = ["EmbeddedServer", "EmbeddedUnavailable", "start"]


@dataclass(frozen=True)
class EmbeddedServer:
    """This process's hold on a running server; the server stays at least as long as the process or the hold."""

    dsn: str  # for SQLAlchemy; the same in every process that shares the server
    _home: Path = field(repr=False)

    def release(self) -> None:
        """Drops this process's hold. The end of the process, of any kind, does the same."""
        with _mutex:
            lock = _holds.pop(self._home, None)
            if lock is not None:
                os.close(lock)


def start(folder: Path) -> EmbeddedServer:
    """Makes sure that the server of `folder` runs and that this process holds it; blocks until it answers.

    To be called from any thread and any number of processes, and again whenever the server has been lost: it
    comes back with everything that was committed. The folder is made when missing. Log files: `log/`, and
    `start.log` for what happened before logging began.

    Raises EmbeddedUnavailable when PostgreSQL is not there, cannot run, or the folder belongs to somebody else;
    OSError when the folder cannot be written.
    """
    with _mutex:
        place = find_place(folder)
        with _exclusive(place.home) as start_lock:
            new = _hold(place.home)
            try:
                _ensure_watchdog(place)
                if ask(place) is not Answer.READY:
                    bring_up(place, start_lock)
            except BaseException:
                if new:
                    os.close(_holds.pop(place.home))
                raise
        dsn = f"postgresql+psycopg://{NAME}@/{NAME}?host={quote(str(place.sockets))}"
        return EmbeddedServer(dsn, place.home)


# The locks of this process. A forked child must not hold what its parent holds: it starts its own.

_mutex = threading.Lock()
_holds: dict[Path, int] = {}


def _forget() -> None:
    for lock in _holds.values():
        os.close(lock)  # only closed: to unlock would unlock the parent's
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


def _hold(home: Path) -> bool:
    """Takes this process's shared lock; False when it was held already."""
    held = _holds.get(home)
    if held is not None and watchdog.is_current(held, str(home), watchdog.USERS_LOCK):
        return False
    if held is not None:
        os.close(_holds.pop(home))
    lock = watchdog.open_lock(str(home), watchdog.USERS_LOCK)
    fcntl.flock(lock, fcntl.LOCK_SH)
    _holds[home] = lock
    return True


def _ensure_watchdog(place: Place) -> None:
    lock = watchdog.open_lock(str(place.home), watchdog.WATCHDOG_LOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # it is there
    else:
        program = [sys.executable, "-I", "-S", watchdog.__file__, str(place.home), str(place.sockets), str(lock)]
        detach(IN_BACKGROUND, ["watchdog", *program], place.home / "watchdog.log", cwd="/", pass_fds=(lock,))
    finally:
        os.close(lock)
