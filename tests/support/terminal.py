"""Run a command on a real terminal (a pty), and read the bytes that it writes there."""

import fcntl
import os
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence

from tests.support.hang import HANG_SECONDS


def run_on_terminal(
    command: Sequence[str], environment: Mapping[str, str], *, answer: bytes = b"", columns: int = 80
) -> tuple[int, bytes]:
    """Return the exit code, and everything that it wrote to a terminal of this width. `answer` is typed into it."""
    terminal, process = start_on_terminal(command, environment, columns=columns)
    try:
        os.write(terminal, answer)
        output = read_terminal(terminal, process)
        return process.wait(), output
    finally:
        process.kill()
        os.close(terminal)


def start_on_terminal(
    command: Sequence[str], environment: Mapping[str, str], *, columns: int = 80
) -> tuple[int, subprocess.Popen[bytes]]:
    """Start a command with a terminal as its three streams; return the other end of the terminal and the process."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**environment, "TERM": "xterm-256color"}
    environment = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    return ours, process


def read_terminal(terminal: int, process: subprocess.Popen[bytes], until: bytes | None = None) -> bytes:
    """Return what arrives until the process has ended, or until `until` is part of it."""
    output, deadline = b"", time.monotonic() + HANG_SECONDS
    while until is None or until not in output:
        assert time.monotonic() < deadline, output
        has_ended = process.poll() is not None
        if not select.select([terminal], [], [], 0.1)[0]:
            if has_ended:
                break
            continue
        try:
            chunk = os.read(terminal, 65_536)
        except OSError:  # the last process closed its end
            break
        if not chunk:
            break
        output += chunk
    return output
