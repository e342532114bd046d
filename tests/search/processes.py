"""Helpers for runs against a real search server: processes that are killed and restarted, a data folder, and a
PostgreSQL."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2

from registry.store.embedded_postgres import server as embedded
from registry.store.migrate import upgrade
from tests.support.hang import HANG_SECONDS


def say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Process:
    """A program that can be killed and started again. Only processes started here are ever signalled."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self._command, self._environment, self._log = command, environment, log
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._running = subprocess.Popen(
                self._command, env={**os.environ, **self._environment}, stdout=log, stderr=log, cwd=self._log.parent
            )

    @property
    def is_running(self) -> bool:
        return self._running is not None and self._running.poll() is None

    def send(self, signal_number: signal.Signals) -> None:
        if self._running is not None:
            self._running.send_signal(signal_number)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, signal_number: signal.Signals) -> None:
        if self._running is not None:
            with suppress(ProcessLookupError):
                self._running.send_signal(signal_number)
            self._running.wait(HANG_SECONDS)


def engine_of(program: str, folder: Path, port: int, master: str) -> Process:
    """Return a Meilisearch on loopback with its data in the folder, limited as in docker-compose.yml."""
    command = [
        program, "--db-path", str(folder / "engine"), "--http-addr", f"127.0.0.1:{port}", "--no-analytics",
        "--env", "production", "--master-key", master, "--max-indexing-memory", "512MiB",
    ]  # fmt: skip
    return Process(command, {}, folder / "engine.log")


@asynccontextmanager
async def database(name: str) -> AsyncIterator[tuple[Path, str]]:
    """Yield a temporary folder, and the URL of a migrated PostgreSQL that runs in it."""
    with tempfile.TemporaryDirectory(prefix=f"waypost-{name}-") as path:
        folder = Path(path)
        server = await asyncio.to_thread(embedded.start, folder / "postgres")
        try:
            await asyncio.to_thread(upgrade, server.dsn)
            yield folder, server.dsn
        finally:
            server.release()


async def until_answering(url: str, path: str = "/health") -> None:
    async with httpx2.AsyncClient(base_url=url) as client:
        for _ in range(600):
            with suppress(httpx2.HTTPError):
                if (await client.get(path)).status_code == 200:
                    return
            await asyncio.sleep(0.1)
    raise SystemExit(f"no answer at {path}")


def keep_logs(folder: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for log in folder.glob("*.log"):
        shutil.copy(log, target)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
