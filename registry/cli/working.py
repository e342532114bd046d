"""`waypost worker`: crawl all due hosts and update the index. Imports nothing from the API, so that it starts fast."""

import asyncio
import contextlib
from functools import partial

import structlog

from crawler.run import crawl, download
from crawler.stats import CrawlCounts
from registry.cli.live import log_counts, periodic_log
from registry.cli.metrics import served
from registry.cli.shutdown import Parent, exit_after_deadline, stop_on_signals
from registry.settings import Settings
from registry.tasks import running_beside
from registry.wiring import Waypost, open_waypost
from registry.wiring.upkeep import last_drain, upkeep

log = structlog.get_logger(__name__)


async def run_worker(
    settings: Settings,
    *,
    drain_only: bool,
    parent: Parent | None,
    metrics: tuple[str, int] | None = None,
    with_schedule: bool = False,
) -> None:
    """Run until SIGINT, SIGTERM or, as a supervised child, until the parent ends.

    `with_schedule`: also run the recurring jobs, or stand by for the process that does.
    """
    async with open_waypost(settings) as waypost:
        with stop_on_signals() as stop, contextlib.nullcontext() if parent is None else parent.sets(stop):
            async with exit_after_deadline(stop):
                waypost.search.backend.claim()
                jobs = [_run_schedule(waypost, settings, stop)] if with_schedule else []
                async with (
                    upkeep(waypost, crawls=not drain_only),
                    running_beside(*jobs),
                    served(waypost, metrics) as worker_metrics,
                ):
                    log.info("worker.started", drain_only=drain_only)
                    if drain_only:
                        await stop.wait()
                    else:
                        update_totals, log_progress = worker_metrics.totals.new_crawl(), periodic_log()

                        def report(counts: CrawlCounts) -> None:
                            update_totals(counts)
                            log_progress(counts)

                        log_counts(await crawl(waypost, settings, until_idle=False, progress=report, stop=stop))
                await last_drain(waypost)
    log.info("worker.stopped")


async def _run_schedule(waypost: Waypost, settings: Settings, stop: asyncio.Event) -> None:
    from registry.wiring.schedule import JobTools, Schedule

    await Schedule(JobTools(waypost, settings, partial(download, settings=settings))).run(stop)
