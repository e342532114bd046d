"""The demo, end to end: serve recorded sites over TLS, crawl them, index them, run example searches.

The demo has its own data folder and database, regardless of DATABASE_URL, because each run makes all its domains due
again, which must not happen in a real registry.
"""

import asyncio
import contextlib
import fcntl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from registry.actions.queries.inspect import HostReport, RegistryOverview
from registry.core.model.listing import Query
from registry.core.names.domains import Host
from registry.demo import DemoError
from registry.demo.server import serve
from registry.demo.sites import SAMPLE_WEB, Site, load_sites
from registry.settings import Settings
from registry.wiring import StoreUnavailable, Waypost, open_waypost
from registry.wiring.workers import Worker

if TYPE_CHECKING:
    from registry.actions.queries.discover import DiscoverPage

QUESTIONS = ("send an email", "let customers reschedule a delivery", "book a doctor's appointment", "buy groceries")

_POLL_SECONDS = 0.2
_STALLED_SECONDS = 180.0
"""Longer than one visit may take: if nothing is recorded for this long, something is broken."""


@dataclass(frozen=True, slots=True)
class TourReport:
    """The result of the run: every host's outcome, the results of the example searches, and why points were lost."""

    hosts: Mapping[str, HostReport]
    overview: RegistryOverview
    answers: Mapping[str, "DiscoverPage"]
    lost: Mapping[str, tuple[str, ...]]  # host -> the largest deductions from its service's score

    def to_json(self) -> dict[str, Any]:
        return {
            "hosts": {
                host: {
                    "outcome": status.outcome and status.outcome.value,
                    "reasons": list(status.reasons),
                    "state": status.state,
                }
                for host, status in self.hosts.items()
            },
            "answers": {
                question: [{"host": hit.card.host, "score": hit.card.score} for hit in page.hits]
                for question, page in self.answers.items()
            },
        }


def demo_settings(data: Path, port: int) -> Settings:
    """Return the demo's settings: an embedded database, no request delay, fixed addresses; the rest as configured."""
    return Settings(
        data=data,
        database_url=None,
        public_url=f"http://127.0.0.1:{port}",
        request_delay=0,
        domain_daily_budget=10_000,  # the sites are local, so the demo may be repeated often
        connect_to=(),
        resolve="table",
    )


@contextlib.asynccontextmanager
async def crawled(
    settings: Settings, sites_folder: Path, console: Console
) -> AsyncIterator[tuple[Waypost, TourReport, Worker]]:
    """Crawl the sites; web server, worker and database stay up while the block runs. Raise DemoFailed."""
    sites = load_sites(sites_folder)
    settings.data.mkdir(parents=True, exist_ok=True)
    with _exclusive(settings.data), serve(sites, settings.data) as served:
        settings = settings.model_copy(update={"connect_to": served.connect_to})
        sort = "sample" if sites_folder == SAMPLE_WEB else "recorded"
        console.print(f"Serving [bold]{len(sites)} {sort} sites[/] over TLS on loopback")
        async with open_waypost(settings) as waypost:
            console.print(f"embedded PostgreSQL is up, schema current ([dim]{settings.data}[/])")
            await _queue_sites(waypost, sites)
            environment = settings.as_environment() | {"SSL_CERT_FILE": str(served.ca_file)}
            log_file = settings.data / "worker.log"
            with Worker(environment, log_file=log_file) as worker:
                await _watch(waypost, sites, console, log_file)
                yield waypost, await _report(waypost, sites), worker


@contextlib.contextmanager
def _exclusive(data: Path) -> Iterator[None]:
    """Lock the data folder: the worker of a second demo would lease these hosts, but could not reach them."""
    with (data / "demo.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoError(f"another demo is running on {data}; choose another folder with --data") from None
        yield


async def _queue_sites(waypost: Waypost, sites: Mapping[str, Site]) -> None:
    report = await waypost.frontier.seed(sites, source="demo")
    if report.refused:
        count, first = len(report.refused), report.refused[0]
        raise DemoError(f"{count} folder names are no host names, the first: {first.name}: {first.message}")
    await waypost.frontier.make_due(sites)


async def _watch(waypost: Waypost, sites: Mapping[str, Site], console: Console, log_file: Path) -> None:
    """Wait until every host has been visited and the index matches the database. Raise DemoFailed on a stall."""
    hosts = waypost.frontier.hosts_of(sites)
    text = TextColumn("{task.description}")
    columns = (SpinnerColumn(), text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("crawling", total=len(sites))
        quiet_seconds, previous = 0.0, (-1, -1)
        while any(remaining := await _remaining(waypost, hosts, previous)):
            waiting = remaining[0]
            progress.update(bar, completed=len(sites) - waiting, description="crawling" if waiting else "indexing")
            quiet_seconds = quiet_seconds + _POLL_SECONDS if remaining == previous else 0.0
            previous = remaining
            if quiet_seconds > _STALLED_SECONDS:
                raise DemoError(f"nothing happened for {_STALLED_SECONDS:.0f} s; the worker's log is {log_file}")
            await asyncio.sleep(_POLL_SECONDS)


async def _remaining(waypost: Waypost, hosts: Sequence[Host], previous: tuple[int, int]) -> tuple[int, int]:
    """Return the numbers of hosts to visit and services to index; `previous` while the database restarts."""
    try:
        return await waypost.frontier.waiting(hosts), await waypost.search.index_lag()
    except StoreUnavailable:
        return previous


async def _report(waypost: Waypost, sites: Mapping[str, Site]) -> TourReport:
    answers = {question: await waypost.search.discover(Query(question, limit=2)) for question in QUESTIONS}
    deductions = {}
    for host in sorted({hit.card.host for page in answers.values() for hit in page.hits}):
        view = await waypost.queries.service(host)
        lines = view.breakdown["lines"] if view else []
        deductions[host] = tuple(f"-{line['points']:g} {line['says']}" for line in lines[:2] if line["points"])
    hosts = {host: status for host in sites if (status := await waypost.queries.status(host)) is not None}
    return TourReport(hosts, await waypost.queries.overview(), answers, deductions)
