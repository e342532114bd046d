"""Run `waypost demo` in a process, as a user would, and open what it left behind."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from registry.api.app import create_app
from registry.demo.tour import demo_settings
from registry.store.embedded_postgres import watchdog
from registry.store.embedded_postgres.home import find_home
from registry.store.embedded_postgres.watchdog import PID_FILE
from registry.wiring import Waypost, open_waypost
from tests.support.hang import HANG_SECONDS, NETWORK_ENVIRONMENT

STOP_SECONDS = 10


@dataclass(frozen=True)
class DemoRun:
    """A finished run: its data folder, and the object that `--json` printed."""

    data: Path
    report: dict[str, Any]

    def forget(self) -> None:
        """Remove the database, which for root may be outside the test's folder (`embedded_postgres.home`)."""
        forget_database(self.data)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Waypost]:
        async with open_waypost(demo_settings(self.data, 0)) as waypost:
            yield waypost

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx2.AsyncClient]:
        """Yield a client of the API over the crawled data."""
        async with self.opened() as waypost:
            unlimited = waypost.settings.model_copy(update={"read_rate": 1_000_000, "page_rate": 1_000_000})
            transport = httpx2.ASGITransport(create_app(waypost, unlimited))
            async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as client:
                yield client


def forget_database(data: Path) -> None:
    """Remove the database of a data folder from where it may have been put, once its server has stopped."""
    link = data / "postgres" / "data"
    if not link.is_symlink():
        return
    home = link.readlink().parent
    wait_until_stopped(home / "data", STOP_SECONDS)
    shutil.rmtree(home, ignore_errors=True)


def forget_remains(folder: Path) -> None:
    """Remove the data that a killed run left for a new folder, which had the same name in that run.

    Started by root, a server keeps its data outside the folder (`embedded_postgres.home`), where they outlive it.
    """
    if folder.exists():
        return
    home = find_home(folder).home
    watchdog.stop(str(home))
    for remains in home.glob("data*"):
        if not remains.is_symlink():
            shutil.rmtree(remains)


def wait_until_stopped(data: Path, seconds: float) -> None:
    """Wait until the database server of a cluster's data directory has stopped, for at most `seconds`."""
    deadline = time.monotonic() + seconds
    while (data / PID_FILE).exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def run_demo(data: Path, *arguments: str) -> DemoRun:
    """Run the demo; fail with its error output and the end of the worker's log."""
    command = [sys.executable, "-m", "registry.cli", "demo", "--no-serve", "--json", "--data", str(data), *arguments]
    environment = os.environ | NETWORK_ENVIRONMENT
    forget_remains(data / "postgres")
    process = subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_SECONDS, stdin=subprocess.DEVNULL, env=environment
    )
    log = data / "worker.log"
    assert process.returncode == 0, f"{process.stderr}\n{log.read_text()[-4000:] if log.exists() else ''}"
    return DemoRun(data, json.loads(process.stdout))


@contextmanager
def served_demo(folder: Path, sites: Path) -> Iterator[str]:
    """Crawl the sites with the demo; yield its address once it serves. Raise RuntimeError if it does not come."""
    data, log = folder / "data", folder / "demo.log"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "registry.cli", "demo", "--sites", sites, "--port", str(port), "--data", data]
    environment = os.environ | NETWORK_ENVIRONMENT
    environment |= {"WAYPOST_READ_RATE": "100000", "WAYPOST_PAGE_RATE": "100000", "WAYPOST_SUBMIT_RATE": "100000"}
    forget_remains(data / "postgres")
    with log.open("wb") as output:
        demo = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        deadline = time.monotonic() + HANG_SECONDS
        while "/api/discover?q=" not in log.read_text(errors="replace"):
            if demo.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log.read_text(errors="replace"))
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGINT)
        demo.wait(HANG_SECONDS)
        forget_database(data)
