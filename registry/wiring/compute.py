"""Calls functions in other processes, so that work on a large document does not delay the event loop.

A thread would delay it: both take turns by the interpreter lock, some milliseconds each.
"""

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Self

import structlog

from registry.wiring.compute_process import LENGTH_BYTES, AnswerKind, packed, unpacked
from registry.wiring.turns import QueueFull as QueueFull  # the interfaces catch it
from registry.wiring.turns import Turns

JOB_SECONDS: Final = 30
"""The largest document takes three seconds on a machine that is otherwise idle, ten on one with other work."""
TOO_LONG_SECONDS: Final = 600
"""For so long no more jobs run for a host after one of its jobs took too long."""
MAX_WAITING: Final = 32
MAX_WAITING_EACH: Final = 2
_PROGRAM: Final = f"from registry.wiring.compute_process import main; main({JOB_SECONDS + 5})"

log = structlog.get_logger(__name__)


class JobGivenUp(Exception):
    """A job was given up because it took too long (`too_long`) or its process ended; or it was not begun, because
    another job about the same host took too long recently."""

    def __init__(self, *, too_long: bool = False) -> None:
        super().__init__("the job took too long" if too_long else "the job ended without a result")
        self.too_long = too_long


class JobError(Exception):
    """A job raised an error, which was logged: a bug."""


class ComputePool:
    """Runs at most `processes` jobs at once, each in a separate process, and one per client. A process is started by
    the first job that needs it and reused; after a job was given up it is replaced.

    Jobs about the stored documents of a host share the processes as `Turns` says.
    """

    def __init__(self, processes: int, deadline: Callable[[], asyncio.Timeout] | None = None) -> None:
        """Start no process yet. `deadline` returns the deadline of a job that begins now; after JOB_SECONDS by
        default."""
        self._turns = Turns(processes, 1, MAX_WAITING, MAX_WAITING_EACH)
        self._deadline = deadline or (lambda: asyncio.timeout(JOB_SECONDS))
        self._idle: list[_Process] = []
        self._running: set[_Process] = set()
        self._closed = False
        self._too_long: dict[str, float] = {}  # hosts, with the time until which no job runs for them
        self.ended: Counter[str] = Counter({"answered": 0, "too_long": 0, "interrupted": 0, "refused": 0})

    @property
    def running(self) -> int:
        return self._turns.taken

    @property
    def waiting(self) -> int:
        return self._turns.waits

    @property
    def pids(self) -> list[int]:
        """Return the ids of the running processes."""
        return [process.child.pid for process in (*self._running, *self._idle) if process.lives]

    async def run(
        self,
        client: str,
        function: Callable[..., Any],
        *arguments: Any,
        raises: type[Exception],
        host: str | None = None,
    ) -> Any:
        """Return `function(*arguments)`. All of these must be picklable; the function is found by its name.

        Raise QueueFull if too many jobs wait, JobGivenUp if this one is given up, the function's error if it is of the
        class `raises`, and JobError for other errors. `host`: the host whose stored documents the job reads.
        """
        self._refuse(host)
        try:
            turn = await self._turns.take(client, host)
        except QueueFull:
            self.ended["refused"] += 1
            raise
        with contextlib.closing(turn):
            self._refuse(host)
            try:
                return await self._in_process(packed((function, arguments, raises)), function.__qualname__)
            except JobGivenUp as failure:
                if host is not None and failure.too_long:
                    self._too_long[host] = asyncio.get_running_loop().time() + TOO_LONG_SECONDS
                raise

    def _refuse(self, host: str | None) -> None:
        """Raise JobGivenUp for a host with a job that took too long recently."""
        now = asyncio.get_running_loop().time()
        self._too_long = {name: until for name, until in self._too_long.items() if until > now}
        if host in self._too_long:  # guard: compute-remembered
            self.ended["refused"] += 1
            raise JobGivenUp(too_long=True)

    async def close(self) -> None:
        """End all processes and give up all running and waiting jobs."""
        self._closed = True
        processes = [*self._running, *self._idle]
        self._idle.clear()
        for process in processes:
            process.kill()
        for process in processes:
            await process.child.wait()

    async def _in_process(self, job: bytes, name: str) -> Any:
        if self._closed:
            raise JobGivenUp
        process = await self._free_process()
        self._running.add(process)
        answered = False
        try:
            async with self._deadline():  # guard: compute-deadline
                kind, value = await process.ask(job)
            answered = True
            self.ended["answered"] += 1
        except TimeoutError:
            self.ended["too_long"] += 1
            log.warning("compute.too_long", function=name)
            raise JobGivenUp(too_long=True) from None
        except (EOFError, OSError):
            self.ended["interrupted"] += 1
            log.error("compute.process_ended", function=name)
            raise JobGivenUp from None
        finally:
            self._running.discard(process)
            if answered:
                self._idle.append(process)
            else:
                process.kill()
        if kind is AnswerKind.RAISED:
            raise value
        if kind is AnswerKind.FAILED:
            error, frames = value
            log.error("compute.failed", function=name, error=error, frames=frames)
            raise JobError
        return value

    async def _free_process(self) -> "_Process":
        while self._idle:
            if (process := self._idle.pop()).lives:
                return process
        try:
            return await _Process.start()
        except OSError as error:  # no memory, no free file descriptor
            log.error("compute.no_process", error=type(error).__name__)
            raise JobGivenUp from None


class _Process:
    """A running `compute_process`. Its standard input is a pipe that closes when this process ends."""

    def __init__(
        self, child: asyncio.subprocess.Process, jobs: asyncio.StreamWriter, answers: asyncio.StreamReader
    ) -> None:
        self.child = child
        self._jobs = jobs
        self._answers = answers

    @classmethod
    async def start(cls) -> Self:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", _PROGRAM, stdin=pipe, stdout=pipe)
        if child.stdin is None or child.stdout is None:
            raise OSError("a pipe is missing")
        return cls(child, child.stdin, child.stdout)

    @property
    def lives(self) -> bool:
        return self.child.returncode is None

    async def ask(self, job: bytes) -> tuple[AnswerKind, Any]:
        """Return the answer. Raise EOFError (IncompleteReadError) or OSError if the process ends instead."""
        self._jobs.write(job)
        await self._jobs.drain()
        length = int.from_bytes(await self._answers.readexactly(LENGTH_BYTES), "big")
        answer: tuple[AnswerKind, Any] = unpacked(await self._answers.readexactly(length))
        return answer

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.child.kill()
