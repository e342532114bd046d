"""The demo, end to end: serve recorded sites over TLS, crawl them, index them, run example searches, follow changes.

The demo has its own data folder and database, regardless of DATABASE_URL, because each run makes all its domains due
again, which must not happen in a real registry.
"""

import asyncio
import contextlib
import fcntl
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from registry.actions.queries.inspect import HostReport, RegistryOverview
from registry.core.model.listing import Query
from registry.core.names.domains import Host
from registry.demo import DemoError
from registry.demo.server import SampleServer, serve
from registry.demo.sites import SAMPLE_WEB, BadSite, Site, load_site, load_sites, site_folders
from registry.settings import Settings
from registry.wiring import StoreUnavailable, Waypost, open_waypost
from registry.wiring.workers import Worker

if TYPE_CHECKING:
    from registry.actions.queries.discover import DiscoverPage

QUESTIONS = ("weather for the next days", "send an email", "let customers reschedule a delivery", "buy groceries")

SAMPLE_CALL = "https://weatherglass.example/forecast?place=Lisbon"
"""A call of what the first question finds; the sample web answers it."""

MAX_SITES_SHOWN = 20
_QUESTION_CHARS = 80

_POLL_SECONDS = 0.2
_LINE_SECONDS = 2.0
"""Seconds between lines of progress where no bar can move."""

_FOLLOW_SECONDS = 1.0
_VISIT_SECONDS = 60.0
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


@dataclass(frozen=True, slots=True)
class DemoRegistry:
    """A registry over recorded sites while it runs. `sites`: what `served` serves, by host."""

    waypost: Waypost
    report: TourReport
    worker: Worker
    sites: MutableMapping[str, Site]
    served: SampleServer


@contextlib.asynccontextmanager
async def crawled(settings: Settings, sites_folder: Path, console: Console) -> AsyncIterator[DemoRegistry]:
    """Crawl the sites; web server, worker and database stay up while the block runs. Raise DemoError and BadSite."""
    sites = load_sites(sites_folder, lambda error: console.print(f"left out: {error}", markup=False, soft_wrap=True))
    settings.data.mkdir(parents=True, exist_ok=True)
    with _exclusive(settings.data), serve(sites, settings.data) as served:
        settings = settings.model_copy(update={"connect_to": served.connect_to})
        sort, plural = "sample" if sites_folder == SAMPLE_WEB else "recorded", "" if len(sites) == 1 else "s"
        console.print(f"Serving [bold]{len(sites)} {sort} site{plural}[/] over TLS on loopback")
        is_new = not (settings.data / "postgres").exists()
        console.print(f"Starting PostgreSQL{', the first time in this data folder' if is_new else ''} ...")
        async with open_waypost(settings) as waypost:
            await _queue_sites(waypost, sites)
            environment = settings.as_environment() | {"SSL_CERT_FILE": str(served.ca_file)}
            log_file = settings.data / "worker.log"
            with Worker(environment, log_file=log_file) as worker:
                await _watch(waypost, sites, served, console, log_file)
                questions = QUESTIONS if sites_folder == SAMPLE_WEB else await _own_questions(waypost, sites)
                yield DemoRegistry(waypost, await _report(waypost, sites, questions), worker, sites, served)


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


async def _watch(
    waypost: Waypost, sites: Mapping[str, Site], served: SampleServer, console: Console, log_file: Path
) -> None:
    """Wait until every host has been visited and the index matches the database. Raise DemoError on a stall."""
    hosts = waypost.frontier.hosts_of(sites)
    with _progress(console, len(sites)) as show:
        changed_at, previous = time.monotonic(), (len(sites), 0, -1)
        while True:
            waiting, lag = await _remaining(waypost, hosts, (previous[0], previous[1]))
            if not waiting and not lag:
                return
            reached = max(len(sites) - waiting, len(served.reached))
            if not reached:
                show("starting the crawler", 0)
            elif waiting:
                show("visiting the sites" if reached < len(sites) else "storing what was found", reached)
            else:
                show("building the search index", reached)
            if (waiting, lag, reached) != previous:
                changed_at, previous = time.monotonic(), (waiting, lag, reached)
            if time.monotonic() - changed_at > _STALLED_SECONDS:
                raise DemoError(f"nothing happened for {_STALLED_SECONDS:.0f} s; the worker's log is {log_file}")
            await asyncio.sleep(_POLL_SECONDS)


@contextlib.contextmanager
def _progress(console: Console, total: int) -> Iterator[Callable[[str, int], None]]:
    """Yield a function that shows a step and the number of reached sites.

    It moves a bar on a terminal; elsewhere it prints a line for each step, and every few seconds within one.
    """
    if console.is_terminal:
        text = TextColumn("{task.description}")
        columns = (SpinnerColumn(), text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            bar = progress.add_task("starting the crawler", total=total)
            yield lambda step, reached: progress.update(bar, description=step, completed=reached)
        return
    said, said_at = ("", 0), 0.0

    def say(step: str, reached: int) -> None:
        nonlocal said, said_at
        is_late = time.monotonic() - said_at > _LINE_SECONDS and reached != said[1]
        if step != said[0] or is_late:
            said, said_at = (step, reached), time.monotonic()
            console.print(f"  {step}" + (f", {reached} of {total} reached" if reached else ""))

    yield say


async def _remaining(waypost: Waypost, hosts: Sequence[Host], previous: tuple[int, int]) -> tuple[int, int]:
    """Return the numbers of hosts to visit and services to index; `previous` while the database restarts."""
    try:
        return await waypost.frontier.waiting(hosts), await waypost.search.index_lag()
    except StoreUnavailable:
        return previous


async def _own_questions(waypost: Waypost, sites: Mapping[str, Site]) -> Sequence[str]:
    """Return questions that the sites answer: what the first services say that they do."""
    questions: dict[str, None] = {}
    for host in islice(sites, MAX_SITES_SHOWN):
        view = await waypost.queries.service(host)
        if view is not None and view.service.capabilities and len(questions) < len(QUESTIONS):
            first = view.service.capabilities[0]
            questions[shorten(first.description or first.name, _QUESTION_CHARS, placeholder="")] = None
    return [question for question in questions if question]


async def _report(waypost: Waypost, sites: Mapping[str, Site], questions: Sequence[str]) -> TourReport:
    answers = {question: await waypost.search.discover(Query(question, limit=2)) for question in questions}
    deductions = {}
    for host in sorted({hit.card.host for page in answers.values() for hit in page.hits}):
        view = await waypost.queries.service(host)
        lines = view.breakdown["lines"] if view else []
        deductions[host] = tuple(f"-{line['points']:g} {line['says']}" for line in lines[:2] if line["points"])
    hosts = {host: status for host in sites if (status := await waypost.queries.status(host)) is not None}
    return TourReport(hosts, await waypost.queries.overview(), answers, deductions)


async def follow_changes(demo: DemoRegistry, sites_folder: Path, say: Callable[[str], None]) -> None:
    """Visit each site again whose files change, and `say` what became of it. Return when a site was added.

    An added site needs another start, because the processes learn the names of the sites when they start.
    """
    seen = await asyncio.to_thread(_fingerprints, sites_folder)
    if any(_usable(sites_folder / host, lambda _: None, set()) for host in seen if host not in demo.sites):
        return  # added while the others were visited
    refused: set[str] = set()
    while True:
        began = time.monotonic()
        found = await asyncio.to_thread(_fingerprints, sites_folder)
        # large folders are read less often
        await asyncio.sleep(max(_FOLLOW_SECONDS, 20 * (time.monotonic() - began)))
        if found == seen or found != await asyncio.to_thread(_fingerprints, sites_folder):
            continue  # nothing changed, or files are still being written
        changed = sorted(host for host in found.keys() | seen.keys() if found.get(host) != seen.get(host))
        seen = found
        usable = [site for host in changed if (site := _usable(sites_folder / host, say, refused))]
        known = {site.host: site for site in usable if site.host in demo.sites}
        # another state needs another port or certificate
        if len(known) < len(usable) or any(site.file.state != demo.sites[site.host].file.state for site in usable):
            return
        demo.sites.update(known)
        if known:
            await _visit_again(demo.waypost, known, say)


def _fingerprints(folder: Path) -> dict[str, int]:
    """Return a number for each site, which differs when a file is added, removed, or written to."""
    found = {}
    with contextlib.suppress(OSError):  # folders come and go while they are read
        for site in site_folders(folder):
            files = []
            with contextlib.suppress(OSError):
                for path in site.rglob("*"):
                    status = path.lstat()
                    files.append((str(path), status.st_size, status.st_mtime_ns))
            found[site.name] = hash(tuple(sorted(files)))
    return found


def _usable(folder: Path, say: Callable[[str], None], refused: set[str]) -> Site | None:
    """Return the site of a folder. If it cannot be served, `say` why, once, and return None."""
    try:
        return load_site(folder)
    except (BadSite, OSError) as error:
        if str(error) not in refused:
            say(f"left out: {error}")
        refused.add(str(error))
        return None


async def _visit_again(waypost: Waypost, names: Collection[str], say: Callable[[str], None]) -> None:
    hosts = waypost.frontier.hosts_of(names)
    deadline = time.monotonic() + _VISIT_SECONDS
    with contextlib.suppress(StoreUnavailable):  # the database restarts; the next change is visited
        await waypost.frontier.make_due(names)
        while any(await _remaining(waypost, hosts, (1, 0))) and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)
        for name in names:
            status = await waypost.queries.status(name)
            if status is not None:
                say(f"{name} changed and was visited again: {outcome_line(status)}")


def outcome_line(status: HostReport) -> str:
    """Return whether the host is listed, the outcome of its last visit, and the first reason if something is wrong."""
    outcome, reason = status.outcome.value if status.outcome else "not visited yet", next(iter(status.reasons), "")
    says = reason if reason.startswith(outcome) else ": ".join(filter(None, (outcome, reason)))
    return f"{'listed' if status.state == 'listed' else 'not listed'}, {says}"
