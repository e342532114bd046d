"""The live view: rates over the last seconds, and no output into a pipe."""

import io
from collections import Counter

from rich.console import Console

from crawler.stats import CrawlCounts
from registry.cli.live import View, live_progress
from registry.core.model.documents import Outcome


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def rendered(view: View) -> str:
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    console.print(view)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_rates_cover_the_last_seconds() -> None:
    clock = Clock()
    view = View(clock)
    for _ in range(60):
        clock.now += 1
        view(CrawlCounts(hosts=int(clock.now - 100) * 10, requests=int(clock.now - 100) * 200))
    hosts, requests = view.rates()
    assert 9.5 <= hosts <= 10.5 and 190 <= requests <= 210
    clock.now += 30  # the rate falls although no update arrives
    assert view.rates()[0] < 1


def test_outcomes_and_sums_are_shown() -> None:
    clock = Clock()
    view = View(clock)
    clock.now += 61
    outcomes = Counter({Outcome.ABSENT: 7, Outcome.FOUND: 2})
    view(CrawlCounts(leased=12, recorded=9, hosts=9, requests=180, received=2_000_000, outcomes=outcomes))
    text = rendered(view)
    assert "1:01" in text and "3 domains in flight" in text and "2.0 MB" in text
    assert "absent 7, found 2" in text


def test_a_pipe_gets_no_view() -> None:
    console = Console(file=io.StringIO(), force_terminal=False)
    with live_progress(console) as progress:
        assert progress is not None and not isinstance(progress, View)
    with live_progress(console, quiet=True) as progress:
        assert progress is None
    with live_progress(Console(file=io.StringIO(), force_terminal=True)) as progress:
        assert isinstance(progress, View)
