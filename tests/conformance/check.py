"""What a check is: one independent verifier, run against a registry that serves the sample web."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.tools import Tools


class Failed(Exception):
    """The verifier found a fault; the text is its output."""


class Skipped(Exception):
    """The check cannot run here; the text says why. A tool that cannot be had raises `tools.Missing` instead."""


@dataclass(frozen=True, slots=True)
class Site:
    """A served registry.

    `url` has no trailing slash. `environment` lets `waypost` commands work on the same data folder. `folder` is free
    for files of checks, each in a folder of its own.
    """

    url: str
    environment: Mapping[str, str]
    folder: Path


@dataclass(frozen=True, slots=True)
class Check:
    """`run` returns a line about what was verified; it raises Failed, Skipped or `tools.Missing`.

    `verifier` names the program and its version, as it stands in the table of docs/interfaces.md.
    """

    interface: str
    name: str
    verifier: str
    run: Callable[[Site, Tools], str]


def output_of(
    command: Sequence[str | Path],
    *,
    seconds: float = 120,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    accepted: Sequence[int] = (0,),
) -> str:
    """Return what a command printed, both streams. Raise Failed for another exit code or after `seconds`."""
    try:
        process = subprocess.run(
            list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=seconds, env=environment, cwd=folder,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        printed = error.stdout or b""
        text = printed.decode(errors="replace") if isinstance(printed, bytes) else printed
        raise Failed(f"no end after {seconds:.0f} s\n{text[-4_000:]}") from None
    if process.returncode not in accepted:
        raise Failed(f"exit code {process.returncode}\n{process.stdout[-8_000:]}")
    return process.stdout
