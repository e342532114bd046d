"""The API's server: bound before long work starts, ended by a signal without an error."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn
from rich.console import Console

from crawler.run import stop_on_signals
from registry.api.app import create_app
from registry.wiring import Waypost


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

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve_api(waypost: Waypost, listening: socket.socket, console: Console) -> None:
    """Until SIGINT or SIGTERM."""
    app = create_app(waypost, waypost.settings)
    server = _Server(uvicorn.Config(app, log_level="warning", access_log=False, proxy_headers=False))
    with stop_on_signals() as stop:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        stopping = asyncio.create_task(stop.wait())
        url = url_of(listening)
        console.print(f"\nthe API answers at {url} until Ctrl-C, for example", highlight=False)
        console.print(f"  curl '{url}/api/discover?q=send+an+email'", highlight=False, soft_wrap=True)
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        stopping.cancel()
        await serving
