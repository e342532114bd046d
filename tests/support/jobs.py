"""Jobs for `registry.wiring.compute`, which finds them by name."""

import ctypes
import os
import signal
from pathlib import Path
from typing import NoReturn


class Expected(Exception):
    pass


def add(first: int, second: int) -> int:
    return first + second


def process_id() -> int:
    return os.getpid()


def nice_value() -> int:
    return os.nice(0)


def raise_expected(text: str) -> NoReturn:
    raise Expected(text)


def raise_other(text: str) -> NoReturn:
    raise RuntimeError(text)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for(fifo: Path) -> str:
    """Open the FIFO, which waits until a writer opens it too, and return what is written."""
    return fifo.read_text()


def allocate(size: int) -> int:
    return len(bytes(size))  # without the limit nothing is touched


def hang_outside_python() -> None:
    """Wait for ever in a C function that holds the interpreter lock: nothing but a signal's default action ends it."""
    ctypes.PyDLL(None).pause()


def print_something() -> str:
    print("this is no answer")  # noqa: T201
    return "answer"
