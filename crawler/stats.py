"""The figures of a crawl, in Scrapy's statistics under `waypost/`, and the same figures as a typed value.

Scrapy's own keys (`downloader/*`, `response_received_count`, `item_scraped_count`) count domains. The progress display,
the log and Prometheus read the typed value, so all of them agree with Scrapy's statistics.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from registry.core.model.documents import Outcome
from registry.core.visiting.visits import Visit

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

LEASED: Final = "waypost/domains/leased"
RECORDED: Final = "waypost/domains/recorded"
RELEASED: Final = "waypost/domains/released"  # without a recorded visit
CRASHED: Final = "waypost/domains/crashed"  # whose visit or recording failed because of a bug
HOSTS: Final = "waypost/hosts"
HOSTS_PER_MINUTE: Final = "waypost/hosts_per_minute"
REQUESTS: Final = "waypost/requests"
RECEIVED: Final = "waypost/received_bytes"
OUTCOME: Final = "waypost/outcome/"
STATUS: Final = "waypost/status/"
ERROR: Final = "waypost/error/"


@dataclass(frozen=True, slots=True)
class CrawlCounts:
    """The figures of one crawl or of several. `outcomes` counts visits of hosts; the first four count domains."""

    leased: int = 0
    recorded: int = 0
    released: int = 0
    crashed: int = 0
    hosts: int = 0  # visited and recorded
    requests: int = 0  # HTTP requests of the recorded visits
    received: int = 0  # bytes of response bodies, decoded
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    @property
    def in_flight(self) -> int:
        """Return the number of domains leased and neither recorded nor released."""
        return self.leased - self.recorded - self.released - self.crashed

    def __add__(self, other: "CrawlCounts") -> "CrawlCounts":
        return CrawlCounts(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


OnProgress: TypeAlias = Callable[[CrawlCounts], None]


class CrawlStats:
    """Counts events of domains in Scrapy's statistics, one batch at a time, and reports progress."""

    def __init__(self, stats: "StatsCollector", on_progress: OnProgress | None = None) -> None:
        self._stats = stats
        self._on_progress = on_progress
        self._began = time.monotonic()

    def recorded(self, domains: int, visits: Iterable[Visit]) -> None:
        """Count domains whose visits were committed."""
        increments = Counter({RECORDED: domains})
        for visit in visits:
            increments[HOSTS] += 1
            increments[REQUESTS] += visit.requests
            increments[OUTCOME + visit.outcome.value] += 1
            for answer in visit.answers:
                fetched = answer.fetched
                increments[RECEIVED] += fetched.size
                if fetched.status is not None:
                    increments[f"{STATUS}{fetched.status // 100}xx"] += 1
                if fetched.failure is not None:
                    increments[f"{ERROR}{fetched.failure.value}/{fetched.reason}"] += 1
        self.count(increments)
        minutes = (time.monotonic() - self._began) / 60
        if minutes > 0:
            self._stats.set_value(HOSTS_PER_MINUTE, round(self._stats.get_value(HOSTS, 0) / minutes, 1))

    def count(self, increments: "dict[str, int]") -> None:
        """Add to the figures of these keys, and report progress."""
        for key, number in increments.items():
            self._stats.inc_value(key, number)
        if self._on_progress is not None:
            self._on_progress(counts_of(self._stats))


def counts_of(stats: "StatsCollector") -> CrawlCounts:
    """Return the figures of a crawl from its statistics."""
    values = stats.get_stats()
    outcomes = Counter({outcome: values[key] for outcome in Outcome if (key := OUTCOME + outcome.value) in values})
    return CrawlCounts(
        values.get(LEASED, 0), values.get(RECORDED, 0), values.get(RELEASED, 0), values.get(CRASHED, 0),
        values.get(HOSTS, 0), values.get(REQUESTS, 0), values.get(RECEIVED, 0), outcomes,
    )  # fmt: skip


class CrawlTotals:
    """The sum over all crawls of this process: counters that never decrease, even when a crawl restarts."""

    def __init__(self) -> None:
        self._parts = CrawlCounts(), CrawlCounts()  # ended crawls, and the current one; read by another thread

    @property
    def counts(self) -> CrawlCounts:
        ended, current = self._parts
        return ended + current

    def new_crawl(self) -> OnProgress:
        """Return the progress callback for a new crawl; the previous one must have ended."""
        self._parts = self.counts, CrawlCounts()
        return self._set_current

    def _set_current(self, counts: CrawlCounts) -> None:
        self._parts = self._parts[0], counts
