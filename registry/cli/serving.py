"""The command `serve`: its server binds its port before long work starts, and a signal stops it cleanly."""

import asyncio
import contextlib
import errno
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator

import structlog
import uvicorn
from rich.console import Console
from starlette.types import ASGIApp

from registry.api.app import settled
from registry.cli.common import folder_option, program
from registry.cli.interfaces import interfaces_of
from registry.cli.show import is_empty
from registry.cli.shutdown import exit_after_deadline, stop_on_signals
from registry.cli.terminal import errors
from registry.edge.connections import IDLE_SECONDS, ConnectionLimits, ConnectionTable, limited_protocol, sweeping
from registry.edge.interfaces import compose, running
from registry.edge.limiter import ClientIdentifier
from registry.edge.metrics import RequestMetrics
from registry.settings import Settings
from registry.tasks import running_beside
from registry.wiring import NOT_READY, Waypost, open_waypost, tracing
from registry.wiring.embedded_database import raise_open_files
from registry.wiring.workers import Worker

GRACE = 4
"""Seconds that running requests get to finish at a stop, so an endless request cannot delay it further."""

SPARE_FILES = 256
"""File descriptors that connections never take: those of the database, the index, child processes and open files."""

INDEX_POLL_SECONDS = 1.0

LONG_POLLS_PER_CLIENT = 10
STREAMS_PER_CLIENT = 5

log = structlog.get_logger(__name__)


class PortInUse(OSError):
    """The port is in use, or this account may not listen on it."""


@contextlib.contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a bound socket that is not listening yet. Raise PortTaken."""
    try:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(address[0], address[1])
    except OSError as error:
        raise PortInUse(f"cannot listen on {host}: {error.strerror or error}") from error
    with listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address[4])
        except OSError as error:
            option = "--host" if error.errno == errno.EADDRNOTAVAIL else "--port"
            message = f"cannot listen on {host} port {port}: {error.strerror}; choose another with {option}"
            raise PortInUse(message) from error
        yield listening


def url_of(listening: socket.socket) -> str:
    """Return the URL for clients on this machine, with loopback for a wildcard address."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  (read, not bound)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """A server without signal handlers: uvicorn would raise Ctrl-C again after a normal shutdown."""

    def __init__(self, app: ASGIApp, connections: ConnectionTable) -> None:
        config = uvicorn.Config(
            app,
            http=limited_protocol(connections),
            ws="none",
            timeout_keep_alive=IDLE_SECONDS,
            log_config=None,  # otherwise its log lines would be plain text between lines of JSON
            log_level="error",  # it warns of each malformed request, so that any client could fill the log
            access_log=False,
            proxy_headers=False,
            lifespan="off",  # the application has none, and a second Ctrl-C would end it with a traceback
            timeout_graceful_shutdown=2 * GRACE,
        )
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(GRACE, self._abort_connections)
        await super().shutdown(sockets)

    def _abort_connections(self) -> None:
        """Abort all connections: the application sees disconnects, while uvicorn's cancellation would look like a
        fault."""
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve_api(
    waypost: Waypost,
    listening: socket.socket,
    console: Console,
    *,
    at_stop: Callable[[], None] = lambda: None,
    metrics: tuple[str, int] | None = None,
    announce: Callable[[str], None] | None = None,
    until: asyncio.Event | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; then call `at_stop`, which stops other parts in parallel, and shut down.

    `metrics`: host and port for Prometheus. `announce`: called with the URL once it answers. `until`: ends serving as a
    signal does. Raise OSError when that port is taken.
    """
    await waypost.open_search()
    settings = waypost.settings
    async with contextlib.AsyncExitStack() as stack:
        interfaces, connections = interfaces_of(waypost, settings), connection_table(settings)
        requests = None
        if metrics is not None:
            from registry.cli.serving_metrics import ServingMetrics, served

            requests = RequestMetrics()
            figures = ServingMetrics(waypost, connections, interfaces, requests)
            await stack.enter_async_context(served(metrics, waypost, figures))
        spans = None
        if (tracer := stack.enter_context(tracing(settings))) is not None:
            from registry.edge.tracing import RequestSpans

            waypost.trace(tracer)
            spans = RequestSpans(tracer)

        server = _Server(compose(interfaces, settings, metrics=requests, spans=spans), connections)
        with stop_on_signals() as stop, settled():
            async with exit_after_deadline(stop), sweeping(connections), running(interfaces):
                serving = asyncio.create_task(server.serve(sockets=[listening]))
                stopping, listens = asyncio.create_task(stop.wait()), asyncio.create_task(server.listens.wait())
                ending = asyncio.create_task((until or stop).wait())
                await asyncio.wait({serving, stopping, listens}, return_when=asyncio.FIRST_COMPLETED)
                url = url_of(listening)
                if announce is not None:
                    announce(url)
                else:
                    console.print(f"\nthe API answers at {url} until Ctrl-C, for example")
                    console.print(f"  curl '{url}/api/discover?q=send+an+email'", soft_wrap=True)
                await asyncio.wait({serving, stopping, ending}, return_when=asyncio.FIRST_COMPLETED)
                at_stop()
                waypost.feed.end_waiting()  # or streams and long polls would hold up the shutdown for GRACE
                server.should_exit = True
                stopping.cancel()
                ending.cancel()
                listens.cancel()
                await serving


def connection_table(settings: Settings) -> ConnectionTable:
    """Return the table of connections, as large as the settings and the limit of open files allow."""
    total = min(settings.max_connections, raise_open_files(settings.max_connections + SPARE_FILES) - SPARE_FILES)
    if total < settings.max_connections:
        log.warning("connections.few", connections=total, wanted=settings.max_connections)
    limits = ConnectionLimits(
        total=max(total, 1),
        per_client=settings.max_connections_per_client,
        long_polls=max(total // 4, 1),
        long_polls_per_client=LONG_POLLS_PER_CLIENT,
        streams=max(total // 4, 1),
        streams_per_client=STREAMS_PER_CLIENT,
    )
    return ConnectionTable(limits, ClientIdentifier(settings.trusted_proxies), time.monotonic)


async def run_serve(
    settings: Settings,
    host: str,
    port: int,
    metrics: tuple[str, int] | None = None,
    worker_metrics: str | None = None,
    *,
    quiet: bool = False,
) -> None:
    """Serve the API.

    Without a database setting, also run a worker with the schedule; with one, run a `--drain-only` worker if the index
    has no writer. `metrics`, `worker_metrics`: where this process and that worker answer Prometheus. `quiet`: write
    only the log.
    """
    with bound(host, port) as listening:
        if "public_url" not in settings.model_fields_set:
            settings = settings.model_copy(update={"public_url": url_of(listening)})
        async with open_waypost(settings, clients_wait=True) as waypost:
            listens: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            introductions = () if quiet else (_introduce(waypost, listens, errors),)
            async with running_beside(*introductions):
                metrics_options = () if worker_metrics is None else ("--metrics", worker_metrics)
                if settings.database_url is not None and waypost.index_is_fed():
                    await serve_api(waypost, listening, errors, metrics=metrics, announce=listens.set_result)
                    return
                mode_options = ("--with-schedule",) if settings.database_url is None else ("--drain-only",)
                with Worker(settings.as_environment(), *mode_options, *metrics_options) as worker:
                    await serve_api(
                        waypost, listening, errors, at_stop=worker.request_stop, metrics=metrics,
                        announce=listens.set_result,
                    )  # fmt: skip


async def _introduce(waypost: Waypost, listens: "asyncio.Future[str]", console: Console) -> None:
    """Print where this registry answers and what runs; then, as soon as the database says so, what is missing."""
    url, settings = await listens, waypost.settings
    for line in _addresses(settings, url):
        console.print(line, soft_wrap=True, markup=False)
    with contextlib.suppress(*NOT_READY):  # a restarting database: nothing to say
        async for line in _needs(waypost, url):
            console.print(line, soft_wrap=True, markup=False)


def _addresses(settings: Settings, url: str) -> Iterator[str]:
    yield f"\nthe API answers at {url} until Ctrl-C, for example"
    yield f"  curl '{url}/api/discover?q=send+an+email'"
    yield f"  pages  {url}/"
    yield f"  MCP    {url}/mcp"
    yield f"  data   {settings.data}" if settings.database_url is None else "  data   the database of DATABASE_URL"
    if settings.public_url != url:
        yield f"  clients reach it at {settings.public_url}"


async def _needs(waypost: Waypost, url: str) -> AsyncIterator[str]:
    """Yield what else runs, and what this registry lacks, with commands that work from another terminal."""
    settings = waypost.settings
    if settings.database_url is None:
        yield "This command also visits sites, feeds the search index and runs the recurring jobs."
    else:
        if not await waypost.jobs.crawlers():
            yield "No process visits sites: start `waypost worker` with the same settings."
        if not await waypost.jobs.is_led():
            yield "No process runs the recurring jobs: start `waypost schedule` with the same settings."
    if await is_empty(waypost):
        start, folder = program(), folder_option(settings)
        yield "The registry lists no service yet. Fill it from another terminal, or from the page:"
        yield f"  {start} crawl example.com{folder}"
        yield f"  {start} seed file hosts.txt{folder}"
        yield f"  {url}/submit"
    if (await waypost.search.backend.health()).is_ready:
        return
    yield "The search index is being built; until it is ready, searches find nothing."
    while True:
        await asyncio.sleep(INDEX_POLL_SECONDS)
        if (await waypost.search.backend.health()).is_ready:
            yield "The search index is ready."
            return
