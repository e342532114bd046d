"""Calls functions in other processes, so that work on a large document does not delay the event loop.

A thread would: it takes turns with the event loop by the interpreter lock, some milliseconds each.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import Any, Final, Self

import structlog

from registry.wiring.compute_process import LENGTH_BYTES, Answer, packed, unpacked
from registry.wiring.turns import Crowded as Crowded  # the interfaces catch it
from registry.wiring.turns import Turns

JOB_SECONDS: Final = 30
"""The largest document takes three seconds on a machine that is otherwise idle, ten on one with other work."""
MAX_WAITING: Final = 32
MAX_WAITING_EACH: Final = 2
_PROGRAM: Final = "from registry.wiring.compute_process import main; main({seconds})"

log = structlog.get_logger(__name__)


class NotComputed(Exception):
    """A job was given up: it took too long (`too_long`), raised an error, or its process ended."""

    def __init__(self, *, too_long: bool = False) -> None:
        super().__init__("the job took too long" if too_long else "the job ended without a result")
        self.too_long = too_long


class ComputePool:
    """At most `processes` jobs at once, each in a process of its own, and one of each client. A process is started by
    the first job that needs it and used again; one whose job was given up is replaced.
    """

    def __init__(self, processes: int, *, seconds: int = JOB_SECONDS) -> None:
        self._turns = Turns(processes, 1, MAX_WAITING, MAX_WAITING_EACH)
        self._seconds = seconds
        self._idle: list[_Process] = []
        self._running: set[_Process] = set()
        self._closed = False

    @property
    def pids(self) -> list[int]:
        """Process ids of the processes that live."""
        return [process.pid for process in (*self._running, *self._idle) if process.lives]

    async def run(self, client: str, function: Callable[..., Any], *arguments: Any, raises: type[Exception]) -> Any:
        """Return `function(*arguments)`, all of which pickle can carry; the function is found by its name.

        Raise Crowded when too many jobs wait, NotComputed when this one is given up, and what the function raises if it
        is of the class `raises`.
        """
        with contextlib.closing(await self._turns.take(client)):
            return await self._in_process(packed((function, arguments, raises)), function.__qualname__)

    async def close(self) -> None:
        """End all processes. Jobs that run or wait are given up."""
        self._closed = True
        processes = [*self._running, *self._idle]
        self._idle.clear()
        for process in processes:
            process.kill()
        for process in processes:
            await process.gone()

    async def _in_process(self, job: bytes, name: str) -> Any:
        if self._closed:
            raise NotComputed
        process = await self._free_process()
        self._running.add(process)
        try:
            async with asyncio.timeout(self._seconds):  # guard: compute-deadline
                kind, value = await process.ask(job)
        except TimeoutError:
            log.warning("compute.too_long", function=name, seconds=self._seconds)
            raise NotComputed(too_long=True) from None
        except (EOFError, OSError):
            log.error("compute.process_ended", function=name, exit_code=await process.gone())
            raise NotComputed from None
        else:
            self._idle.append(process)
        finally:
            self._running.discard(process)
            if process not in self._idle:
                process.kill()  # guard: compute-kill
        if kind is Answer.RAISED:
            raise value
        if kind is Answer.FAILED:
            error, frames = value
            log.error("compute.failed", function=name, error=error, frames=frames)
            raise NotComputed
        return value

    async def _free_process(self) -> "_Process":
        while self._idle:
            if (process := self._idle.pop()).lives:
                return process
        try:
            return await _Process.start(self._seconds)
        except OSError as error:  # no memory, no free file descriptor
            log.error("compute.no_process", error=type(error).__name__)
            raise NotComputed from None


class _Process:
    """A running `compute_process`. Its standard input is a pipe that closes when this process ends."""

    def __init__(
        self, child: asyncio.subprocess.Process, jobs: asyncio.StreamWriter, answers: asyncio.StreamReader
    ) -> None:
        self._child = child
        self._jobs = jobs
        self._answers = answers

    @classmethod
    async def start(cls, seconds: int) -> Self:
        """`seconds`: after this time and a little more it ends a job by itself."""
        command = (sys.executable, "-c", _PROGRAM.format(seconds=seconds + 5))
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        if child.stdin is None or child.stdout is None:
            raise OSError("a pipe is missing")
        return cls(child, child.stdin, child.stdout)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def lives(self) -> bool:
        return self._child.returncode is None

    async def ask(self, job: bytes) -> tuple[Answer, Any]:
        """Return the answer. Raise EOFError (IncompleteReadError) or OSError when the process ends instead."""
        self._jobs.write(job)
        await self._jobs.drain()
        length = int.from_bytes(await self._answers.readexactly(LENGTH_BYTES), "big")
        answer: tuple[Answer, Any] = unpacked(await self._answers.readexactly(length))
        return answer

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._child.kill()

    async def gone(self) -> int:
        """Return the exit code once the process has ended."""
        return await self._child.wait()
