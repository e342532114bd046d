"""A worker's metrics for Prometheus: the counters of this process and the state of the shared queue.

Also the server on a separate port that publishes a process's collectors. Counters come from Scrapy's statistics
(`crawler.stats`), summed over all crawls of the process. Prometheus computes rates: `rate(waypost_hosts_total[5m])`.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from crawler.stats import CrawlTotals
from registry.actions.queries.inspect import QueueState
from registry.settings import Settings
from registry.tasks import running_beside
from registry.wiring import NOT_READY, Waypost
from registry.wiring.space import disks

log = structlog.get_logger(__name__)


def address(text: str) -> tuple[str, int]:
    """Parse `HOST:PORT`, with IPv6 addresses in brackets. Raise ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


@contextlib.asynccontextmanager
async def listening(at: tuple[str, int], collector: Collector) -> AsyncIterator[None]:
    """Answer `http://HOST:PORT/metrics` while the block runs: the collector, and CPU and memory of this process.

    Raise OSError when the port is taken.
    """
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


POLL_SECONDS: Final = 15.0
"""Seconds between two looks at the database, independent of scrapes: counting a million domains takes 0.1 s."""


class WorkerMetrics(Collector):
    """The crawl totals and the last state of the queue. The server's thread reads them; each is replaced atomically."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.totals = CrawlTotals()
        self.queue: QueueState | None = None

    def collect(self) -> Iterator[Metric]:
        counts, queue = self.totals.counts, self.queue
        outcomes = {outcome.value: count for outcome, count in counts.outcomes.items()}
        text = "Hosts visited and recorded, by outcome."
        yield _labelled_metric("waypost_hosts", text, "outcome", outcomes, counter=True)
        yield CounterMetricFamily("waypost_requests", "Requests made for recorded visits.", counts.requests)
        yield CounterMetricFamily("waypost_received_bytes", "Bytes of bodies received, decoded.", counts.received)
        domains_by_end = {"recorded": counts.recorded, "released": counts.released, "crashed": counts.crashed}
        text = "Domains of finished leases, by how they ended."
        yield _labelled_metric("waypost_domains", text, "end", domains_by_end, counter=True)
        yield GaugeMetricFamily("waypost_domains_in_flight", "Domains leased by this process.", counts.in_flight)
        for name, text, label, values in space_figures(self._settings):
            yield _labelled_metric(name, text, label, values)
        yield GaugeMetricFamily("waypost_database_up", "Whether the last query of the queue worked.", queue is not None)
        if queue is not None:
            text = "Domains by state, of all processes."
            yield _labelled_metric("waypost_frontier_domains", text, "state", queue.domains)
            age = queue.age.total_seconds()
            yield GaugeMetricFamily("waypost_queue_age_seconds", "How long the longest due domain has waited.", age)
            text = "Hosts that documents name, not yet taken in."
            yield GaugeMetricFamily("waypost_candidates", text, queue.candidates)
            yield GaugeMetricFamily("waypost_index_lag", "Services whose index entry is out of date.", queue.index_lag)


def _labelled_metric(
    name: str, description: str, label: str, values: dict[str, int], *, counter: bool = False
) -> Metric:
    family = (CounterMetricFamily if counter else GaugeMetricFamily)(name, description, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


def space_figures(settings: Settings) -> Iterator[tuple[str, str, str, dict[str, int]]]:
    """Yield name, text, label and values of the gauges of free space."""
    with contextlib.suppress(OSError):
        free = {name: space.free for name, space in disks(settings).items()}
        yield "waypost_disk_free_bytes", "Free space on the disks of this machine, by what they hold.", "disk", free
        floor = dict.fromkeys(free, settings.min_free_mb * 1_000_000)
        yield "waypost_disk_floor_bytes", "With less free space, no site is visited.", "disk", floor


@contextlib.asynccontextmanager
async def served(waypost: Waypost, listen: tuple[str, int] | None) -> AsyncIterator[WorkerMetrics]:
    """Yield metrics, served at `http://HOST:PORT/metrics` while the block runs, or not served if `listen` is None.

    Raise OSError when the port is taken.
    """
    metrics = WorkerMetrics(waypost.settings)
    if listen is None:
        yield metrics
        return

    async def look() -> None:
        try:
            metrics.queue = await waypost.search.queue()
        except NOT_READY:
            metrics.queue = None

    async with listening(listen, metrics), running_beside(look_regularly(look)):
        yield metrics


async def look_regularly(look: Callable[[], Awaitable[None]]) -> None:
    """Look at the database every POLL_SECONDS, for ever."""
    while True:
        began = time.monotonic()
        await look()
        await asyncio.sleep(max(0.0, POLL_SECONDS - (time.monotonic() - began)))
