"""The process that calls functions for another one, see `compute`.

It reads jobs from its standard input and writes answers to its standard output, each as its length in eight bytes and a
pickle of that length. A job is (function, arguments, the class of exceptions that it may raise). An answer is a pair of
AnswerKind and value.

The process ends when its input does, also if its parent was killed, and when a job exceeds its deadline.
"""

import contextlib
import os
import pickle
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, BinaryIO, Final

LENGTH_BYTES: Final = 8
NICE: Final = 10
"""Added to the process's nice value, so that answering requests goes first."""
MEMORY_BYTES: Final = 4 << 30
"""Of address space; thread stacks count too, although most of their memory is never used."""


class AnswerKind(Enum):
    """The kind of an answer's value."""

    RESULT = auto()
    RAISED = auto()
    """An exception of the given class."""
    FAILED = auto()
    """Type and stack of another one; its text is left out, because it may contain what clients or sites sent."""


def packed(value: object) -> bytes:
    """Return a value in the format of the pipe."""
    data = pickle.dumps(value)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def unpacked(data: bytes) -> Any:
    """Return the value packed by the process at the other end of the pipe."""
    return pickle.loads(data)  # noqa: S301  (the pipe has no other writer)


def serve(jobs: BinaryIO, answers: BinaryIO, seconds: int) -> None:
    """Answer one job after the other until the input ends."""
    while len(header := jobs.read(LENGTH_BYTES)) == LENGTH_BYTES:
        # The default action ends the process, even inside a C function and without a parent.
        signal.alarm(seconds)  # guard: compute-alarm
        answers.write(packed(_answer(*unpacked(jobs.read(int.from_bytes(header, "big"))))))
        answers.flush()
        signal.alarm(0)


def _answer(
    function: Callable[..., object], arguments: tuple[object, ...], raises: type[Exception]
) -> tuple[AnswerKind, object]:
    try:
        return AnswerKind.RESULT, function(*arguments)
    except raises as error:
        return AnswerKind.RAISED, error
    except Exception as error:
        return AnswerKind.FAILED, (type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))


def main(seconds: int) -> None:
    """Serve until the input ends. `seconds`: the deadline of a job."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    os.nice(NICE)  # guard: compute-priority
    with contextlib.suppress(ValueError):  # a smaller limit is in force
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))  # guard: compute-memory
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # printed output of a function must not become an answer
    serve(sys.stdin.buffer, answers, seconds)
