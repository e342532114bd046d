"""A server for Prometheus on a port of its own, with the collectors of the process that runs it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import structlog
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

log = structlog.get_logger(__name__)


def address(text: str) -> tuple[str, int]:
    """Parse `HOST:PORT`, with IPv6 addresses in brackets. Raise ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


@contextlib.asynccontextmanager
async def listening(at: tuple[str, int], collector: Collector) -> AsyncIterator[None]:
    """Answer `http://HOST:PORT/metrics` with the collector's figures, and CPU and memory of this process, while the
    block runs. Raise OSError when the port is taken."""
    registry = CollectorRegistry()
    registry.register(collector)
    ProcessCollector(registry=registry)
    try:
        server, thread = start_http_server(at[1], at[0], registry)
    except OSError as error:
        raise OSError(f"cannot serve metrics on {at[0]} port {at[1]}: {error.strerror or error}") from error
    log.info("metrics.served", host=at[0], port=server.server_port)
    try:
        yield
    finally:
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        thread.join(1)
