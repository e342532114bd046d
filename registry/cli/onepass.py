"""`waypost crawl --from`: a list is loaded, everything that is due is visited, and what came of it is told."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from crawler.flight import Tally
from crawler.run import crawl, stop_on_signals
from crawler.seeds.lines import FILE, names
from crawler.seeds.opened import Opened
from registry.actions.frontier.seed import SeedReport
from registry.cli import seeding
from registry.cli.live import live_progress
from registry.cli.porch import DONE, INTERRUPTED, NO, errors
from registry.cli.show import print_json
from registry.core.documents import Outcome
from registry.core.visits import Visit
from registry.settings import Settings
from registry.wiring import open_waypost

SHOWN: Final = 20


async def run_from(
    settings: Settings, source: Opened, *, urls: bool, console: Console, as_json: bool, summary: bool
) -> int:
    """Names in, visits of all that is due (these and others that wait), report out. Memory does not grow with either.

    With `as_json` a line for each host as it is recorded, unless `summary`, and the summary as the last line.
    """
    found, began = Counter[str](), time.monotonic()

    def landed(visits: Sequence[Visit]) -> None:
        for visit in visits:
            formats = sorted(set(_formats(visit)))
            found.update(formats)
            if as_json and not summary:
                print_json(_line(visit, formats))

    async with open_waypost(settings) as waypost:
        with seeding.progress_of(errors) as loading:
            try:
                report = await waypost.seed(names(source, urls=urls), source=FILE.slug, progress=loading)
            finally:
                source.close()  # see seeding: interrupted, nobody waits for more of it
        await waypost.recover()  # what a crawl that was killed still holds
        with stop_on_signals() as stop, live_progress(errors, quiet=as_json) as show:
            tally = await crawl(waypost, settings, until_idle=True, progress=show, landed=landed, stop=stop)
            interrupted = stop.is_set()
        waypost.claim_index()
        await waypost.drain()
    seconds = time.monotonic() - began
    if as_json:
        print_json({"summary": _summary(report, tally, found, seconds, interrupted)})
    else:
        seeding.show(FILE.slug, report, as_json=False)
        _print(console, tally, found, seconds)
    if interrupted:
        return INTERRUPTED
    return DONE if seeding.is_complete(report) and report.hosts + report.known else NO


def _formats(visit: Visit) -> Iterator[str]:
    for answer in visit.answers:
        if answer.assessment.outcome is Outcome.FOUND and answer.assessment.format is not None:
            yield answer.assessment.format


def _line(visit: Visit, formats: Sequence[str]) -> dict[str, Any]:
    return {
        "host": visit.host,
        "outcome": visit.outcome.value,
        "reason": visit.reason,
        "formats": formats,
        "requests": visit.requests,
        "visited_at": visit.finished_at.isoformat(),
    }


def _summary(
    report: SeedReport, tally: Tally, found: Counter[str], seconds: float, interrupted: bool
) -> dict[str, Any]:
    return {
        "seeded": seeding.summary(FILE.slug, report),
        "hosts": tally.hosts,
        "requests": tally.requests,
        "outcomes": {outcome.value: number for outcome, number in tally.outcomes.most_common()},
        "formats": dict(found.most_common()),
        "seconds": round(seconds, 3),
        "hosts_per_second": round(tally.hosts / seconds, 1),
        "interrupted": interrupted,
    }


def _print(console: Console, tally: Tally, found: Counter[str], seconds: float) -> None:
    console.print(
        f"{tally.hosts} hosts visited with {tally.requests} requests in {seconds:.0f} s,"
        f" {tally.hosts / seconds:.1f} hosts a second",
        highlight=False,
    )
    if tally.hosts:
        outcomes = Table("outcome", "hosts")
        for outcome, number in tally.outcomes.most_common():
            outcomes.add_row(outcome.value, str(number))
        console.print(outcomes)
    if found:
        formats = Table("format", "hosts")
        for slug, number in found.most_common(SHOWN):
            formats.add_row(slug, str(number))
        console.print(formats)
