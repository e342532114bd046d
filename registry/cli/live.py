"""What a crawl shows while it runs: a live view at a terminal, a line now and then in a log."""

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

from crawler.flight import Tally

Progress = Callable[[Tally], None]

WINDOW_SECONDS: Final = 10.0
"""Rates are those of the last so many seconds: an average since the start hides a crawl that has stalled."""

TELL_SECONDS: Final = 60.0
OUTCOMES_SHOWN: Final = 6

log = structlog.get_logger(__name__)


class View:
    """The tally as it stands now; rendered whenever the live view is drawn, so that rates fall when nothing comes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._past: deque[tuple[float, int, int]] = deque([(self._began, 0, 0)])
        self._tally = Tally()

    def __call__(self, tally: Tally) -> None:
        now = self._clock()
        self._tally = tally
        if now - self._past[-1][0] >= 0.5:
            self._past.append((now, tally.hosts, tally.requests))

    def rates(self) -> tuple[float, float]:
        """Hosts and requests per second."""
        now = self._clock()
        while len(self._past) > 1 and now - self._past[1][0] >= WINDOW_SECONDS:
            self._past.popleft()
        at, hosts, requests = self._past[0]
        seconds = max(now - at, 0.5)
        return (self._tally.hosts - hosts) / seconds, (self._tally.requests - requests) / seconds

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        tally, (hosts, requests) = self._tally, self.rates()
        minutes, seconds = divmod(int(self._clock() - self._began), 60)
        table = Table.grid(padding=(0, 2))
        table.add_row(f"[bold]crawling[/] {minutes}:{seconds:02}", f"{tally.in_flight} domains in flight")
        table.add_row(f"{tally.hosts} hosts", f"{hosts:.1f} a second")
        table.add_row(f"{tally.requests} requests", f"{requests:.0f} a second, {decimal(tally.received)} received")
        yield table
        ended = ", ".join(f"{one.value} {count}" for one, count in tally.outcomes.most_common(OUTCOMES_SHOWN))
        if ended:
            yield Text(ended, style="dim")


@contextlib.contextmanager
def live_progress(console: Console, *, quiet: bool = False) -> Iterator[Progress | None]:
    """What to give to `crawl`: a live view where `console` is a terminal, else `now_and_then`; None when `quiet`."""
    if quiet:
        yield None
    elif not console.is_terminal:
        yield now_and_then()
    else:
        view = View()
        with Live(view, console=console, transient=True, refresh_per_second=4):
            yield view


def now_and_then() -> Progress:
    """What the log of a crawl says: its figures since the start, at most once in TELL_SECONDS."""
    told_at = time.monotonic()

    def tell(tally: Tally) -> None:
        nonlocal told_at
        if time.monotonic() - told_at >= TELL_SECONDS:
            told_at = time.monotonic()
            tell_tally(tally)

    return tell


def tell_tally(tally: Tally) -> None:
    """The figures of a crawl as one event of the log."""
    outcomes = {outcome.value: count for outcome, count in tally.outcomes.most_common()}
    log.info(
        "worker.crawled",
        hosts=tally.hosts,
        requests=tally.requests,
        received=tally.received,
        in_flight=tally.in_flight,
        outcomes=outcomes,
    )
