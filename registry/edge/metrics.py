"""Counts and times of the requests of one process, by interface, method, route and class of status.

Labels are bounded: a route is a template of the program, never a path, and unknown methods count as `other`. The
command line formats the figures for Prometheus.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from starlette.types import Scope

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the classes of times; the last class has none."""

INTERFACE: Final = "waypost.interface"
ROOT: Final = "waypost.root"
ROUTE: Final = "waypost.route"
LIMIT: Final = "waypost.limit"
"""Keys of a scope: the interface's name; which of its declared paths or roots the request is for; its route, where no
router of Starlette's is asked; the limit that refused the request."""

UNMATCHED: Final = "unmatched"
OTHER: Final = "other"
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_STATUSES: Final = ("none", "1xx", "2xx", "3xx", "4xx", "5xx")
_MAX_SERIES: Final = 5_000


class Labels(NamedTuple):
    interface: str
    method: str
    route: str
    status: str


@dataclass(slots=True)
class Times:
    """Requests by class of SECONDS, and their total seconds until the response began."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    seconds: float = 0.0


class Figure(NamedTuple):
    """Values of one name by the values of its labels. `is_total`: they only grow."""

    name: str
    text: str
    labels: tuple[str, ...]
    values: Mapping[tuple[str, ...], float]
    is_total: bool = False


def gauge(name: str, text: str, value: float) -> Figure:
    return Figure(name, text, (), {(): value})


def labelled(name: str, text: str, label: str, values: Mapping[str, float], *, is_total: bool = False) -> Figure:
    """Return values with one label. They are copied first, so that another thread may go on counting."""
    return Figure(name, text, (label,), {(key,): value for key, value in list(values.items())}, is_total)


class RequestMetrics:
    """Counts of requests. One thread writes; others may read at any time and see consistent single numbers."""

    def __init__(self) -> None:
        self.times: dict[Labels, Times] = {}
        self.refused: Counter[str] = Counter()
        self.in_flight = 0

    def record(self, scope: Scope, method: str, status: int, seconds: float, refused_by: str | None) -> None:
        """Count a request whose response begins; status 0 when its client left before. `refused_by`: name of the limit
        that refused it."""
        labels = (
            scope.get(INTERFACE, OTHER),
            method if method in METHODS else OTHER,  # guard: metric-labels
            route_of(scope),
            _STATUSES[status // 100],
        )
        times = self.times.get(labels)  # type: ignore[call-overload]  # a tuple finds the named one
        if times is None:
            if len(self.times) >= _MAX_SERIES:  # guard: metric-series
                labels = (OTHER, OTHER, OTHER, labels[3])
            times = self.times.setdefault(Labels(*labels), Times())
        times.counts[bisect_left(SECONDS, seconds)] += 1
        times.seconds += seconds
        if refused_by is not None:
            self.refused[refused_by] += 1


def route_of(scope: Scope) -> str:
    """Return the template of the route that answers a request, such as `/api/services/{domain}`."""
    route: str = scope.get(ROUTE) or getattr(scope.get("route"), "path", "") or scope.get(ROOT) or UNMATCHED
    return route
