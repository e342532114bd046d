"""The recurring jobs: their table, one leader over all processes, and a log of their runs.

The leader holds a session advisory lock. Every run of a job holds another one, so that an operator's `--once` and the
leader never run the same job at once. A process that loses a lock stops the work under it at once; every job can be
interrupted and repeated.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import structlog

from registry.actions.dumps import DumpError
from registry.actions.maintenance.maintenance import SUFFIXES, Fetch, RefreshError
from registry.core.names.addresses import REGISTRY_V4, REGISTRY_V6
from registry.core.scheduling.jobs import Retention, RunOutcome, next_run
from registry.outages import log_failure
from registry.settings import Settings
from registry.store.holder import LEAD
from registry.store.jobs import RunRecord as RunRecord  # interfaces name it
from registry.wiring import NOT_READY, HeldLock, Waypost, utc_now
from registry.wiring.space import require_space

LOOK_SECONDS: Final = 30.0
"""Maximum time between two checks for due jobs: runs of other processes (`--once`) move the next run of a job."""

AGAIN_SECONDS: Final = 1.0
MAX_NAMED: Final = 20

log = structlog.get_logger(__name__)

Figures = Mapping[str, Any]
_T = TypeVar("_T")


class IncompleteJob(Exception):
    """A job finished only in part. The message is stored as the error of its run."""

    def __init__(self, reason: str, figures: Figures) -> None:
        super().__init__(reason)
        self.figures = figures


@dataclass(frozen=True, slots=True)
class JobTools:
    """Tools that interfaces give to jobs. `crawl_pass`: visits everything that is due, once; None if not wanted."""

    waypost: Waypost
    settings: Settings
    fetch: Fetch
    crawl_pass: Callable[[], Awaitable[Figures]] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """`says`: description for help; `interval`: seconds between two runs, 0 for never; `run` returns figures."""

    name: str
    says: str
    interval: Callable[[Settings], int]
    run: Callable[[JobTools], Awaitable[Figures]]


async def _recrawl(tools: JobTools) -> Figures:
    """Maintain the queue, and add events for services that became stale.

    Without a worker, make a crawl pass if `crawl_pass` is given, else log a warning.
    """
    figures = asdict(await tools.waypost.frontier.recrawl())
    figures["stale"] = await tools.waypost.maintenance.tell_stale()
    if figures["crawlers"] or not figures["due"]:
        return figures
    if tools.crawl_pass is None:
        log.warning("worker.missing", due=figures["due"], remedy="start `waypost worker`")
        return figures
    return {**figures, **await tools.crawl_pass()}


async def _rescore(tools: JobTools) -> Figures:
    result = await tools.waypost.maintenance.rescore(only_outdated=True)
    figures = {"hosts": result.hosts, "changed": result.changed, "failed": result.failed[:MAX_NAMED]}
    if result.failed:
        raise IncompleteJob(f"{len(result.failed)} hosts could not be scored", figures)
    return figures


async def _reindex(tools: JobTools) -> Figures:
    """Rebuild the index if some process feeds it; otherwise there is no index to keep."""
    if not tools.waypost.index_is_fed():
        return {"skipped": "no process feeds an index in this data folder"}
    require_space(tools.settings)
    return asdict(await tools.waypost.search.reindex())


async def _prune(tools: JobTools) -> Figures:
    settings = tools.settings
    retention = Retention(
        visits_days=settings.keep_visits_days,
        visits_per_host=settings.keep_visits_per_host,
        history_days=settings.keep_history_days,
        versions=settings.keep_versions,
        bodies_days=settings.keep_bodies_days,
        scores_days=settings.keep_scores_days,
        changes_days=settings.keep_changes_days,
        candidates_days=settings.keep_candidates_days,
        reports_days=settings.keep_reports_days,
        job_runs_days=settings.keep_job_runs_days,
        archive_visits=settings.archive_visits,
    )
    return await tools.waypost.maintenance.prune(retention)


async def _refresh(tools: JobTools) -> Figures:
    """Refresh reference data, then move hosts whose domain changed; a retry follows for those of leased domains."""
    settings = tools.settings
    urls = {
        SUFFIXES: settings.suffix_list_url,
        REGISTRY_V4: settings.ipv4_registry_url,
        REGISTRY_V6: settings.ipv6_registry_url,
    }
    failed: list[str] = []
    try:
        refreshed = await tools.waypost.maintenance.refresh(urls, tools.fetch)
    except RefreshError as error:
        refreshed = error.refreshed
        failed.append(str(error))
    moved = await tools.waypost.maintenance.rehome()
    if moved.leased:
        failed.append(f"{len(moved.leased)} hosts cannot move yet: their domain is leased")
    if moved.failed:
        failed.append(f"{len(moved.failed)} hosts could not be moved")
    figures = asdict(refreshed) | {"hosts": moved.hosts, "moved": len(moved.moved), "leased": len(moved.leased)}
    figures["moved_hosts"] = moved.moved[:MAX_NAMED]
    if failed:
        raise IncompleteJob("; ".join(failed), figures)
    return figures


async def _export(tools: JobTools) -> Figures:
    require_space(tools.settings)
    try:
        exported = await tools.waypost.dumps.export()
    except DumpError as error:
        raise IncompleteJob(str(error), {}) from None
    return {"snapshot": exported.snapshot, "parts": exported.parts, "bytes": exported.bytes, **exported.counts}


JOBS: Final = (
    Job(
        "recrawl",
        "queue hosts that documents name, free leases of dead workers, make overdue domains due",
        lambda settings: settings.recrawl_interval,
        _recrawl,
    ),
    Job(
        "rescore",
        "judge stored documents again that another version of the rubric judged",
        lambda settings: settings.rescore_interval,
        _rescore,
    ),
    Job(
        "reindex",
        "rebuild the search index beside the old one, then swap",
        lambda settings: settings.reindex_interval,
        _reindex,
    ),
    Job("prune", "forget what is too old or belongs to nothing", lambda settings: settings.prune_interval, _prune),
    Job(
        "refresh",
        "fetch the public suffix list and the registries of special addresses; move hosts whose domain changed",
        lambda settings: settings.refresh_interval,
        _refresh,
    ),
    Job("export", "write a dump for copies of the registry", lambda settings: settings.export_interval, _export),
)
JOB_BY_NAME: Final = {job.name: job for job in JOBS}


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job as `--list` shows it. `next_at`: None if not scheduled; in the past if due. `runs`: the last ones, the
    newest first."""

    job: Job
    interval: timedelta
    next_at: datetime | None
    runs: Sequence[RunRecord]

    @property
    def last(self) -> RunRecord | None:
        return next(iter(self.runs), None)


async def job_lines(waypost: Waypost, settings: Settings, jobs: Iterable[Job] = JOBS) -> list[JobStatus]:
    """Return every job with its last runs and its next one."""
    return [await _job_status(waypost, settings, job) for job in jobs]


async def _job_status(waypost: Waypost, settings: Settings, job: Job) -> JobStatus:
    runs = await waypost.jobs.last_runs(job.name)
    interval = timedelta(seconds=job.interval(settings))
    next_at = next_run(interval, [run.run for run in runs], utc_now())
    return JobStatus(job, interval, next_at, runs)


class Schedule:
    def __init__(self, tools: JobTools, jobs: Sequence[Job] = JOBS) -> None:
        self._tools = tools
        self._waypost = tools.waypost
        self._jobs = {job.name: job for job in jobs}
        self._has_lost_lead = False

    async def lines(self) -> list[JobStatus]:
        """Return every job with its last runs and its next one."""
        return await job_lines(self._waypost, self._tools.settings, self._jobs.values())

    async def run(self, stop: asyncio.Event) -> None:
        """Lead, or stand by for the leader, until stopped. Wait while the database is unavailable."""
        while not stop.is_set():
            try:
                await _run_until(stop.wait(), self._lead())
            except NOT_READY as error:
                log_failure(log, "schedule.database_unavailable", error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), AGAIN_SECONDS)

    async def once(self, names: Sequence[str] | None, stop: asyncio.Event) -> list[RunRecord] | None:
        """Run the named jobs, due or not, or all due jobs (None), one after another; return their runs.

        A named job that another process runs is left out. For due jobs, return None if another process leads and runs
        them. Raise one of NOT_READY.
        """
        runs: list[RunRecord] = []
        led_elsewhere = await _run_until(stop.wait(), self._run_once(names, runs))
        return None if led_elsewhere else runs

    async def _run_once(self, names: Sequence[str] | None, runs: list[RunRecord]) -> bool:
        """Run the named jobs, or due jobs unless another process leads; return whether it does."""
        if names is not None:
            for name in names:
                if (run := await self._run(self._jobs[name], forced=True)) is not None:
                    runs.append(run)
            return False
        async with self._waypost.jobs.hold(LEAD) as hold:
            for job in self._jobs.values() if hold is not None else ():
                if await self._is_due(job) and (run := await self._run(job)) is not None:
                    runs.append(run)
            return hold is None

    async def _lead(self) -> None:
        """Become the leader and run due jobs; return when the lead is lost."""
        async with contextlib.AsyncExitStack() as stack:
            hold = await stack.enter_async_context(self._waypost.jobs.hold(LEAD))
            if hold is None:
                log.info("leader.standby")
                hold = await stack.enter_async_context(self._waypost.jobs.hold(LEAD, patient=True))
            if hold is not None:
                log.info("leader.elected")
                await self._run_due(hold)

    async def _run_due(self, hold: HeldLock) -> None:
        lost, self._has_lost_lead = asyncio.create_task(hold.until_lost()), False
        running: dict[str, asyncio.Task[RunRecord | None]] = {}
        starting = asyncio.create_task(self._start_due(lost, running))
        try:
            await asyncio.wait({lost, starting}, return_when=asyncio.FIRST_COMPLETED)
            log.warning("leader.lost", reason=HeldLock.LOST if lost.done() else "the database does not answer")
            if not lost.done():
                await starting  # raises: no database
        finally:
            self._has_lost_lead = lost.done()
            tasks = (lost, starting, *running.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _start_due(self, lost: asyncio.Task[None], running: dict[str, asyncio.Task[RunRecord | None]]) -> None:
        """Start jobs when they are due, until the lead is lost. Raise one of NOT_READY."""
        while not lost.done():
            pause = LOOK_SECONDS
            for job in self._jobs.values() if self._waypost.mode.message is None else ():
                if job.name in running or (due := (await self._job_status(job)).next_at) is None:
                    continue
                if (wait := (due - utc_now()).total_seconds()) <= 0:
                    running[job.name] = asyncio.create_task(self._run(job))
                pause = min(pause, wait) if wait > 0 else pause
            await asyncio.wait({lost, *running.values()}, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            for name in [name for name, task in running.items() if task.done()]:
                ended = running.pop(name)
                if not ended.cancelled() and (error := ended.exception()) is not None:
                    # it could not start (no database); the next check retries it
                    log_failure(log, "job.not_started", error, job=name)
            await asyncio.wait({lost}, timeout=AGAIN_SECONDS)  # a job that another process runs stays due

    async def _job_status(self, job: Job) -> JobStatus:
        return await _job_status(self._waypost, self._tools.settings, job)

    async def _is_due(self, job: Job) -> bool:
        due = (await self._job_status(job)).next_at
        return due is not None and due <= utc_now()

    async def _run(self, job: Job, *, forced: bool = False) -> RunRecord | None:
        """Run a job; return None if another process runs it, or it is not due after a lost run was recorded."""
        async with self._waypost.jobs.hold(job.name) as hold:
            if hold is None:
                return None
            await self._waypost.jobs.settle(job.name)
            if not forced and (self._waypost.mode.message is not None or not await self._is_due(job)):
                return None
            run = await self._waypost.jobs.begin(job.name)
            log.info("job.started", job=job.name)
            ended: RunRecord | None = None
            try:
                ended = await self._work(job, run, hold)
            finally:
                cut_short = replace(run, outcome=RunOutcome.LOST if self._has_lost_lead else RunOutcome.STOPPED)
                ended = replace(ended or cut_short, finished_at=utc_now())
                with contextlib.suppress(*NOT_READY):  # otherwise the next run records it as lost
                    await self._waypost.jobs.end(ended)
                log_event = log.info if ended.outcome in (RunOutcome.DONE, RunOutcome.STOPPED) else log.warning
                facts = {"outcome": ended.outcome.value, "error": ended.error, "figures": ended.figures}
                log_event("job.ended", job=job.name, **facts)
            return ended

    async def _work(self, job: Job, run: RunRecord, hold: HeldLock) -> RunRecord:
        """Do the job; return its finished run. An exception fails only this run, not other jobs or the schedule."""
        try:
            figures = await _run_until(hold.until_lost(), job.run(self._tools))
            if figures is None:
                return replace(run, outcome=RunOutcome.LOST)
            return replace(run, outcome=RunOutcome.DONE, figures=dict(figures))
        except IncompleteJob as error:
            return replace(run, outcome=RunOutcome.FAILED, error=str(error), figures=error.figures)
        except Exception as error:
            if isinstance(error, NOT_READY):
                log_failure(log, "job.failed", error, job=job.name)
                return replace(run, outcome=RunOutcome.FAILED, error=str(error))
            log.error("job.failed", job=job.name, error=type(error).__name__, exc_info=True)
            reason = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
            return replace(run, outcome=RunOutcome.FAILED, error=f"{type(error).__name__}{reason}")


async def _run_until(end: Coroutine[Any, Any, object], work: Awaitable[_T]) -> _T | None:
    """Return the result of the work; None if `end` came first, which cancels the work."""
    working, ending = asyncio.ensure_future(work), asyncio.create_task(end)
    try:
        await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, ending):
            task.cancel()
        await asyncio.gather(working, ending, return_exceptions=True)
