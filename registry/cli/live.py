"""The progress of a crawl: a live view on a terminal, a periodic log line elsewhere."""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

import structlog
from rich.console import Console, ConsoleOptions, RenderResult
from rich.filesize import decimal
from rich.live import Live
from rich.table import Table
from rich.text import Text

from crawler.stats import CrawlCounts, OnProgress

WINDOW_SECONDS: Final = 10.0
"""Rates are averages over this many seconds: an average since the start hides a crawl that has stalled."""

LOG_SECONDS: Final = 60.0
OUTCOMES_SHOWN: Final = 6

log = structlog.get_logger(__name__)


class View:
    """The latest figures. Each redraw of the live view renders them again, so rates fall when a crawl stalls."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._history: deque[tuple[float, int, int]] = deque([(self._began, 0, 0)])
        self._counts = CrawlCounts()

    def __call__(self, counts: CrawlCounts) -> None:
        now = self._clock()
        self._counts = counts
        if now - self._history[-1][0] >= 0.5:
            self._history.append((now, counts.hosts, counts.requests))

    def rates(self) -> tuple[float, float]:
        """Return hosts and requests per second, averaged over the last WINDOW_SECONDS."""
        now = self._clock()
        while len(self._history) > 1 and now - self._history[1][0] >= WINDOW_SECONDS:
            self._history.popleft()
        since, hosts, requests = self._history[0]
        seconds = max(now - since, 0.5)
        return (self._counts.hosts - hosts) / seconds, (self._counts.requests - requests) / seconds

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        counts, (hosts, requests) = self._counts, self.rates()
        minutes, seconds = divmod(int(self._clock() - self._began), 60)
        table = Table.grid(padding=(0, 2))
        table.add_row(f"[bold]crawling[/] {minutes}:{seconds:02}", f"{counts.in_flight} domains in flight")
        table.add_row(f"{counts.hosts} hosts", f"{hosts:.1f} a second")
        table.add_row(f"{counts.requests} requests", f"{requests:.0f} a second, {decimal(counts.received)} received")
        yield table
        shown = counts.outcomes.most_common(OUTCOMES_SHOWN)
        if shown:
            yield Text(", ".join(f"{outcome.value} {count}" for outcome, count in shown), style="dim")


@contextlib.contextmanager
def live_progress(console: Console, *, quiet: bool = False) -> Iterator[OnProgress | None]:
    """Yield the progress callback for `crawl`: a live view on a terminal, else `periodic_log`; None when `quiet`."""
    if quiet:
        yield None
    elif not console.is_terminal:
        yield periodic_log()
    else:
        view = View()
        with Live(view, console=console, transient=True, refresh_per_second=4):
            yield view


def periodic_log() -> OnProgress:
    """Return a callback that logs the figures since the start, at most once in LOG_SECONDS."""
    logged_at = time.monotonic()

    def report(counts: CrawlCounts) -> None:
        nonlocal logged_at
        if time.monotonic() - logged_at >= LOG_SECONDS:
            logged_at = time.monotonic()
            log_counts(counts)

    return report


def log_counts(counts: CrawlCounts) -> None:
    """Log the figures of a crawl as one event."""
    outcomes = {outcome.value: count for outcome, count in counts.outcomes.most_common()}
    figures = {"hosts": counts.hosts, "requests": counts.requests, "received": counts.received}
    log.info("worker.crawled", **figures, in_flight=counts.in_flight, outcomes=outcomes)
