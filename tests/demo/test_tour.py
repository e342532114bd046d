"""The demo: one at a time in a folder, any number of runs, progress, and changes of the sites while it runs."""

import fcntl
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from registry.cli.demo import _bound
from registry.cli.serving import PortInUse
from registry.demo import DemoError
from registry.demo.sites import SAMPLE_WEB
from registry.demo.tour import _progress, crawled, demo_settings
from tests.support.builders import awp_manifest
from tests.support.demo import forget_database, forget_remains
from tests.support.hang import HANG_SECONDS, NETWORK_ENVIRONMENT


async def test_a_folder_has_one_demo_at_a_time(tmp_path: Path) -> None:
    """Each demo serves its own web, and its workers visit everything due."""
    with (tmp_path / "demo.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DemoError, match="another demo"):
            async with crawled(demo_settings(tmp_path, 0), SAMPLE_WEB, Console(quiet=True)):
                pytest.fail("it runs")


def test_the_daily_budget_allows_many_runs_of_the_demo(tmp_path: Path) -> None:
    """The daily budget of a domain protects foreign sites; in the demo it would skip hosts after a few runs."""
    settings = demo_settings(tmp_path, 0)
    assert settings.domain_daily_budget >= 100 * (settings.request_budget + settings.detail_budget)


def test_a_port_in_use_is_answered_with_a_free_one() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(PortInUse, match=rf"port {port}.*--port (\d+) is free") as caught, _bound(port):
            pytest.fail("the port was bound twice")
    offered = int(str(caught.value).split("--port ")[-1].split()[0])
    assert offered > port
    with _bound(offered) as listening:
        assert listening.getsockname()[1] == offered


def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere() -> None:
    steps = [("starting", 0), ("starting", 0), ("visiting", 3), ("visiting", 4), ("indexing", 36)]
    for is_terminal in (False, True):
        file = io.StringIO()
        with _progress(Console(file=file, force_terminal=is_terminal, width=100), 36) as show:
            for step in steps:
                show(*step)
        if is_terminal:
            assert "36/36" in file.getvalue()
        else:
            lines = ["  starting", "  visiting, 3 of 36 reached", "  indexing, 36 of 36 reached"]
            assert file.getvalue().splitlines() == lines


@pytest.fixture
def own_demo(tmp_path: Path) -> Iterator[tuple[Path, Callable[[str], str]]]:
    """Run the demo over a folder of one site; yield the folder, and a function that waits for a line of output."""
    sites, data, log = tmp_path / "sites", tmp_path / "data", tmp_path / "log"
    put(sites, "bikes.example", "Rents bicycles by the day")
    command = [sys.executable, "-m", "registry.cli", "demo", "--sites", sites, "--port", "0", "--data", data]
    forget_remains(data / "postgres")
    with log.open("wb") as output:
        demo = subprocess.Popen(
            command, env={**os.environ, **NETWORK_ENVIRONMENT, "COLUMNS": "200"}, stdin=subprocess.DEVNULL,
            stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    position = 0

    def wait_for(text: str) -> str:
        nonlocal position
        deadline = time.monotonic() + HANG_SECONDS
        while (found := log.read_text().find(text, position)) < 0:
            assert demo.poll() is None and time.monotonic() < deadline, f"{text!r} not in {log.read_text()}"
            time.sleep(0.1)
        said, position = log.read_text()[position:], found + len(text)
        return said

    try:
        yield sites, wait_for
        os.killpg(demo.pid, signal.SIGINT)
        assert demo.wait(HANG_SECONDS) == 0
        assert "Traceback" not in log.read_text()
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
            demo.wait()
        forget_database(data)


def put(sites: Path, host: str, description: str) -> None:
    manifest = awp_manifest(host)
    manifest["actions"] = [{"id": "rent", "description": description, "endpoint": "/rent", "method": "POST"}]
    file = sites / host / ".well-known" / "agent.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(manifest))


@pytest.mark.slow
def test_changed_files_are_visited_again_and_new_folders_are_taken_in(
    own_demo: tuple[Path, Callable[[str], str]],
) -> None:
    sites, wait_for = own_demo
    started = wait_for("  a site  ")
    assert "bikes.example  listed, found" in started
    assert "“Rents bicycles by the day”" in started
    assert "/api/discover?q=Rents+bicycles+by+the+day" in started
    (sites / "bikes.example/.well-known/agent.json").write_text("{")
    wait_for("bikes.example changed and was visited again: listed, malformed")
    put(sites, "bikes.example", "Rents bicycles by the hour")
    wait_for("bikes.example changed and was visited again: listed, found")
    (sites / "no host").mkdir()
    wait_for("the name of the folder is not a host name")
    put(sites, "boats.example", "Rents rowing boats")
    wait_for("starting again")
    again = wait_for("  a site  ")
    assert "boats.example  listed, found" in again
    assert "bikes.example  listed" not in again
