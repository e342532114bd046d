"""Runs `waypost demo` as a person would, in a process of its own, and opens what it left behind."""

import json
import os
import subprocess
import sys
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


@dataclass(frozen=True)
class Ran:
    """A finished run: its data folder, and the object that `--json` printed."""

    data: Path
    report: dict[str, Any]

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


def run_demo(data: Path, *arguments: str) -> Ran:
    """Fails with what the command said."""
    command = [sys.executable, "-m", "registry.cli", "demo", "--no-serve", "--json", "--data", str(data), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, env=dict(os.environ)
    )
    log = data / "worker.log"
    assert done.returncode == 0, f"{done.stderr}\n{log.read_text()[-4000:] if log.exists() else ''}"
    return Ran(data, json.loads(done.stdout))
