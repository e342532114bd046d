"""The main job from end to end: serve recorded sites over TLS, crawl them, index them, ask for things.

The demo has a data folder and a database of its own, whatever DATABASE_URL says: it makes all of its domains due again
at each run, which nobody wants to happen to a real registry.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from registry.actions.discover import Discovered
from registry.actions.inspect import Overview
from registry.core.listing import Query
from registry.demo.server import serve
from registry.demo.sites import Site, load_sites
from registry.settings import Settings
from registry.wiring import Waypost, child_environment, open_waypost
from registry.wiring.workers import Worker

SAMPLE_WEB = Path(__file__).parent / "web"
QUESTIONS = ("send an email", "let customers reschedule a delivery", "book a doctor's appointment", "buy groceries")

_POLL_SECONDS = 0.2
_STALLED_SECONDS = 180.0
"""Longer than the visit of any one host may take: nothing recorded for so long means that something is broken."""


class DemoFailed(RuntimeError):
    """The demo cannot go on; the message says why and where to look."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the run came to: every host's outcome, and the answers to the example questions."""

    hosts: Mapping[str, str]
    overview: Overview
    answers: Mapping[str, Discovered]

    def to_json(self) -> dict[str, Any]:
        return {
            "hosts": dict(self.hosts),
            "answers": {
                question: [{"host": hit.card.host, "score": hit.card.score} for hit in found.hits]
                for question, found in self.answers.items()
            },
        }


def demo_settings(data: Path, port: int) -> Settings:
    """Nothing of the environment but the log level: the demo is the same everywhere."""
    return Settings(
        data=data,
        database_url=None,
        public_url=f"http://127.0.0.1:{port}",
        request_delay=0,
        connect_to=(),
        resolve="table",
    )


@contextlib.asynccontextmanager
async def crawled(settings: Settings, sites_folder: Path, console: Console) -> AsyncIterator[tuple[Waypost, Report]]:
    """Crawls the folder; the web, the worker and the database stay up while the block runs. Raises DemoFailed."""
    sites = load_sites(sites_folder)
    settings.data.mkdir(parents=True, exist_ok=True)
    with serve(sites, settings.data) as served:
        settings = settings.model_copy(update={"connect_to": served.connect_to})
        console.print(f"[bold]{len(sites)} sites[/] of {sites_folder.name} are served over TLS on loopback")
        async with open_waypost(settings) as waypost:
            console.print(f"embedded PostgreSQL is up, schema current ([dim]{settings.data}[/])")
            await _queue(waypost, sites)
            environment = child_environment(settings, SSL_CERT_FILE=str(served.ca_file))
            with Worker(environment, log_file=settings.data / "worker.log"):
                await _watch(waypost, sites, console, settings.data / "worker.log")
                yield waypost, await _report(waypost, sites)


async def _queue(waypost: Waypost, sites: Mapping[str, Site]) -> None:
    report = await waypost.seed(sites, source="demo")
    if report.refused:
        first = report.refused[0]
        raise DemoFailed(
            f"{len(report.refused)} folder names are no host names, the first: {first.name}: {first.message}"
        )
    await waypost.make_due(sites)


async def _watch(waypost: Waypost, sites: Mapping[str, Site], console: Console, log_file: Path) -> None:
    """Until every host has been visited and the index says what the database says."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("crawling", total=len(sites))
        quiet, before = 0.0, -1
        while (waiting := await waypost.waiting(sites)) or await waypost.index_lag():
            progress.update(bar, completed=len(sites) - waiting, description="crawling" if waiting else "indexing")
            quiet, before = (quiet + _POLL_SECONDS, before) if waiting == before else (0.0, waiting)
            if quiet > _STALLED_SECONDS:
                raise DemoFailed(f"nothing happened for {_STALLED_SECONDS:.0f} s; the worker's log is {log_file}")
            await asyncio.sleep(_POLL_SECONDS)
        progress.update(bar, completed=len(sites), description="crawled")


async def _report(waypost: Waypost, sites: Mapping[str, Site]) -> Report:
    answers = {question: await waypost.discover(Query(question, limit=3)) for question in QUESTIONS}
    return Report(await waypost.outcomes(sites), await waypost.overview(), answers)


def print_report(console: Console, report: Report) -> None:
    console.print(_outcomes(report))
    console.print(_services(report.overview))
    for question, found in report.answers.items():
        _print_answer(console, question, found)


def _outcomes(report: Report) -> Table:
    table = Table("outcome", "hosts", "for example", title="What became of the hosts", title_justify="left")
    by_outcome: dict[str, list[str]] = {}
    for host, outcome in sorted(report.hosts.items()):
        by_outcome.setdefault(outcome, []).append(host)
    for outcome, hosts in sorted(by_outcome.items(), key=lambda item: -len(item[1])):
        table.add_row(outcome, str(len(hosts)), ", ".join(hosts[:3]))
    return table


def _services(overview: Overview) -> Table:
    table = Table("format", "services", title="What they speak", title_justify="left")
    for form, count in sorted(overview.formats.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(form, str(count))
    return table


def _print_answer(console: Console, question: str, found: Discovered) -> None:
    console.print(f"\n[bold]“{question}”[/]")
    if not found.hits:
        console.print("  nothing found")
    for hit in found.hits:
        card = hit.card
        console.print(f"  [cyan]{card.host}[/] {card.name}, score {card.score}, {card.trust_level}", highlight=False)
        for match in hit.capabilities:
            words = ", ".join(match.matched_terms)
            console.print(f"    [green]{match.name}[/]" + (f" [dim]because of: {words}[/]" if words else ""))
        for reason in _lost_points(card.reasons):
            console.print(f"    [dim]{reason}[/]")


def _lost_points(reasons: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"-{line['points']:g} {line['says']}" for line in reasons[:2] if line["points"]]
