"""A run of .ci/run that takes too long ends by itself, says where it hung and leaves no process behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

DEADLINE = [sys.executable, str(ROOT / ".ci" / "deadline.py")]
OVERDUE = 124


def marked_processes(mark: str) -> list[int]:
    """Return the running processes that inherited this mark."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"MARK={mark}" in (folder / "environ").read_text(errors="replace"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.slow
def test_an_overdue_run_shows_its_stacks_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_hanging.py").write_text(
        "import pathlib, subprocess, time\n"
        "def test_hanging():\n"
        "    subprocess.Popen(['sleep', '3600'], start_new_session=True)\n"
        f"    pathlib.Path({str(tmp_path)!r}, 'reached').touch()\n"
        "    time.sleep(3600)\n"
    )
    tests = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-n", "1",
             "-p", "tests.support.limits", str(tmp_path)]  # fmt: skip
    daemon = f"setsid -f sh -c 'trap \"\" TERM INT HUP; sleep 3600'; {' '.join(tests)}"
    mark = str(tmp_path)
    with subprocess.Popen(
        [*DEADLINE, "3600", "sh", "-c", daemon], cwd=ROOT, env=os.environ | {"MARK": mark}, stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        until = time.monotonic() + HANG_SECONDS
        while not (tmp_path / "reached").exists():
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.1)
        process.send_signal(signal.SIGALRM)  # what its timer sends after 3600 seconds
        _, errors = process.communicate()
    assert process.returncode == OVERDUE, errors
    assert 'test_hanging.py", line 5 in test_hanging' in errors and "sleep 3600" in errors
    assert marked_processes(mark) == []


def test_a_command_that_takes_too_long_is_ended() -> None:
    completed = subprocess.run([*DEADLINE, "0.1", "sleep", "3600"], capture_output=True, text=True, check=False)
    assert completed.returncode == OVERDUE and "not done after 0.1 s" in completed.stderr


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -KILL $$", 137)])
def test_the_exit_code_is_that_of_the_command(script: str, code: int, tmp_path: Path) -> None:
    mark = str(tmp_path)
    command = [*DEADLINE, "3600", "sh", "-c", f"sleep 3600 & {script}"]
    assert subprocess.run(command, env=os.environ | {"MARK": mark}, check=False).returncode == code
    assert marked_processes(mark) == []


def test_a_cancelled_run_leaves_nothing(tmp_path: Path) -> None:
    mark = str(tmp_path)
    command = [*DEADLINE, "3600", "sh", "-c", "sleep 3600 & echo started; wait"]
    with subprocess.Popen(command, env=os.environ | {"MARK": mark}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "started\n"
        process.terminate()
        assert process.wait() == 128 + signal.SIGTERM
    assert marked_processes(mark) == []


def test_the_run_has_a_deadline() -> None:
    assert 'deadline.py "${WAYPOST_CI_SECONDS:-2400}"' in (ROOT / ".ci" / "run").read_text()
