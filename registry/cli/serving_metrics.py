"""The metrics of `waypost serve` for Prometheus: requests, connections, caches, and how current the answers are.

Counters are per process, and each API process has its own port. Figures from the database are the same in all of them;
they are read at a fixed interval, independent of scrapes.
"""

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count, starmap
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from registry.cli.metrics import listening, look_regularly, space_figures
from registry.core.scheduling.jobs import KINDS
from registry.edge.connections import ConnectionTable
from registry.edge.interfaces import Interface
from registry.edge.metrics import SECONDS, Figure, RequestMetrics, gauge, labelled
from registry.tasks import running_beside
from registry.wiring import NOT_READY, Waypost, utc_now

SERVICES_EVERY: Final = 20
"""Looks between two counts of the services by state, which read a row of every service, and of the incidents."""

_BOUNDS: Final = (*(str(bound) for bound in SECONDS), "+Inf")


@dataclass(slots=True)
class _State:
    """The last answer of the database. `is_up`: whether it answered the last time."""

    is_up: bool = False
    index_lag: int = 0
    feed_lag: float = 0.0  # seconds
    services: dict[str, int] = field(default_factory=dict)
    incidents: dict[str, int] = field(default_factory=dict)


class ServingMetrics(Collector):
    """The collector. The server's thread reads it; everything is counted on the event loop."""

    def __init__(
        self, waypost: Waypost, connections: ConnectionTable, interfaces: Sequence[Interface], requests: RequestMetrics
    ) -> None:
        self.state = _State()
        self._sources: list[Callable[[], Iterable[Figure]]] = [
            lambda: _requests(requests),
            lambda: _connections(connections),
            lambda: _compute(waypost),
            lambda: starmap(labelled, space_figures(waypost.settings)),
            self._registry,
            *(interface.figures for interface in interfaces),
        ]
        self._requests = requests

    def collect(self) -> Iterator[Metric]:
        yield _times(self._requests)
        for figures in self._sources:
            for figure in figures():
                make = CounterMetricFamily if figure.is_total else GaugeMetricFamily
                family = make(figure.name, figure.text, labels=figure.labels)
                for labels, value in sorted(figure.values.items()):
                    family.add_metric(labels, value)
                yield family

    def _registry(self) -> Iterator[Figure]:
        state = self.state
        yield gauge("waypost_database_up", "Whether the last query of the database worked.", state.is_up)
        if not state.is_up:
            return
        yield gauge("waypost_index_lag", "Services whose index entry is out of date.", state.index_lag)
        text = "How long the oldest committed event waits for its place in the change feed."
        yield gauge("waypost_feed_lag_seconds", text, state.feed_lag)
        yield labelled("waypost_services", "Listed services by how their last visit went.", "state", state.services)
        yield labelled("waypost_incidents", "Current incidents of this registry.", "kind", state.incidents)


def _requests(requests: RequestMetrics) -> Iterator[Figure]:
    counts: dict[tuple[str, ...], float] = {labels: sum(times.counts) for labels, times in list(requests.times.items())}
    names = ("interface", "method", "route", "status")
    yield Figure("waypost_http_requests", "Requests by interface, method, route and status.", names, counts, True)
    text = "Requests that a limit refused."
    yield labelled("waypost_http_refused", text, "limit", requests.refused, is_total=True)
    yield gauge("waypost_http_requests_in_flight", "Requests that are being answered.", requests.in_flight)


def _times(requests: RequestMetrics) -> Metric:
    """Return the times of all statuses together; counts are per status."""
    counts: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * len(_BOUNDS))
    seconds: dict[tuple[str, ...], float] = defaultdict(float)
    for labels, times in list(requests.times.items()):
        counts[labels[:3]] = [ours + more for ours, more in zip(counts[labels[:3]], times.counts, strict=True)]
        seconds[labels[:3]] += times.seconds
    family = HistogramMetricFamily(
        "waypost_http_request_duration_seconds",
        "Seconds from a request's head to the beginning of its response.",
        labels=("interface", "method", "route"),
    )
    for names, values in counts.items():
        family.add_metric(names, list(zip(_BOUNDS, accumulate(values), strict=True)), seconds[names])
    return family


def _connections(table: ConnectionTable) -> Iterator[Figure]:
    yield gauge("waypost_http_connections", "Open connections of clients.", len(table))
    yield labelled("waypost_http_connections_held", "Connections held open for events.", "way", table.held)
    text = "Connections that a limit refused, ended or answered at once."
    yield labelled("waypost_http_connections_limited", text, "reason", table.limited, is_total=True)


def _compute(waypost: Waypost) -> Iterator[Figure]:
    pool = waypost.compute
    yield gauge("waypost_compute_processes", "Processes for large documents that live.", len(pool.pids))
    jobs = {"running": pool.running, "waiting": pool.waiting}
    yield labelled("waypost_compute_jobs", "Large documents that are worked on, or wait for that.", "state", jobs)
    text = "Large documents by how the work ended."
    yield labelled("waypost_compute_jobs_ended", text, "end", pool.ended, is_total=True)


@contextlib.asynccontextmanager
async def served(listen: tuple[str, int], waypost: Waypost, metrics: ServingMetrics) -> AsyncIterator[None]:
    """Serve the metrics at `http://HOST:PORT/metrics` while the block runs. Raise OSError when the port is taken."""
    looks = count()

    async def look() -> None:
        services, incidents = metrics.state.services, metrics.state.incidents
        try:
            if next(looks) % SERVICES_EVERY == 0 or not services:
                health = await waypost.queries.health()
                services = {"healthy": health.healthy, "degraded": health.degraded, "down": health.down}
                kinds = [incident.kind for incident in (await waypost.figures.operation()).incidents]
                incidents = {kind: kinds.count(kind) for kind in KINDS}
            index_lag, since = await waypost.search.index_lag(), (await waypost.feed.state()).unsequenced_since
            feed_lag = 0.0 if since is None else max(0.0, (utc_now() - since).total_seconds())
            metrics.state = _State(True, index_lag, feed_lag, services, incidents)
        except NOT_READY:
            metrics.state = _State(services=services, incidents=incidents)

    async with listening(listen, metrics), running_beside(look_regularly(look)):
        yield
