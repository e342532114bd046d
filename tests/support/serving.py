"""All interfaces on a real socket, for tools that speak HTTP."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import uvicorn

from registry.cli.interfaces import interfaces_of
from registry.edge.interfaces import compose
from tests.support.api import _opened
from tests.support.hang import HANG_SECONDS


@contextlib.contextmanager
def serving(database_server: str, crawled_registry: tuple[str, Path], folder: Path) -> Iterator[str]:
    """Yield the base URL of a server over the crawled registry, in a thread with an event loop of its own."""
    listening = socket.create_server(("127.0.0.1", 0))
    ready, server = threading.Event(), None

    async def serve() -> None:
        nonlocal server
        async with _opened(database_server, crawled_registry, folder) as api:
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
