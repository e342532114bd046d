"""Runs `waypost demo` as a person would, in a process of its own, and opens what it left behind."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from registry.api.app import create_app
from registry.demo.tour import demo_settings
from registry.wiring import Waypost, open_waypost

SECONDS = 240
STOP_SECONDS = 10


@dataclass(frozen=True)
class Ran:
    """A finished run: its data folder, and the object that `--json` printed."""

    data: Path
    report: dict[str, Any]

    def forget(self) -> None:
        """Root's data may lie outside the test's folder (`embedded_place`), where nobody else would remove them."""
        forget_database(self.data)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Waypost]:
        async with open_waypost(demo_settings(self.data, 0)) as waypost:
            yield waypost

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx2.AsyncClient]:
        """The API over what was crawled."""
        async with self.opened() as waypost:
            transport = httpx2.ASGITransport(create_app(waypost, waypost.settings))
            async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as client:
                yield client


def forget_database(data: Path) -> None:
    """Removes the database of a data folder from where it may have been put, once its server has stopped."""
    link = data / "postgres" / "data"
    if not link.is_symlink():
        return
    home = link.readlink().parent
    give_up = time.monotonic() + STOP_SECONDS
    while (home / "data" / "postmaster.pid").exists() and time.monotonic() < give_up:
        time.sleep(0.05)
    shutil.rmtree(home, ignore_errors=True)


def run_demo(data: Path, *arguments: str) -> Ran:
    """Fails with what the command said."""
    command = [sys.executable, "-m", "registry.cli", "demo", "--no-serve", "--json", "--data", str(data), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, env=dict(os.environ)
    )
    log = data / "worker.log"
    assert done.returncode == 0, f"{done.stderr}\n{log.read_text()[-4000:] if log.exists() else ''}"
    return Ran(data, json.loads(done.stdout))
