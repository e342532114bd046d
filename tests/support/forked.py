"""`waypost` commands in processes of their own that start at once: each is forked from a process that has imported what
most commands need, which takes two seconds of CPU. Not for tests of imports, of signals, or of a terminal."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.support.shared import ROOT

_PROGRAM = "from tests.support.forked import serve; serve()"
_SINGLE_THREADED = {"OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}  # a process with threads must not fork


def waypost(arguments: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run a command with an empty standard input, and return its exit code and output."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = [str(Path(folder) / name) for name in ("out", "err")]
        code = _ask(json.dumps([list(arguments), dict(environment), outputs]))
        stdout, stderr = (Path(output).read_bytes() for output in outputs)
    return subprocess.CompletedProcess(arguments, code, stdout, stderr)


def serve() -> None:
    """Fork a process for each line of standard input, and write its exit code when it has ended."""
    import registry.actions.queries.inspect
    import registry.cli
    import registry.wiring

    for line in sys.stdin:
        arguments, environment, outputs = json.loads(line)
        if (child := os.fork()) == 0:
            _become(arguments, environment, outputs)
            registry.cli.main()
            return
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


def _become(arguments: list[str], environment: dict[str, str], outputs: list[str]) -> None:
    os.setsid()
    for number, name in enumerate((os.devnull, *outputs)):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["waypost", *arguments]


def _ask(request: str) -> int:
    process = _server()
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(request + "\n")
    process.stdin.flush()
    return int(process.stdout.readline())


@cache
def _server() -> "subprocess.Popen[str]":
    """Start the process that forks. It ends with its standard input, so with this process."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], cwd=ROOT, env={**os.environ, **_SINGLE_THREADED}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
