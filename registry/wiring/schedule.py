"""The recurring jobs: a table of data, one leader over all processes, and a run of each that is kept.

Who leads holds a session advisory lock; every run of a job holds one of its own, so that an operator's `--once` and
the leader never run the same job at the same time. Who loses a lock ends what it did under it at once; every job may
be ended at any moment and repeated.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import structlog

from registry.actions.keeping.refresh import SUFFIXES, Fetch, RefreshFailed
from registry.core.addresses import REGISTRY_V4, REGISTRY_V6
from registry.core.jobs import Outcome, next_run
from registry.core.retention import Retention
from registry.settings import Settings
from registry.store.holder import LEAD
from registry.store.jobs import RunRecord
from registry.wiring import NOT_READY, Hold, Waypost, utc_now

LOOK_SECONDS: Final = 30.0
"""Between two looks at what is due, at most: what others run (`--once`) moves the next run of a job."""

AGAIN_SECONDS: Final = 1.0
MOST_NAMED: Final = 20

log = structlog.get_logger(__name__)

Figures = Mapping[str, Any]
_T = TypeVar("_T")


class JobFailed(Exception):
    """A job did what it could, and that was not all. The message is what is kept as the error."""

    def __init__(self, reason: str, figures: Figures) -> None:
        super().__init__(reason)
        self.figures = figures


@dataclass(frozen=True, slots=True)
class Tools:
    """What jobs need of the doors above this room. `crawl_pass`: one pass over all that is due, where it is wanted."""

    waypost: Waypost
    settings: Settings
    fetch: Fetch
    crawl_pass: Callable[[], Awaitable[Figures]] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """`says`: for people; `interval`: seconds between two runs, 0 for never; `run` gives figures."""

    name: str
    says: str
    interval: Callable[[Settings], int]
    run: Callable[[Tools], Awaitable[Figures]]


async def _recrawl(tools: Tools) -> Figures:
    """Workers crawl. Without any, only a run that was asked for by name or by the clock makes a pass itself."""
    figures = asdict(await tools.waypost.recrawl())
    if figures["crawlers"] or not figures["due"]:
        return figures
    if tools.crawl_pass is None:
        log.warning("recrawl.nobody_crawls", due=figures["due"], says="start `waypost worker`")
        return figures
    return {**figures, **await tools.crawl_pass()}


async def _rescore(tools: Tools) -> Figures:
    done = await tools.waypost.rescore(only_outdated=True)
    figures = {"hosts": done.hosts, "changed": done.changed, "failed": done.failed[:MOST_NAMED]}
    if done.failed:
        raise JobFailed(f"{len(done.failed)} hosts could not be scored", figures)
    return figures


async def _reindex(tools: Tools) -> Figures:
    """Only where somebody feeds an index in this data folder: another one would be nobody's."""
    if not tools.waypost.index_is_fed():
        return {"skipped": "nobody feeds an index in this data folder"}
    return asdict(await tools.waypost.reindex())


async def _prune(tools: Tools) -> Figures:
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
        job_runs_days=settings.keep_job_runs_days,
    )
    return await tools.waypost.prune(retention)


async def _refresh(tools: Tools) -> Figures:
    """The data, then the hosts that are of another domain now; those of leased domains are tried again soon."""
    settings = tools.settings
    urls = {
        SUFFIXES: settings.suffix_list_url,
        REGISTRY_V4: settings.ipv4_registry_url,
        REGISTRY_V6: settings.ipv6_registry_url,
    }
    failed: list[str] = []
    try:
        refreshed = await tools.waypost.refresh(urls, tools.fetch)
    except RefreshFailed as error:
        refreshed = error.refreshed
        failed.append(str(error))
    moved = await tools.waypost.rehome()
    if moved.leased:
        failed.append(f"{len(moved.leased)} hosts cannot move yet: their domain is leased")
    if moved.failed:
        failed.append(f"{len(moved.failed)} hosts could not be moved")
    figures = asdict(refreshed) | {"hosts": moved.hosts, "moved": len(moved.moved), "leased": len(moved.leased)}
    figures["moved_hosts"] = moved.moved[:MOST_NAMED]
    if failed:
        raise JobFailed("; ".join(failed), figures)
    return figures


JOBS: Final = (
    Job(
        "recrawl",
        "queue hosts that documents name, free leases of dead workers, bring domains that were left behind",
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
        "build the search index anew beside the old one, then swap",
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
)
JOB_BY_NAME: Final = {job.name: job for job in JOBS}


@dataclass(frozen=True, slots=True)
class Line:
    """A job as `--list` shows it. `next_at` None: never by itself; in the past: due."""

    job: Job
    interval: timedelta
    last: RunRecord | None
    next_at: datetime | None


class Schedule:
    def __init__(self, tools: Tools, jobs: Sequence[Job] = JOBS) -> None:
        self._tools = tools
        self._waypost = tools.waypost
        self._jobs = {job.name: job for job in jobs}
        self._lost = False

    async def lines(self) -> list[Line]:
        """Every job with its last run and its next one."""
        return [await self._line(job) for job in self._jobs.values()]

    async def run(self, stop: asyncio.Event) -> None:
        """Until stopped: leads, or stands by until the leader is gone. A database that is away is waited for."""
        while not stop.is_set():
            try:
                await _unless(stop, self._lead())
            except NOT_READY as error:
                log.warning("schedule.waits", error=type(error).__name__)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), AGAIN_SECONDS)

    async def once(self, names: Sequence[str] | None, stop: asyncio.Event) -> list[RunRecord] | None:
        """Runs the named jobs, due or not, or those that are due (None), one after another; gives their runs.

        A named job that runs elsewhere is left out; where another process leads, and so runs what is due, the answer
        is None. Raises what is in NOT_READY.
        """
        done: list[RunRecord] = []
        led_elsewhere = await _unless(stop, self._named(names, done) if names is not None else self._due(done))
        return None if led_elsewhere else done

    async def _named(self, names: Sequence[str], done: list[RunRecord]) -> bool:
        for name in names:
            if (run := await self._run(self._jobs[name], forced=True)) is not None:
                done.append(run)
        return False

    async def _due(self, done: list[RunRecord]) -> bool:
        """Whether another process leads."""
        async with self._waypost.hold_job(LEAD) as hold:
            for job in self._jobs.values() if hold is not None else ():
                if await self._is_due(job) and (run := await self._run(job)) is not None:
                    done.append(run)
            return hold is None

    async def _lead(self) -> None:
        """Returns when the lead is lost."""
        async with contextlib.AsyncExitStack() as stack:
            hold = await stack.enter_async_context(self._waypost.hold_job(LEAD))
            if hold is None:
                log.info("schedule.stands_by")
                hold = await stack.enter_async_context(self._waypost.hold_job(LEAD, patient=True))
            if hold is not None:
                log.info("schedule.leads")
                await self._run_due(hold)

    async def _run_due(self, hold: Hold) -> None:
        lost, self._lost = asyncio.create_task(hold.until_lost()), False
        running: dict[str, asyncio.Task[RunRecord | None]] = {}
        try:
            while not lost.done():
                pause = LOOK_SECONDS
                for job in self._jobs.values():
                    if job.name in running or (due := (await self._line(job)).next_at) is None:
                        continue
                    if (wait := (due - utc_now()).total_seconds()) <= 0:
                        running[job.name] = asyncio.create_task(self._run(job))
                    pause = min(pause, wait) if wait > 0 else pause
                await asyncio.wait({lost, *running.values()}, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                running = {name: task for name, task in running.items() if not _is_over(name, task)}
                await asyncio.wait({lost}, timeout=AGAIN_SECONDS)  # a job that runs elsewhere is due all the time
            log.warning("schedule.lead_lost")
        finally:
            self._lost = lost.done()
            for task in (lost, *running.values()):
                task.cancel()
            await asyncio.gather(lost, *running.values(), return_exceptions=True)

    async def _line(self, job: Job) -> Line:
        last = await self._waypost.last_runs(job.name)
        interval = timedelta(seconds=job.interval(self._tools.settings))
        return Line(job, interval, last[0] if last else None, next_run(interval, [one.run for one in last], utc_now()))

    async def _is_due(self, job: Job) -> bool:
        due = (await self._line(job)).next_at
        return due is not None and due <= utc_now()

    async def _run(self, job: Job, *, forced: bool = False) -> RunRecord | None:
        """None: it runs elsewhere, or its last run turned out to have died and the next try is for later."""
        async with self._waypost.hold_job(job.name) as hold:
            if hold is None:
                return None
            await self._waypost.settle_runs(job.name)
            if not forced and not await self._is_due(job):
                return None
            run = await self._waypost.begin_run(job.name)
            log.info("job.started", job=job.name)
            ended: RunRecord | None = None
            try:
                ended = await self._work(job, run, hold)
            finally:
                cut_short = replace(run, outcome=Outcome.LOST if self._lost else Outcome.STOPPED)
                ended = replace(ended or cut_short, finished_at=utc_now())
                with contextlib.suppress(*NOT_READY):  # else it counts as lost when somebody looks
                    await self._waypost.end_run(ended)
                tell = log.info if ended.outcome in (Outcome.DONE, Outcome.STOPPED) else log.warning
                tell("job.ended", job=job.name, outcome=ended.outcome.value, error=ended.error, figures=ended.figures)
            return ended

    async def _work(self, job: Job, run: RunRecord, hold: Hold) -> RunRecord:
        """A job that fails is a run that failed, whatever it raised: it ends no other job and no schedule."""
        working = asyncio.ensure_future(job.run(self._tools))
        lost = asyncio.create_task(hold.until_lost())
        try:
            await asyncio.wait({working, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                return replace(run, outcome=Outcome.LOST)
            return replace(run, outcome=Outcome.DONE, figures=dict(working.result()))
        except JobFailed as error:
            return replace(run, outcome=Outcome.FAILED, error=str(error), figures=error.figures)
        except Exception as error:
            log.error("job.failed", job=job.name, error=type(error).__name__, exc_info=not isinstance(error, NOT_READY))
            return replace(run, outcome=Outcome.FAILED, error=type(error).__name__)
        finally:
            for task in (working, lost):
                task.cancel()
            await asyncio.gather(working, lost, return_exceptions=True)


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, _T]) -> _T | None:
    """What the work gives; None where the wish to stop, which ends it, came first. Nothing of it is left behind."""
    working, stopping = asyncio.ensure_future(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


def _is_over(name: str, task: asyncio.Task[RunRecord | None]) -> bool:
    """What `_run` itself could not do (the database was away before it began) is told, and tried at the next look."""
    if task.done() and not task.cancelled() and (error := task.exception()) is not None:
        log.warning("job.not_started", job=name, error=type(error).__name__)
    return task.done()
