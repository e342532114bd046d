"""All interfaces on a real socket, for tools that speak HTTP."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import uvicorn

from registry.cli.interfaces import interfaces_of
from registry.edge.interfaces import compose
from tests.support.api import Api, _opened
from tests.support.hang import HANG_SECONDS


@contextlib.contextmanager
def serving(
    database_server: str,
    crawled_registry: tuple[str, Path],
    folder: Path,
    prepare: Callable[[Api], Awaitable[None]] | None = None,
) -> Iterator[str]:
    """Yield the base URL of a server over the crawled registry, in a thread with an event loop of its own. `prepare`
    adds to the registry before."""
    listening = socket.create_server(("127.0.0.1", 0))
    ready, server = threading.Event(), None

    async def serve() -> None:
        nonlocal server
        async with _opened(database_server, crawled_registry, folder) as api:
            if prepare is not None:
                await prepare(api)
            app = compose(interfaces_of(api.waypost, api.waypost.settings), api.waypost.settings)
            server = uvicorn.Server(
                uvicorn.Config(
                    app, log_level="critical", proxy_headers=False, lifespan="off", timeout_graceful_shutdown=5
                )
            )
            ready.set()
            await server.serve(sockets=[listening])

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(HANG_SECONDS)
    host, port = listening.getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        assert server is not None
        server.should_exit = True
        thread.join(HANG_SECONDS)


def assert_as_described(base: str, document: str, folder: Path, *, examples: int, quick: bool = False) -> None:
    """Send schemathesis' generated, odd and wrong requests for every operation; check the answers by the document.

    `quick` leaves out the tool's systematic coverage of all limits, and waits for no visit. The tool's own limit of ten
    seconds for the document and for each answer is too short on a busy machine.
    """
    saved = folder / "openapi.json"
    with urllib.request.urlopen(base + document, timeout=HANG_SECONDS) as response:
        saved.write_bytes(response.read())
    settings = folder / "schemathesis.toml"
    settings.write_text('[parameters]\n"query.wait" = 0\n' if quick else "")
    phases = "examples,fuzzing" if quick else "examples,coverage,fuzzing"
    command: list[str | Path] = [
        Path(sys.executable).with_name("schemathesis"), "--config-file", settings, "run", saved,
        "--url", base, "--phases", phases, "--max-examples", str(examples), "--seed", "20261121",
        "--workers", "2", "--checks", "all",
        "--exclude-checks", "positive_data_acceptance,negative_data_rejection,ignored_auth",
        "--suppress-health-check", "all", "--no-color", "--request-timeout", "120", "--max-response-time", "100",
        "--exclude-path", "/api/feed/stream",  # it never ends; see tests/api/test_feed_stream.py
    ]  # fmt: skip
    process = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert process.returncode == 0, process.stdout[-6_000:] + process.stderr[-2_000:]
