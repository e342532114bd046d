"""The main job from end to end: serve recorded sites over TLS, crawl them, index them, ask for things.

The demo has a data folder and a database of its own, whatever DATABASE_URL says: it makes all of its domains due again
at each run, which nobody wants to happen to a real registry.
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

from registry.actions.answering.inspect import HostStatus, Overview
from registry.core.domains import Host
from registry.core.listing import Query
from registry.demo.server import serve
from registry.demo.sites import Site, load_sites
from registry.settings import Settings
from registry.store.errors import StoreUnavailable
from registry.wiring import Waypost, child_environment, open_waypost
from registry.wiring.workers import Worker

if TYPE_CHECKING:
    from registry.actions.answering.discover import DiscoverPage

QUESTIONS = ("send an email", "let customers reschedule a delivery", "book a doctor's appointment", "buy groceries")

_POLL_SECONDS = 0.2
_STALLED_SECONDS = 180.0
"""Longer than the visit of any one host may take: nothing recorded for so long means that something is broken."""


class DemoFailed(RuntimeError):
    """The demo cannot go on; the message says why and where to look."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the run came to: every host's outcome, the answers to the example questions, and why not 100 points."""

    hosts: Mapping[str, HostStatus]
    overview: Overview
    answers: Mapping[str, "DiscoverPage"]
    lost: Mapping[str, tuple[str, ...]]  # host -> what cost its service most

    def to_json(self) -> dict[str, Any]:
        return {
            "hosts": {
                host: {"outcome": one.outcome and one.outcome.value, "reasons": list(one.reasons), "state": one.state}
                for host, one in self.hosts.items()
            },
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
        domain_daily_budget=10_000,  # nobody's but ours: it may be run all day
        connect_to=(),
        resolve="table",
    )


@contextlib.asynccontextmanager
async def crawled(
    settings: Settings, sites_folder: Path, console: Console
) -> AsyncIterator[tuple[Waypost, Report, Worker]]:
    """Crawls the folder; the web, the worker and the database stay up while the block runs. Raises DemoFailed."""
    sites = load_sites(sites_folder)
    settings.data.mkdir(parents=True, exist_ok=True)
    with _alone(settings.data), serve(sites, settings.data) as served:
        settings = settings.model_copy(update={"connect_to": served.connect_to})
        console.print(f"[bold]{len(sites)} sites[/] of {sites_folder.name} are served over TLS on loopback")
        async with open_waypost(settings) as waypost:
            console.print(f"embedded PostgreSQL is up, schema current ([dim]{settings.data}[/])")
            await _queue(waypost, sites)
            environment = child_environment(settings, SSL_CERT_FILE=str(served.ca_file))
            with Worker(environment, log_file=settings.data / "worker.log") as worker:
                await _watch(waypost, sites, console, settings.data / "worker.log")
                yield waypost, await _report(waypost, sites), worker


@contextlib.contextmanager
def _alone(data: Path) -> Iterator[None]:
    """The worker of another demo here would take our hosts, and reach none of them."""
    with (data / "demo.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoFailed(f"another demo is running on {data}; choose another folder with --data") from None
        yield


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
    hosts = waypost.hosts_of(sites)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("crawling", total=len(sites))
        quiet, before = 0.0, (-1, -1)
        while any(left := await _left(waypost, hosts, before)):
            waiting = left[0]
            progress.update(bar, completed=len(sites) - waiting, description="crawling" if waiting else "indexing")
            quiet, before = (quiet + _POLL_SECONDS, before) if left == before else (0.0, left)
            if quiet > _STALLED_SECONDS:
                raise DemoFailed(f"nothing happened for {_STALLED_SECONDS:.0f} s; the worker's log is {log_file}")
            await asyncio.sleep(_POLL_SECONDS)


async def _left(waypost: Waypost, hosts: Sequence[Host], before: tuple[int, int]) -> tuple[int, int]:
    """Hosts to visit and services to index; as before while the database is being started again."""
    try:
        return await waypost.waiting(hosts), await waypost.index_lag()
    except StoreUnavailable:
        return before


async def _report(waypost: Waypost, sites: Mapping[str, Site]) -> Report:
    answers = {question: await waypost.discover(Query(question, limit=2)) for question in QUESTIONS}
    shown = {hit.card.host for page in answers.values() for hit in page.hits}
    lost = {host: await _lost(waypost, host) for host in sorted(shown)}
    hosts = {host: status for host in sites if (status := await waypost.status(host)) is not None}
    return Report(hosts, await waypost.overview(), answers, lost)


async def _lost(waypost: Waypost, host: str) -> tuple[str, ...]:
    view = await waypost.service(host)
    lines = view.breakdown["lines"] if view else []
    return tuple(f"-{line['points']:g} {line['says']}" for line in lines[:2] if line["points"])
