"""Run a command that ends by itself: `python deadline.py SECONDS COMMAND...`. Linux, standard library only.

After SECONDS, each process that still runs is named, each pytest writes the stacks of its threads (it catches SIGUSR1:
tests/support/limits.py), and all are killed; the exit code is 124. SIGTERM, SIGINT and SIGHUP kill them likewise. In
any case nothing that the command started stays behind. A database server is stopped by its watchdog, because another
run may use it too.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
OVERDUE = 124
STACK_SECONDS = 2
DATABASE_SECONDS = 75
"""Until a watchdog has stopped its server: a fast stop, then an immediate one (embedded_postgres/watchdog.py)."""


def main(seconds: float, command: list[str]) -> int:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans, daemons too, become children of this process
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    signal.signal(signal.SIGALRM, raise_timeout)
    try:
        started = subprocess.Popen(command)  # kept: a forgotten one would take its own exit status when collected
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while True:
            process, status = os.waitpid(-1, 0)
            if process == started.pid:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
    except TimeoutError:
        show(f"not done after {seconds:g} s; still running:")
        return OVERDUE
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        end_all()


def raise_timeout(*_: object) -> None:
    raise TimeoutError


def show(headline: str) -> None:
    """Name what still runs, and let every pytest write its stacks."""
    say(headline)
    for process in descendants():
        say(f"{process:8} {description(process)}")
    for process in descendants():
        if catches_sigusr1(process):
            say(f"stacks of {process} {description(process)}:")
            send(process, signal.SIGUSR1)
            time.sleep(STACK_SECONDS)  # one after the other, so that stacks do not mix


def end_all() -> None:
    """Kill what still runs, then wait for the databases that nobody uses any more."""
    deadline = time.monotonic() + DATABASE_SECONDS
    while left := descendants():
        for process in left:
            send(process, signal.SIGCONT if is_database(process) else signal.SIGKILL)
        if time.monotonic() > deadline:
            say("left to another run that uses it: " + ", ".join(map(description, left)))
            return
        time.sleep(0.1)


def descendants() -> list[int]:
    """Return the processes below this one, parents first. Ended children are collected, so that none is a zombie."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(folder.name))
    found = [os.getpid()]
    for process in found:
        found.extend(children.get(process, []))
    return found[1:]


def description(process: int) -> str:
    return read(process, "cmdline").replace("\0", " ").strip()[:300]


def is_database(process: int) -> bool:
    with contextlib.suppress(OSError):
        return "embedded_postgres/watchdog.py" in read(process, "cmdline") or (
            Path(f"/proc/{process}/exe").readlink().name == "postgres"
        )
    return False


def catches_sigusr1(process: int) -> bool:
    """Return whether this is a Python that catches the signal (proc(5), SigCgt): it would end any other."""
    with contextlib.suppress(OSError):
        caught = next(
            (line for line in read(process, "status").splitlines() if line.startswith("SigCgt:")), "SigCgt: 0"
        )
        is_python = Path(f"/proc/{process}/exe").readlink().name.startswith("python")
        return is_python and bool(int(caught.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1)
    return False


def read(process: int, name: str) -> str:
    try:
        return Path(f"/proc/{process}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def send(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def say(line: str) -> None:
    sys.stderr.write(f"==> {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
