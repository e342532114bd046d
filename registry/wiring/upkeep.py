"""What a worker does beside crawling: carry changes to the index, fold in candidates, free the leases of the dead."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import structlog

from registry.wiring import NOT_READY, Waypost

DRAIN_SECONDS = 0.5
FOLD_SECONDS = 2.0
RECOVER_SECONDS = 10.0

LAST_DRAIN_SECONDS = 1.5

_BACK_OFF_SECONDS = 5.0

log = structlog.get_logger(__name__)


@contextlib.asynccontextmanager
async def upkeep(waypost: Waypost, *, crawls: bool = True) -> AsyncIterator[None]:
    """Runs while the block does. With `crawls` False only the index is fed."""
    chores: list[tuple[Callable[[], Awaitable[object]], float]] = [(waypost.drain, DRAIN_SECONDS)]
    if crawls:
        chores += [(waypost.fold_candidates, FOLD_SECONDS), (waypost.recover, RECOVER_SECONDS)]
    tasks = [asyncio.create_task(_forever(chore, pause)) for chore, pause in chores]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def last_drain(waypost: Waypost) -> None:
    """Before a stop: what the index cannot be told in LAST_DRAIN_SECONDS stays noted, for whoever feeds it next."""
    try:
        async with asyncio.timeout(LAST_DRAIN_SECONDS):
            await waypost.drain()
    except (TimeoutError, *NOT_READY) as error:
        log.warning("drain.left", error=type(error).__name__)


async def _forever(chore: Callable[[], Awaitable[object]], pause: float) -> None:
    """A chore that fails (database restarting, disk full) is told and tried again; it never ends the worker."""
    while True:
        try:
            await chore()
            await asyncio.sleep(pause)
        except Exception as error:
            reason = {"reason": str(error)} if isinstance(error, NOT_READY) else {}  # those texts are our own
            log.warning("upkeep.failed", chore=getattr(chore, "__name__", ""), error=type(error).__name__, **reason)
            await asyncio.sleep(_BACK_OFF_SECONDS)
