"""`waypost worker`: crawls what is due and feeds the index. It imports nothing of the API: it is often started anew."""

import contextlib

import structlog

from crawler.flight import Tally
from crawler.run import crawl, stop_on_signals
from registry.cli.ending import Parent, in_time
from registry.cli.live import Progress, now_and_then, tell_tally
from registry.cli.metrics import Figures, served
from registry.settings import Settings
from registry.wiring import open_waypost
from registry.wiring.upkeep import last_drain, upkeep

log = structlog.get_logger(__name__)


async def run_worker(
    settings: Settings, *, drain_only: bool, parent: Parent | None, metrics: tuple[str, int] | None = None
) -> None:
    """Until SIGINT, SIGTERM or, for a supervised child, the end of its parent."""
    async with open_waypost(settings) as waypost:
        with stop_on_signals() as stop, contextlib.nullcontext() if parent is None else parent.sets(stop):
            async with in_time(stop):
                waypost.claim_index()
                async with upkeep(waypost, crawls=not drain_only), served(waypost, metrics) as figures:
                    log.info("worker.started", drain_only=drain_only)
                    if drain_only:
                        await stop.wait()
                    else:
                        tell_tally(await crawl(waypost, settings, until_idle=False, progress=_kept(figures), stop=stop))
                await last_drain(waypost)
    log.info("worker.stopped")


def _kept(figures: Figures) -> Progress:
    """The tally where the metrics find it, and in the log now and then."""
    tell = now_and_then()

    def keep(tally: Tally) -> None:
        figures.tally = tally
        tell(tally)

    return keep
