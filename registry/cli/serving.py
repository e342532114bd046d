"""The API's server: bound before long work starts, ended by a signal without an error."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator

import uvicorn
from rich.console import Console

from crawler.run import stop_on_signals
from registry.api.app import create_app, settled
from registry.cli.ending import in_time
from registry.wiring import Waypost

GRACE = 4
"""Seconds that requests under way at a stop may still take: a client that sends for ever must not hold it up."""


class PortTaken(OSError):
    """Somebody listens there already, or this account may not."""


@contextlib.contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens once it is served. Raises PortTaken."""
    try:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(address[0], address[1])
    except OSError as error:
        raise PortTaken(f"cannot listen on {host}: {error.strerror or error}") from error
    with listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address[4])
        except OSError as error:
            message = f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port"
            raise PortTaken(message) from error
        yield listening


def url_of(listening: socket.socket) -> str:
    """Where a client on this machine reaches it; a wildcard address is reached at loopback."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  (read, not bound)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """Leaves signals to us: uvicorn would raise them again after it ended, and Ctrl-C is how serving ends."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(GRACE, self._hang_up)
        await super().shutdown(sockets)

    def _hang_up(self) -> None:
        """The application sees clients that left; cancelling it, as uvicorn would, looks like a fault of ours."""
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve_api(
    waypost: Waypost, listening: socket.socket, console: Console, *, at_stop: Callable[[], None] = lambda: None
) -> None:
    """Until SIGINT or SIGTERM; `at_stop` is called then, for whatever else is to end meanwhile."""
    await waypost.open_search()
    app = create_app(waypost, waypost.settings)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        lifespan="off",  # the application has none, and a second Ctrl-C would end it with a traceback
        timeout_graceful_shutdown=2 * GRACE,
    )
    server = _Server(config)
    with stop_on_signals() as stop, settled():
        async with in_time(stop):
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            stopping, listens = asyncio.create_task(stop.wait()), asyncio.create_task(server.listens.wait())
            await asyncio.wait({serving, stopping, listens}, return_when=asyncio.FIRST_COMPLETED)
            url = url_of(listening)
            console.print(f"\nthe API answers at {url} until Ctrl-C, for example", highlight=False)
            console.print(f"  curl '{url}/api/discover?q=send+an+email'", highlight=False, soft_wrap=True)
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            at_stop()
            server.should_exit = True
            stopping.cancel()
            listens.cancel()
            await serving
