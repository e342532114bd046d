"""How a command that keeps something running ends: within ten seconds, whatever it is doing.

Those who hold something in flight finish it or give it back. This is for the rest: a parent that is gone before there
is anything to give back, and a stop that takes too long. Both end the process where it is, which the registry
survives as it survives a kill (docs/crash-safety.md).

Standard library only: a worker looks at its parent before it imports what it works with, which takes ten seconds on a
busy machine.
"""

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final, NoReturn

LAST_SECONDS: Final = 9.5
"""From the wish to stop to the end that waits for nothing."""

ORPHANED, OVERDUE = 0, 3

_STDIN: Final = 0
_LAST_WORDS_SECONDS: Final = 0.1

log = logging.getLogger(__name__)


class Parent:
    """The process that holds the other end of our standard input: that pipe closes when it dies, however it dies.

    Watched from now on, by a thread, for no event loop waits on every kind of file. Without `sys.stdin`: Ctrl-C
    reaches parent and child at once, and an interpreter that ends while a thread holds the lock of that buffer aborts.
    """

    def __init__(self) -> None:
        self._tell: Callable[[], object] | None = None
        self._telling = threading.Lock()
        threading.Thread(target=self._watch, name="parent", daemon=True).start()

    @contextlib.contextmanager
    def sets(self, stop: asyncio.Event) -> Iterator[None]:
        """While the block runs the end of the parent sets `stop`. At any other time it ends this process at once."""
        loop = asyncio.get_running_loop()
        with self._telling:
            self._tell = lambda: loop.call_soon_threadsafe(stop.set)
        try:
            yield
        finally:
            with self._telling:
                self._tell = None

    def _watch(self) -> None:
        while os.read(_STDIN, 4096):
            pass
        with self._telling:
            if self._tell is None:
                os._exit(ORPHANED)
            self._tell()
        _end_later()


def leave(code: int = 0) -> NoReturn:
    """Ends a command that has closed what it had.

    To take the interpreter apart costs half a second of CPU, on a busy machine five seconds of the ten that a stop may
    last, and frees what the end of a process frees by itself.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            stream.flush()
    os._exit(code)


@contextlib.asynccontextmanager
async def in_time(stop: asyncio.Event) -> AsyncIterator[None]:
    """Once `stop` is set this process has LAST_SECONDS left, also for what it does behind the block."""

    async def watch() -> None:
        await stop.wait()
        threading.Thread(target=_end_later, name="last seconds", daemon=True).start()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def _end_later() -> None:
    time.sleep(LAST_SECONDS)
    # By another thread: who reads our standard error may have stopped reading.
    threading.Thread(target=log.error, args=("stop.overdue",), daemon=True).start()
    time.sleep(_LAST_WORDS_SECONDS)
    os._exit(OVERDUE)
