"""One `waypost worker` as a supervised child, for `serve` and `demo` with nothing configured."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Self

import structlog

log = structlog.get_logger(__name__)

STOP_SECONDS = 9.0
"""A worker releases its leases within 7 s (`crawler/run.py`). After this time it is killed, so that its parent stops in
time too."""

_BACK_OFF = (0.2, 1.0, 5.0, 15.0)
_HEALTHY_SECONDS = 30.0


class Worker:
    """Keeps one worker process alive while a block runs. Restarts a dead worker, with a growing delay.

    The child holds the read end of a pipe as its standard input: when this process ends or is killed, the pipe closes
    and the child stops.
    """

    def __init__(self, environment: Mapping[str, str], *arguments: str, log_file: Path | None = None) -> None:
        self._command = [sys.executable, "-m", "registry.cli", "worker", "--stop-with-stdin", *arguments]
        self._environment = {**os.environ, **environment}
        self._log_file = log_file
        self._stopping = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._stop_deadline = 0.0
        self._watcher = threading.Thread(target=self._watch, name="worker-watch", daemon=True)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ask the child to finish, wait, and kill it STOP_SECONDS after the first request. Return when it has ended."""
        self.request_stop()
        if self._child is not None:
            self._end(self._child)
        self._watcher.join(STOP_SECONDS)

    @property
    def pid(self) -> int | None:
        """Return the process id of the running child, or None."""
        child = self._child
        return child.pid if child is not None and child.poll() is None else None

    def request_stop(self) -> None:
        """Ask the child to finish and return at once."""
        if not self._stopping.is_set():
            self._stop_deadline = time.monotonic() + STOP_SECONDS
            self._stopping.set()
        if self._child is not None:
            _close(self._child)

    def _watch(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            started = time.monotonic()
            with self._output() as output:
                self._child = child = subprocess.Popen(
                    self._command, env=self._environment, stdin=subprocess.PIPE, stdout=output, stderr=output
                )
            if self._stopping.is_set():
                _close(child)
                self._end(child)
            code = child.wait()
            _close(child)
            if self._stopping.is_set():
                return
            failures = 0 if time.monotonic() - started > _HEALTHY_SECONDS else failures + 1
            delay = _BACK_OFF[min(failures, len(_BACK_OFF)) - 1] if failures else 0.0
            log.warning("worker.died", exit_code=code, again_in_seconds=delay)
            self._stopping.wait(delay)

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        try:
            child.wait(max(0.0, self._stop_deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()

    @contextlib.contextmanager
    def _output(self) -> Iterator[IO[bytes] | None]:
        if self._log_file is None:
            yield None
            return
        with self._log_file.open("ab") as output:
            yield output


def _close(child: subprocess.Popen[bytes]) -> None:
    if child.stdin is not None:
        with contextlib.suppress(OSError):
            child.stdin.close()
