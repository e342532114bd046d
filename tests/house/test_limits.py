"""Every test has a hard time limit, and a test that hangs is ended wherever and however it hangs."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import Module, modules
from tests.support.depth import DEPTH
from tests.support.limits import MAX_SECONDS
from tests.support.shared import ROOT

HANGING = """
import asyncio, itertools, subprocess, sys, time
import pytest

def test_sleep():
    time.sleep(3600)

async def test_future():
    await asyncio.get_running_loop().create_future()

async def test_busy_task_beside_a_future():  # the alarm finds the other task
    async def spin():
        while True:
            await asyncio.sleep(0)
    task = asyncio.create_task(spin())
    await asyncio.get_running_loop().create_future()

@pytest.fixture
def slow_setup():
    time.sleep(3600)

@pytest.fixture
async def slow_teardown():
    yield
    await asyncio.Event().wait()

def test_setup(slow_setup):
    pass

async def test_teardown(slow_teardown):
    pass

async def test_teardown_after_a_failure(slow_teardown):
    assert False

def test_process():
    subprocess.run([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    subprocess.run(["sleep", "3600"])

def test_catches_everything():
    while True:
        try:
            time.sleep(3600)
        except BaseException:
            pass

def test_c_function():
    sum(itertools.repeat(0))

def test_honest():
    pass
"""


@pytest.mark.slow
def test_a_hanging_test_is_ended(tmp_path: Path) -> None:
    (tmp_path / "test_hanging.py").write_text(HANGING)
    output = run_pytest(tmp_path, "-n", "2", "--timeout", "4")
    failed = {name for line in output.splitlines() for name in re.findall(r"^(?:FAILED|ERROR) \S+::(\w+)", line)}
    assert failed == set(re.findall(r"def (test_\w+)", HANGING)) - {"test_honest"}, output
    assert re.search(r"^PASSED \S+::test_honest", output, re.MULTILINE), output
    assert "in test_c_function" in output, "no stack of the process that was ended"


@pytest.mark.slow
def test_a_thread_that_hangs_does_not_keep_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_thread.py").write_text(
        "import threading, time\n"
        "def test_thread():\n    threading.Thread(target=time.sleep, args=(3600,), name='left').start()\n"
    )
    output = run_pytest(tmp_path, "-p", "no:xdist", environment={"WAYPOST_TEST_EXIT_SECONDS": "1"})
    assert "1 passed" in output and "Timeout (0:00:01)!" in output


SIGNALS = """
import os, signal, subprocess, sys, time

def test_signals():
    own = [signal.SIGINT, signal.SIGHUP]
    for number in own:
        os.kill(os.getpid(), number)
    program = "import signal; print(*[signal.getsignal(number) is not signal.SIG_IGN for number in (1, 2)])"
    assert subprocess.check_output([sys.executable, "-c", program]) == b"True True\\n"
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-n", "1"]])
def test_a_run_in_the_background_ignores_signals_and_its_programs_do_not(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "test_signals.py").write_text(SIGNALS)
    output = run_pytest(tmp_path, *options, shell="trap '' INT HUP;", code=0)
    assert "1 passed" in output


def run_pytest(folder: Path, *options: str, environment: dict[str, str] | None = None, shell: str = "",
               code: int = 1) -> str:  # fmt: skip
    """Run the tests of a folder with the limits of this suite; return the output.

    Without source lines: an interrupted event loop that is collected while `ast` parses one fails the parser in
    CPython 3.11 (issue 106905).
    """
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "-rA"]
    command += ["-p", "tests.support.limits", "--tb=line", *options, str(folder)]
    command = ["sh", "-c", f'{shell} exec "$@"', "sh", *command]
    completed = subprocess.run(
        command, cwd=ROOT, env=os.environ | (environment or {}), capture_output=True, text=True, check=False
    )
    assert completed.returncode == code, completed.stdout + completed.stderr
    return completed.stdout + completed.stderr


def test_every_test_of_this_run_has_a_limit(request: pytest.FixtureRequest) -> None:
    limits = {item.nodeid: item.get_closest_marker("timeout") for item in request.session.items}
    assert [test for test, limit in limits.items() if not limit or not 0 < limit.args[0] <= MAX_SECONDS * DEPTH] == []
    assert float(request.config.getini("timeout")) > 0 and request.config.getini("timeout_method") == "signal"


def test_declared_limits_are_short_enough() -> None:
    assert [problem for module in modules("tests") for problem in excessive_limits(module)] == []


def excessive_limits(module: Module) -> Iterator[str]:
    """Yield the places that declare no limit, one above the maximum, or one that cannot be read here."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Attribute) or ast.unparse(node) != "pytest.mark.timeout" or module.name == LIMITS:
            continue
        calls = [call for call in ast.walk(module.tree) if isinstance(call, ast.Call) and call.func is node]
        arguments = [*calls[0].args, *calls[0].keywords] if calls else []
        if [type(argument) for argument in arguments] != [ast.Constant] or not (
            0 < ast.literal_eval(calls[0].args[0]) <= MAX_SECONDS
        ):
            yield f"{module.name}:{node.lineno}"


LIMITS = "tests/support/limits.py"


@pytest.mark.parametrize("declared", ["", "()", "(0)", "(601)", "(LONG)", "(timeout=30)", "(30, func_only=True)"])
def test_an_excessive_limit_is_found(tmp_path: Path, declared: str) -> None:
    path = tmp_path / "planted.py"
    path.write_text(f"import pytest\n\n@pytest.mark.timeout(30)\n@pytest.mark.timeout{declared}\ndef test(): ...\n")
    assert [place.rpartition(":")[2] for place in excessive_limits(Planted(path, path.read_text()))] == ["4"]


class Planted(Module):
    name = "planted.py"  # type: ignore[assignment]  # outside the root
