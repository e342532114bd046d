"""A worker's figures for Prometheus: what this process did, and how the queue stands that all processes share.

Text of the exposition format by prometheus-client. Rates are the monitoring's: `rate(waypost_hosts_total[5m])`.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from crawler.flight import Tally
from registry.actions.answering.inspect import Queue
from registry.wiring import NOT_READY, Waypost

LOOK_SECONDS: Final = 15.0
"""The queue is looked at so often, however many ask: counting a million domains takes a tenth of a second."""

log = structlog.get_logger(__name__)


class Figures(Collector):
    """The last tally and the last look at the queue; collected in the server's thread, both replaced as a whole."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.queue: Queue | None = None

    def collect(self) -> Iterator[Metric]:
        tally, queue = self.tally, self.queue
        yield _by("waypost_hosts", "Hosts visited and recorded, by outcome.", "outcome", _outcomes(tally), counter=True)
        yield CounterMetricFamily("waypost_requests", "Requests made for recorded visits.", tally.requests)
        yield CounterMetricFamily("waypost_received_bytes", "Bytes of bodies received, decoded.", tally.received)
        ended = {"recorded": tally.recorded, "released": tally.released, "crashed": tally.crashed}
        yield _by("waypost_domains", "Domains of finished leases, by how they ended.", "end", ended, counter=True)
        yield GaugeMetricFamily("waypost_domains_in_flight", "Domains leased by this process.", tally.in_flight)
        yield GaugeMetricFamily("waypost_database_up", "Whether the last look at the queue worked.", queue is not None)
        if queue is not None:
            yield _by("waypost_frontier_domains", "Domains by state, of all processes.", "state", queue.domains)
            age = queue.age.total_seconds()
            yield GaugeMetricFamily("waypost_queue_age_seconds", "How long the longest due domain has waited.", age)
            yield GaugeMetricFamily(
                "waypost_candidates", "Hosts that documents name, not yet taken in.", queue.candidates
            )
            yield GaugeMetricFamily("waypost_index_lag", "Services whose index entry is out of date.", queue.index_lag)


def _outcomes(tally: Tally) -> dict[str, int]:
    return {outcome.value: count for outcome, count in tally.outcomes.items()}


def _by(name: str, says: str, label: str, values: dict[str, int], *, counter: bool = False) -> Metric:
    family = (CounterMetricFamily if counter else GaugeMetricFamily)(name, says, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, IPv6 addresses in brackets. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


@contextlib.asynccontextmanager
async def served(waypost: Waypost, listen: tuple[str, int] | None) -> AsyncIterator[Figures]:
    """Figures to keep, shown at `http://HOST:PORT/metrics` while the block runs; with None nothing listens.

    Raises OSError when the port is taken.
    """
    figures = Figures()
    if listen is None:
        yield figures
        return
    registry = CollectorRegistry()
    registry.register(figures)
    ProcessCollector(registry=registry)  # CPU and memory of this process
    server, thread = start_http_server(listen[1], listen[0], registry)
    log.info("metrics.served", host=listen[0], port=server.server_port)
    looking = asyncio.create_task(_look(waypost, figures))
    try:
        yield figures
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        thread.join(1)


async def _look(waypost: Waypost, figures: Figures) -> None:
    while True:
        began = time.monotonic()
        try:
            figures.queue = await waypost.queue()
        except NOT_READY:
            figures.queue = None
        await asyncio.sleep(max(0.0, LOOK_SECONDS - (time.monotonic() - began)))
