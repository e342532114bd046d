"""`waypost schedule`: the recurring jobs, run until stopped or once, and the list of them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import structlog
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from rich.table import Table

from crawler.run import crawl, download
from registry.cli.clean import members, print_json
from registry.cli.common import DONE, INTERRUPTED, NO
from registry.cli.metrics import listening, look_regularly
from registry.cli.shutdown import stop_on_signals
from registry.cli.terminal import console, errors, escaped
from registry.core.scheduling.jobs import BROKEN, RunOutcome
from registry.settings import Settings
from registry.tasks import running_beside
from registry.wiring import NOT_READY, Waypost, open_waypost
from registry.wiring.schedule import JobStatus, JobTools, RunRecord, Schedule
from registry.wiring.upkeep import upkeep

ROUNDS = 20
"""Rounds in one pass: hosts named by documents of one round are visited in the next. The rest waits for the next pass.
"""

log = structlog.get_logger(__name__)


async def run_schedule(settings: Settings, metrics: tuple[str, int] | None = None) -> None:
    """Run the jobs until SIGINT or SIGTERM; with `metrics`, serve their state there. Raise OSError: port taken."""
    async with open_waypost(settings) as waypost:
        with stop_on_signals() as stop:
            schedule = Schedule(_tools(waypost, settings))
            async with _metrics_served(schedule, metrics):
                log.info("schedule.started")
                await schedule.run(stop)
            log.info("schedule.stopped")


class JobMetrics(Collector):
    """The jobs as of the last look at the database; None: it did not answer. The metrics server's thread reads it."""

    def __init__(self) -> None:
        self.lines: Sequence[JobStatus] | None = None

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("waypost_database_up", "Whether the last query worked.", self.lines is not None)
        # Not `job`, which is a label of Prometheus itself.
        failed = GaugeMetricFamily("waypost_job_failed", "Whether the job's last run failed or died.", labels=["name"])
        text = "When the job is next due, as Unix time."
        due = GaugeMetricFamily("waypost_job_next_run_timestamp_seconds", text, labels=["name"])
        for line in self.lines or ():
            failed.add_metric([line.job.name], line.last is not None and line.last.outcome in BROKEN)
            if line.next_at is not None:
                due.add_metric([line.job.name], line.next_at.timestamp())
        yield from (failed, due)


@contextlib.asynccontextmanager
async def _metrics_served(schedule: Schedule, listen: tuple[str, int] | None) -> AsyncIterator[None]:
    if listen is None:
        yield
        return
    metrics = JobMetrics()

    async def look() -> None:
        try:
            metrics.lines = await schedule.lines()
        except NOT_READY:
            metrics.lines = None

    async with listening(listen, metrics), running_beside(look_regularly(look)):
        yield


async def run_once(settings: Settings, names: Sequence[str], *, as_json: bool) -> int:
    """Run the due or the named jobs. Return NO when a job failed, or when a named job runs in another process."""
    output = errors if as_json else console
    async with open_waypost(settings) as waypost:
        with stop_on_signals() as stop:
            tools = _tools(waypost, settings, crawl_pass=partial(_crawl_pass, waypost, settings, stop))
            runs = await Schedule(tools).once(names or None, stop)
            was_stopped = stop.is_set()
    if runs is None:
        output.print("another process runs the schedule and will run the due jobs")
        return DONE
    for run in runs:
        if as_json:
            print_json(_run_json(run))
        else:
            console.print(escaped(_run_text(run)))
    missing = sorted(set(names) - {run.job for run in runs})
    if was_stopped:
        return INTERRUPTED
    for name in missing:
        output.print(f"{name}: already running in another process")
    if not runs and not missing:
        output.print("nothing is due")
    return NO if missing or any(run.outcome is not RunOutcome.DONE for run in runs) else DONE


async def show_schedule(settings: Settings, *, as_json: bool) -> None:
    """Print every job with its interval, its last run and its next run."""
    async with open_waypost(settings) as waypost:
        lines = await Schedule(_tools(waypost, settings)).lines()
    now = datetime.now(UTC)
    if as_json:
        for line in lines:
            last, interval = line.last and _run_json(line.last), round(line.interval.total_seconds())
            job = {"job": line.job.name, "says": line.job.says, "interval_seconds": interval}
            print_json({**job, "last": last, "next_at": line.next_at})
        return
    table = Table("job", "every", "last run", "ended", "next run", "what it does")
    for line in lines:
        last, next_at = line.last, line.next_at
        table.add_row(
            line.job.name,
            _interval_text(line.interval) if line.interval else "only on request",
            _time_text(last.started_at) if last else "never",
            escaped(f"{last.outcome.value}{f': {last.error}' if last.error else ''}") if last else "",
            "" if next_at is None else "due" if next_at <= now else _time_text(next_at),
            line.job.says,
        )
    console.print(table)


def _tools(waypost: Waypost, settings: Settings, **options: Any) -> JobTools:
    return JobTools(waypost, settings, partial(download, settings=settings), **options)


async def _crawl_pass(waypost: Waypost, settings: Settings, stop: asyncio.Event) -> Mapping[str, Any]:
    """Crawl one pass as a worker would: visit found hosts too, and update the index. Return counts."""
    waypost.search.backend.claim()
    visited = requests = 0
    async with upkeep(waypost):
        for _ in range(ROUNDS):
            tally = await crawl(waypost, settings, until_idle=True, stop=stop)
            visited, requests = visited + tally.hosts, requests + tally.requests
            await waypost.frontier.fold_candidates()
            due = await waypost.crawl.next_due()
            if stop.is_set() or due is None or due > datetime.now(UTC):
                break
    await waypost.search.drain()
    return {"visited": visited, "requests": requests}


def _run_text(run: RunRecord) -> str:
    figures = ", ".join(
        f"{name} {_figure_text(value)}" for name, value in run.figures.items() if value not in (0, [], {})
    )
    reason = f" ({run.error})" if run.error else ""
    return f"{run.job}: {run.outcome.value}{reason}{': ' if figures else ''}{figures}"


def _figure_text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _run_json(run: RunRecord) -> dict[str, Any]:
    facts = members(run, "job", "started_at", "finished_at", "error")
    return {**facts, "outcome": run.outcome.value, "figures": dict(run.figures)}


def _interval_text(interval: timedelta) -> str:
    seconds = round(interval.total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _time_text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%MZ")
