"""Stop long-running commands on a signal, always within ten seconds.

Normally work in progress is finished or released. Two cases exit immediately, which is as safe as a kill
(docs/operations.md, "When processes die"): the parent process died before any work began, or a shutdown takes too long.

Standard library only: a worker watches its parent before its other imports, which take ten seconds on a busy machine.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final, NoReturn

from registry.tasks import running_beside

SHUTDOWN_SECONDS: Final = 9.5
"""Time from the stop signal to the forced exit."""

ORPHANED, OVERDUE = 0, 3

_STDIN: Final = 0
_LOG_SECONDS: Final = 0.1

log = logging.getLogger(__name__)


class Parent:
    """The parent process, watched through standard input, a pipe that closes when the parent dies for any reason.

    A thread reads the pipe, because not every event loop can wait for every kind of file. It does not use `sys.stdin`:
    Ctrl-C reaches parent and child at once, and an interpreter that exits while a thread holds that buffer's lock
    aborts.
    """

    def __init__(self) -> None:
        self._notify: Callable[[], object] | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, name="parent", daemon=True).start()

    @contextlib.contextmanager
    def sets(self, stop: asyncio.Event) -> Iterator[None]:
        """Set `stop` when the parent dies during the block. At any other time its death ends this process at once."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._notify = lambda: loop.call_soon_threadsafe(stop.set)
        try:
            yield
        finally:
            with self._lock:
                self._notify = None

    def _watch(self) -> None:
        while os.read(_STDIN, 4096):
            pass
        with self._lock:
            if self._notify is None:
                os._exit(ORPHANED)
            self._notify()
        _exit_later()


@contextlib.contextmanager
def stop_on_signals() -> Iterator[asyncio.Event]:
    """Yield an event that SIGINT and SIGTERM set; a second signal interrupts as usual. Main thread only."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def on_signal(number: signal.Signals) -> None:
        stop.set()
        loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield stop
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def exit_process(code: int = 0) -> NoReturn:
    """Exit without tearing the interpreter down, after all resources were closed.

    The teardown costs half a second of CPU, up to five of the ten seconds of a shutdown on a busy machine, and frees
    only what the end of the process frees anyway.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the reader has closed the pipe
            stream.flush()
    os._exit(code)


@contextlib.asynccontextmanager
async def exit_after_deadline(stop: asyncio.Event) -> AsyncIterator[None]:
    """Exit SHUTDOWN_SECONDS after `stop` is set, even if the code after the block is still running."""

    async def watch() -> None:
        await stop.wait()
        threading.Thread(target=_exit_later, name="shutdown deadline", daemon=True).start()

    async with running_beside(watch()):
        yield


def _exit_later() -> None:
    time.sleep(SHUTDOWN_SECONDS)
    # In another thread: writing blocks when the reader of standard error has stopped reading.
    threading.Thread(target=log.error, args=("shutdown.overdue",), daemon=True).start()
    time.sleep(_LOG_SECONDS)
    os._exit(OVERDUE)
