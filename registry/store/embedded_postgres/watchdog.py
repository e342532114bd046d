# ruff: noqa: PTH106, PTH116, PTH118, PTH123
"""Stops an embedded PostgreSQL server when its last user process has ended for any reason.

Every user process holds a shared `flock` on `users.lock`, which the kernel releases with the process, also after
SIGKILL. The watchdog blocks on the exclusive lock, so that it wakes when the last holder has ended. New users join
under `start.lock`, and the server is stopped under it: a new user finds it either running or stopped.

Started by `registry.store.embedded_postgres.server` as `python -I -S watchdog.py HOME SOCKETS FD`, where FD is
`watchdog.lock`, already locked: the lock passes to the watchdog without a gap. The file imports little (no pathlib: it
would double the time and the memory of a process that sleeps for days).
"""

import contextlib
import fcntl
import os
import signal
import sys
import time

START_LOCK = "start.lock"
USERS_LOCK = "users.lock"
WATCHDOG_LOCK = "watchdog.lock"
DATA = "data"
PID_FILE = "postmaster.pid"
FAST_STOP_SECONDS = 60.0
IMMEDIATE_STOP_SECONDS = 10.0


def open_lock(home: str, name: str) -> int:
    """Return a descriptor of the lock file `name` in `home`, created if missing; child programs do not inherit it.
    Raise OSError, also for a symbolic link: root must not be redirected out of the folder."""
    return os.open(os.path.join(home, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def is_current(lock: int, home: str, name: str) -> bool:
    """Return whether `lock` is still the file of that name: the folder can be removed and created again."""
    try:
        return os.path.samestat(os.fstat(lock), os.stat(os.path.join(home, name)))
    except FileNotFoundError:
        return False


def arguments(pid: int) -> bytes:
    """Return the command line of a process; empty if it has ended or is a zombie."""
    if sys.platform == "linux":
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read()
        except OSError:
            return b""
    import subprocess  # imported here: Linux does not need it

    return subprocess.run(["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, check=False).stdout


def pid_in(pid_file: str) -> int | None:
    """Return the pid in the first line of a PostgreSQL pid or socket lock file, or None."""
    try:
        with open(pid_file, "rb") as file:
            return abs(int(file.readline(32)))
    except (OSError, ValueError):
        return None


def serves(pid: int | None, home: str) -> bool:
    """Return whether the process is alive and was started on this home's data. Checked by its arguments, not by a
    signal: zombies and unrelated processes with a recycled pid accept signals too."""
    separator = b"\0" if sys.platform == "linux" else b" "
    data_option = separator.join((b"-D", os.fsencode(os.path.join(home, DATA)), b""))
    return pid is not None and data_option in arguments(pid)


def stop(home: str) -> None:
    """Stop the server of this home: fast, then immediately if that takes too long (its log is then replayed)."""
    pid = pid_in(os.path.join(home, DATA, PID_FILE))
    for number, seconds in ((signal.SIGINT, FAST_STOP_SECONDS), (signal.SIGQUIT, IMMEDIATE_STOP_SECONDS)):
        if pid is None or not serves(pid, home):
            return
        os.kill(pid, number)
        deadline = time.monotonic() + seconds
        while serves(pid, home) and time.monotonic() < deadline:
            time.sleep(0.01)


def watch(home: str, sockets: str, watchdog_lock: int) -> None:
    """Block until the home has no user; stop its server, remove the directory of its socket and return."""
    # Cleaners of temporary directories (systemd-tmpfiles) skip a locked directory, and a home can be in one.
    fcntl.flock(os.open(home, os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_SH)
    users, start = open_lock(home, USERS_LOCK), open_lock(home, START_LOCK)
    while True:
        fcntl.flock(users, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_UN)  # never wait for start.lock with this held: a starter needs both
        fcntl.flock(start, fcntl.LOCK_EX)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:  # a new user has joined meanwhile
            fcntl.flock(start, fcntl.LOCK_UN)
    if is_current(users, home, USERS_LOCK):
        stop(home)
        with contextlib.suppress(OSError):  # not empty after a crash
            os.rmdir(sockets)
    os.close(watchdog_lock)  # before start.lock is released, or the next starter would rely on this process
    os.close(start)


if __name__ == "__main__":
    watch(sys.argv[1], sys.argv[2], int(sys.argv[3]))
