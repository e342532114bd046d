"""The command `crawl`: visit named hosts once, or load a list and visit everything that is due.

With `--from`, the list is loaded into the frontier first, and a report is printed at the end.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from crawler.run import crawl
from crawler.seeds.lines import FILE, names
from crawler.seeds.opened import OpenList
from crawler.stats import CrawlCounts
from registry.actions.frontier.frontier import SeedReport
from registry.cli import seeding
from registry.cli.clean import print_json
from registry.cli.common import DONE, INTERRUPTED, NO
from registry.cli.live import live_progress
from registry.cli.show import show_visited
from registry.cli.shutdown import exit_after_deadline, stop_on_signals
from registry.cli.terminal import console as stdout
from registry.cli.terminal import errors, escaped
from registry.core.model.documents import Outcome
from registry.core.names.seeds import Refusal
from registry.core.visiting.visits import Visit
from registry.settings import Settings
from registry.wiring import open_waypost
from registry.wiring.upkeep import last_drain

POLL_SECONDS = 1.0
SHOWN: Final = 20


async def run_crawl(settings: Settings, names: Sequence[str], *, console: Console = stdout, as_json: bool) -> int:
    """Visit the named hosts once, index and print the results. A running worker may visit some of them instead."""
    async with open_waypost(settings) as waypost:
        refused: list[Refusal] = []
        await waypost.frontier.seed(names, source="command", on_refusal=refused.append)
        accepted = [name for name in names if name not in {refusal.name for refusal in refused}]
        await waypost.frontier.make_due(accepted)
        hosts = waypost.frontier.hosts_of(accepted)
        with stop_on_signals() as stop, live_progress(errors, quiet=as_json) as progress:
            async with exit_after_deadline(stop):
                while not stop.is_set() and await waypost.frontier.waiting(hosts):
                    await waypost.crawl.recover()  # reclaims the leases of a killed crawl
                    only = {host.domain for host in hosts}
                    await crawl(waypost, settings, until_idle=True, only=only, progress=progress, stop=stop)
                    statuses = [await waypost.queries.status(host.host) for host in hosts]
                    targets = {status.alias_of for status in statuses if status and status.alias_of}  # apex and `www.`
                    hosts += waypost.frontier.hosts_of(sorted(targets - {host.host for host in hosts}))
                    if not stop.is_set() and await waypost.frontier.waiting(hosts):
                        await asyncio.sleep(POLL_SECONDS)
            interrupted = stop.is_set()
        waypost.search.backend.claim()
        await (last_drain(waypost) if interrupted else waypost.search.drain())
        for refusal in refused:
            if as_json:
                print_json({"host": refusal.name, "state": "refused", "reasons": [refusal.message]})
            else:
                console.print(f"{escaped(refusal.name)}: refused, {escaped(refusal.message)}")
        listed = await show_visited(waypost, [host.host for host in hosts], console, as_json=as_json)
    if interrupted:
        return INTERRUPTED
    return 0 if listed and not refused else NO


async def run_from(
    settings: Settings, source: OpenList, *, urls: bool, console: Console = stdout, as_json: bool, summary: bool
) -> int:
    """Queue the names, visit all due hosts (earlier ones too), report, and return the exit code. Memory is constant.

    With `as_json`, print one line per host as it is recorded (unless `summary`), and the summary as the last line.
    """
    format_counts, began = Counter[str](), time.monotonic()

    def on_recorded(visits: Sequence[Visit]) -> None:
        for visit in visits:
            found = (answer.assessment for answer in visit.answers if answer.assessment.outcome is Outcome.FOUND)
            formats = sorted({assessment.format for assessment in found if assessment.format is not None})
            format_counts.update(formats)
            if as_json and not summary:
                members = {"outcome": visit.outcome.value, "reason": visit.reason, "formats": formats}
                visited_at = visit.finished_at.isoformat()
                print_json({"host": visit.host, **members, "requests": visit.requests, "visited_at": visited_at})

    async with open_waypost(settings) as waypost:
        with seeding.progress_of(errors) as seed_progress:
            try:
                report = await waypost.frontier.seed(names(source, urls=urls), source=FILE.slug, progress=seed_progress)
            finally:
                source.close()  # see seeding._load: after an interrupt a thread may still be reading
        await waypost.crawl.recover()  # reclaims the leases of a killed crawl
        with stop_on_signals() as stop, live_progress(errors, quiet=as_json) as crawl_progress:
            tally = await crawl(
                waypost, settings, until_idle=True, progress=crawl_progress, on_recorded=on_recorded, stop=stop
            )
            interrupted = stop.is_set()
        waypost.search.backend.claim()
        await waypost.search.drain()
    seconds = time.monotonic() - began
    if as_json:
        print_json({"summary": _summary(report, tally, format_counts, seconds, interrupted)})
    else:
        seeding.show(FILE.slug, report, as_json=False)
        _print_summary(console, tally, format_counts, seconds)
    if interrupted:
        return INTERRUPTED
    return DONE if seeding.is_complete(report) and report.hosts + report.known else NO


def _summary(
    report: SeedReport, tally: CrawlCounts, format_counts: Counter[str], seconds: float, interrupted: bool
) -> dict[str, Any]:
    return {
        "seeded": seeding.summary(FILE.slug, report),
        "hosts": tally.hosts,
        "requests": tally.requests,
        "outcomes": {outcome.value: count for outcome, count in tally.outcomes.most_common()},
        "formats": dict(format_counts.most_common()),
        "seconds": round(seconds, 3),
        "hosts_per_second": round(tally.hosts / seconds, 1),
        "interrupted": interrupted,
    }


def _print_summary(console: Console, tally: CrawlCounts, format_counts: Counter[str], seconds: float) -> None:
    console.print(
        f"{tally.hosts} hosts visited with {tally.requests} requests in {seconds:.0f} s,"
        f" {tally.hosts / seconds:.1f} hosts a second",
        highlight=False,
    )
    outcomes = [(outcome.value, count) for outcome, count in tally.outcomes.most_common()]
    for title, counts in (("outcome", outcomes), ("format", format_counts.most_common(SHOWN))):
        if counts:
            table = Table(title, "hosts")
            for name, count in counts:
                table.add_row(name, str(count))
            console.print(table)
