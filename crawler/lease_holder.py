"""The database session behind a crawl's leases, the visitor that runs while it is open, and the domains in flight.

Also the process settings for a crawl, a batch job with thousands of concurrent visits: scheduling, garbage, open files.
"""

import asyncio
import contextlib
import gc
import os
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final
from uuid import UUID

import structlog

from crawler import checks, site_checks, webhooks
from crawler.politeness import sync_block_budgets
from crawler.visit import Visitor
from registry.core.visiting.visits import Lease
from registry.outages import log_failure
from registry.settings import Settings
from registry.wiring import NOT_READY, HeldLock, Waypost, WrongClock
from registry.wiring.embedded_database import raise_open_files


class InFlight(dict[str, UUID]):
    """The token of the lease by domain, from the lease until the domain is recorded or released."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = asyncio.Event()

    def add(self, lease: Lease) -> None:
        self |= dict.fromkeys((job.domain for job in lease.domains), lease.token)

    def remove(self, domains: Iterable[str]) -> None:
        for domain in domains:
            self.pop(domain, None)
        self.wake()

    async def change(self, seconds: float | None = None) -> None:
        """Wait until domains are removed, `wake` is called or `seconds` have passed."""
        changed = self._changed
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), seconds)

    async def empty(self) -> None:
        """Wait until nothing is in flight."""
        while self:
            await self.change()

    def wake(self) -> None:
        """Wake all tasks that wait in `change`."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


GRACE: Final = 5.0
"""Seconds that running requests get after a stop. Recording, the last index update and the process exit have the other
five of the ten seconds that a stop may take on a busy machine."""

RETRY_SECONDS: Final = 0.5
"""Seconds between attempts to open a session while the database is away: a restart takes two to five seconds."""

LOST_LEASES_SECONDS: Final = 1.0
"""Seconds between checks for leases that were lost one by one: the site opted out, or an operator removed it."""

POLL_SECONDS: Final = 0.2
"""Seconds between checks whether the spider is closing: Scrapy sends no signal when closing begins."""

PER_HOST: Final = 2
"""Connections of one domain in flight: to the current host, and to one it redirected from or visited before."""

SPARE: Final = (
    256 + (checks.MAX_OPT_OUTS + checks.MAX_CLAIMS + site_checks.MAX_SITE_CHECKS + webhooks.MAX_AT_ONCE) * PER_HOST
)
"""File descriptors for the database, the resolvers, the index, open files, and a worker's checks of opt-outs, claims
and sites and its webhooks."""

log = structlog.get_logger(__name__)


class LeaseHolder:
    """Keeps a session and a visitor while the crawl runs, and replaces both when the database drops the session.

    Without the session other processes may take the leases, so all visits are cancelled at once. A single visit whose
    lease is lost is cancelled within LOST_LEASES_SECONDS. When the crawl stops, visits end before their next request,
    and are cancelled after GRACE seconds.
    """

    def __init__(
        self, waypost: Waypost, settings: Settings, in_flight: InFlight, stop: asyncio.Event, *, is_worker: bool
    ) -> None:
        """`stop` ends the crawl, and is set when it ends. `is_worker`: wait while the database is away, check opt-outs
        and claims, deliver webhooks."""
        self.visitor: Visitor | None = None
        self.session_id = 0
        self._waypost = waypost
        self._settings = settings
        self._in_flight = in_flight
        self._stop = stop
        self._is_worker = is_worker
        self._ready = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Return with a session, or when stopped. Raise guards.BadSetup; NOT_READY unless this is a worker."""
        self._task = asyncio.create_task(self._run_sessions())
        await self.ready()

    async def ready(self) -> bool:
        """Wait for a session; return False when the crawl stops instead. Raise the error that ended the attempts."""
        if self._ready.is_set() or self._task is None:
            return not self._stop.is_set()
        waiting = [asyncio.create_task(event.wait()) for event in (self._ready, self._stop)]
        try:
            await asyncio.wait({*waiting, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        if self._task.done():
            self._task.result()
        return self._ready.is_set() and not self._stop.is_set()

    def stop_when(self, is_closing: Callable[[], bool]) -> None:
        """Start polling whether the spider is closing."""

        async def watch() -> None:
            while not is_closing():  # noqa: ASYNC110  (there is no event for it)
                await asyncio.sleep(POLL_SECONDS)
            self._stop.set()

        self._watching = asyncio.create_task(watch())

    async def close(self) -> None:
        """End the session, once nothing is in flight."""
        self._stop.set()
        if self._watching is not None:
            self._watching.cancel()
        tasks = [task for task in (self._watching, self._task) if task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run_sessions(self) -> None:
        waypost, settings = self._waypost, self._settings
        while not self._stop.is_set():
            async with (
                as_batch_job(),
                Visitor(settings) as visitor,
                sync_block_budgets(visitor.block_budgets, waypost.crawl.spend),
                checks.running_checks(waypost, settings) if self._is_worker else contextlib.nullcontext(),
                site_checks.running_site_checks(waypost, visitor) if self._is_worker else contextlib.nullcontext(),
                webhooks.delivering_webhooks(waypost, settings) if self._is_worker else contextlib.nullcontext(),
                self._session() as session,
            ):
                if session is None:
                    return
                self.visitor, self.session_id = visitor, session.id
                self._ready.set()
                await self._wait_for_end(visitor, session)
                await self._in_flight.empty()
                self._ready.clear()

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncIterator[HeldLock | None]:
        """Open a session for leases; yield None if stopped while the database is away."""
        async with contextlib.AsyncExitStack() as stack:
            session = None
            while session is None and not self._stop.is_set():
                try:
                    session = await stack.enter_async_context(self._waypost.crawl.hold())
                except NOT_READY as error:
                    if not self._is_worker:
                        raise
                    log_failure(log, "hold.failed", error)
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._stop.wait(), RETRY_SECONDS)
            yield session

    async def _wait_for_end(self, visitor: Visitor, session: HeldLock) -> None:
        """Wait for the end of the crawl or of the session, then end the visits."""
        ending = asyncio.create_task(self._end_lost_visits(visitor, session.id))
        lost = asyncio.create_task(session.until_lost())
        stopped = asyncio.create_task(self._stop.wait())
        emptied: asyncio.Task[None] | None = None
        try:
            await asyncio.wait({lost, stopped}, return_when=asyncio.FIRST_COMPLETED)
            self._ready.clear()
            visitor.stop.set()
            self._in_flight.wake()
            emptied = asyncio.create_task(self._in_flight.empty())
            if not lost.done():
                await asyncio.wait({lost, emptied}, timeout=GRACE, return_when=asyncio.FIRST_COMPLETED)
            if lost.done():
                log.warning("hold.lost", reason=HeldLock.LOST)
            for visit in visitor.running.values():
                visit.cancel()
        finally:
            tasks = [task for task in (ending, lost, stopped, emptied) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _end_lost_visits(self, visitor: Visitor, holder: int) -> None:
        """Cancel the visits of domains whose lease is lost, until cancelled."""
        while True:
            await asyncio.sleep(LOST_LEASES_SECONDS)
            tokens = set(self._in_flight.values())
            try:
                lost = await self._waypost.crawl.lost_leases(holder, tokens)
            except WrongClock:  # their times would be wrong too; `lease` says so
                lost = list(self._in_flight)
            except Exception as error:
                log_failure(log, "lost_leases.failed", error)
                continue
            for domain in lost:
                if self._in_flight.get(domain) in tokens and domain in visitor.running:  # not leased after the query
                    visitor.running.pop(domain).cancel()  # guard: lost-lease-ends-visit


@contextlib.asynccontextmanager
async def as_batch_job() -> AsyncIterator[None]:
    """Schedule this thread as a batch job, and collect garbage rarely, while the block runs.

    Enter it before the first HTTP client is built: the client's thread inherits the scheduling policy.

    With SCHED_BATCH (sched(7)) a thread that wakes up does not preempt the thread that woke it. So the transport's
    thread receives requests by the dozen instead of one by one: a third fewer context switches, a tenth less CPU.

    Garbage is collected rarely, because the objects of a visit live for half a minute and almost none are cyclic.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    policy = _set_policy(os.SCHED_BATCH) if hasattr(os, "SCHED_BATCH") else None
    try:
        yield
    finally:
        if policy is not None:
            _set_policy(policy)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def _set_policy(policy: int) -> int | None:
    """Set this thread's policy; return the previous one, or None if it was set by the user or may not be changed."""
    previous = os.sched_getscheduler(0)
    if {previous, policy} != {os.SCHED_OTHER, os.SCHED_BATCH}:
        return None
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, policy, os.sched_param(0))
        return previous
    return None


def hosts_that_fit(requested: int) -> int:
    """Return how many of the requested hosts may be in flight. Raise the soft limit of open files as far as allowed.
    Without free descriptors, connections fail as if the hosts had refused them."""
    needed = requested * PER_HOST + SPARE
    available = raise_open_files(needed)
    if available >= needed:
        return requested
    fitting = max(1, (available - SPARE) // PER_HOST)
    log.warning("fd_limit.low", open_files=available, hosts_in_flight=fitting, wanted=requested)
    return fitting
