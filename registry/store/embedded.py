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


@dataclass(eq=False)
class _Hold:
    """The shared lock of this process on one home, and how many have been given a part in it."""

    home: Path
    lock: int
    users: int = 0

    def leave(self) -> None:
        self.users -= 1
        if not self.users and _holds.get(self.home) is self:
            os.close(_holds.pop(self.home).lock)


@dataclass(eq=False)
class EmbeddedServer:
    """A hold on a running server, which stays at least until this is released or the process ends."""

    dsn: str  # for SQLAlchemy; the same in every process that shares the server
    _hold: _Hold | None = field(repr=False)

    def release(self) -> None:
        """Lets go of the server; what else this process started of it keeps it. Again, or in a fork: does nothing."""
        with _mutex:
            hold, self._hold = self._hold, None
            if hold is not None:
                hold.leave()


def start(folder: Path) -> EmbeddedServer:
    """Makes sure that the server of `folder` runs and that this process holds it; blocks until it answers.

    To be called from any thread and any number of processes, and again whenever the server has been lost: it
    comes back with everything that was committed. Each call gives a hold of its own. The folder is made when
    missing. Log files: `log/`, and `start.log` for what happened before logging began.

    Raises EmbeddedUnavailable when PostgreSQL is not there, cannot run, or the folder belongs to somebody else;
    OSError when the folder cannot be written.
    """
    with _mutex:
        place = find_place(folder)
        with _exclusive(place.home) as start_lock:
            hold = _hold(place.home)
            try:
                _ensure_watchdog(place)
                if ask(place) is not Answer.READY:
                    bring_up(place, start_lock)
            except BaseException:
                hold.leave()
                raise
        dsn = f"postgresql+psycopg://{NAME}@/{NAME}?host={quote(str(place.sockets))}"
        return EmbeddedServer(dsn, hold)


# The locks of this process. A forked child must not hold what its parent holds: it starts its own.

_mutex = threading.Lock()
_holds: dict[Path, _Hold] = {}


def _forget() -> None:
    for hold in _holds.values():
        os.close(hold.lock)  # only closed: to unlock would unlock the parent's
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
    """A further part in this process's shared lock, which is taken when nobody has one yet."""
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
