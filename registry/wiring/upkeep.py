"""Chores of a worker beside crawling: feed the index, order the change feed, judge services again, fill what earlier
programs did not record, count the figures of the day, turn candidates into hosts, free leases of dead workers, and
erase clients."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import structlog

from registry.outages import log_failure
from registry.tasks import running_beside
from registry.wiring import NOT_READY, Waypost

DRAIN_SECONDS = 0.5
SEQUENCE_SECONDS = 0.5
REJUDGE_SECONDS = 1.0
FILL_SECONDS = 10.0
FOLD_SECONDS = 2.0
RECOVER_SECONDS = 10.0
ERASE_SECONDS = 60.0
COUNT_SECONDS = 60.0

LAST_DRAIN_SECONDS = 1.5

_BACK_OFF_SECONDS = 5.0

log = structlog.get_logger(__name__)


@contextlib.asynccontextmanager
async def upkeep(waypost: Waypost, *, crawls: bool = True) -> AsyncIterator[None]:
    """Run the chores while the block runs. With `crawls` False, only those of a process that does not crawl."""

    async def drain() -> None:
        await waypost.search.drain()  # opens the search engine, which may fail and is retried

    chores: list[tuple[Callable[[], Awaitable[object]], float]] = [
        (drain, DRAIN_SECONDS),
        (waypost.feed.sequence, SEQUENCE_SECONDS),
        (waypost.maintenance.rejudge, REJUDGE_SECONDS),
        (waypost.maintenance.fill_reach, FILL_SECONDS),
        (waypost.figures.count_day, COUNT_SECONDS),
    ]
    if crawls:
        chores += [
            (waypost.frontier.fold_candidates, FOLD_SECONDS),
            (waypost.crawl.recover, RECOVER_SECONDS),
            (waypost.frontier.erase_clients, ERASE_SECONDS),
        ]
    async with running_beside(*(_forever(waypost, chore, pause, pauses=chore is not drain) for chore, pause in chores)):
        yield


async def last_drain(waypost: Waypost) -> None:
    """Drain once before a stop. Changes not indexed within LAST_DRAIN_SECONDS stay noted for the next process."""
    try:
        async with asyncio.timeout(LAST_DRAIN_SECONDS):
            await waypost.search.drain()
    except (TimeoutError, *NOT_READY) as error:
        log_failure(log, "drain.incomplete", error)


async def _forever(waypost: Waypost, chore: Callable[[], Awaitable[object]], pause: float, *, pauses: bool) -> None:
    """Repeat a chore. A failure (database restarting, disk full) is logged and retried; it never ends the worker.

    `pauses`: during maintenance. The index is fed all the same, because reads need it."""
    while True:
        try:
            if pauses:
                waypost.mode.require_off()
            await chore()
            await asyncio.sleep(pause)
        except Exception as error:
            log_failure(log, "upkeep.failed", error, chore=getattr(chore, "__name__", ""))
            await asyncio.sleep(_BACK_OFF_SECONDS)
