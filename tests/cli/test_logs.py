"""Log lines are JSON for programs; on a terminal they are text, and only what needs attention is shown."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cluster import copy_cluster
from tests.support.demo import forget_database
from tests.support.terminal import read_terminal, run_on_terminal, start_on_terminal

PROGRAM = r"""
import logging, structlog
from registry.cli.common import read_settings
read_settings()
log = structlog.get_logger("registry.test")
log.info("visit.recorded", host="a.example")
log.warning("worker.died", exit_code=1, place="a\x1b[2J\u202eb")
logging.getLogger("crawler.test").warning("lease lost \x9b1m")
logging.getLogger("somelibrary").warning("text of a site")
try:
    raise ValueError("\x1b]0;title\x07")
except ValueError:
    log.exception("round.failed")
"""


def environment(**settings: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    return inherited | settings


def test_a_program_gets_json_lines() -> None:
    completed = subprocess.run([sys.executable, "-c", PROGRAM], env=environment(), capture_output=True, check=True)
    events = [json.loads(line) for line in completed.stderr.splitlines()]
    assert completed.stderr.isascii()
    assert [event.get("event") for event in events] == [
        "visit.recorded", "worker.died", "lease lost \x9b1m", None, "round.failed",
    ]  # fmt: skip
    assert events[1]["exit_code"] == 1 and events[3] == {"level": "warning", "logger": "somelibrary"}


def test_a_terminal_gets_text_and_only_warnings() -> None:
    code, output = run_on_terminal([sys.executable, "-c", PROGRAM], environment())
    lines = output.decode().replace("\r\n", "\n").splitlines()
    assert code == 0
    assert "visit.recorded" not in output.decode() and "text of a site" not in output.decode()
    assert [line.partition(" ")[2] for line in lines[:4]] == [
        r"warning: worker.died exit_code=1 place=a\x1b[2J\u202eb",
        r"warning: lease lost \x9b1m",
        "warning: somelibrary",
        "error: round.failed",
    ]
    assert lines[4] == "Traceback (most recent call last):" and r"ValueError: \x1b]0;title\x07" in lines
    assert not [line for line in lines if line.startswith("{")]
    assert not {b"\x1b", b"\x9b", b"\x07"} & {output[number : number + 1] for number in range(len(output))}


def test_the_setting_shows_more() -> None:
    _, output = run_on_terminal([sys.executable, "-c", PROGRAM], environment(WAYPOST_LOG_LEVEL="INFO"))
    assert b"info: visit.recorded host=a.example" in output
    _, output = run_on_terminal([sys.executable, "-c", PROGRAM], environment(WAYPOST_LOG_LEVEL="ERROR"))
    assert b"worker.died" not in output


@pytest.mark.slow
def test_serve_on_a_terminal_prints_no_json(tmp_path: Path) -> None:
    """The worker that it starts writes to the same terminal."""
    copy_cluster(tmp_path / "postgres")
    command = [sys.executable, "-m", "registry.cli", "serve", "--port", "0", "--data", str(tmp_path)]
    terminal, process = start_on_terminal(command, environment(DATABASE_URL=""))
    try:
        output = read_terminal(terminal, process, until=b"/api/discover?q=send+an+email")
        process.send_signal(signal.SIGINT)
        output += read_terminal(terminal, process)
        assert process.wait() == 0, output
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
        forget_database(tmp_path)
    assert b"{" not in output and b"started" not in output
