"""Records finished domains and releases unfinished ones in the database, many in one transaction.

A domain does not wait long, because API clients wait for the result of their submission. Domains are not written one by
one, because every transaction costs a commit.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar
from uuid import UUID

import structlog

from crawler.handler import describe
from crawler.lease_holder import InFlight
from crawler.stats import CRASHED, RELEASED, CrawlStats
from registry.core.scheduling.bisection import Bisection
from registry.core.visiting.visits import FinishedDomain, Visit
from registry.outages import log_failure
from registry.wiring import NOT_READY, Waypost

if TYPE_CHECKING:
    from registry.actions.recording.record import RecordCounts

BATCH: Final = 100
"""Approximate domains per transaction. A domain costs 0.6 ms of CPU in batches of 25, 0.3 in 100, 0.2 in 400."""

SECONDS: Final = 1.0
"""A domain waits at most this long for its batch to fill; not at all when nothing else is in flight."""

RETRY_PAUSES: Final = (1.0, 2.0, 4.0, 8.0)
"""Seconds between attempts to write a batch while the database is away: it restarts in two to five."""

AFTER_CRASH: Final = timedelta(hours=1)  # a domain whose visit was ended by a bug is due again after this time
OnRecorded: TypeAlias = Callable[[Sequence[Visit]], None]
_T = TypeVar("_T")

log = structlog.get_logger(__name__)


class RecordingError(Exception):
    """The visits of a domain were not stored; the log says why."""


@dataclass(frozen=True, slots=True)
class VisitedDomain:
    """The item that the spider yields: a domain whose due hosts were visited, to record under the lease `token`."""

    domain: str
    token: UUID
    finished: FinishedDomain


@dataclass(frozen=True, slots=True)
class UnfinishedDomain:
    """A domain to release, due again at once or `later`. `crashed`: because of a bug."""

    token: UUID
    domain: str
    later: timedelta | None = None
    crashed: bool = False


DATABASE_AWAY: Final = "database unavailable"
"""Why visits are not stored in an outage, which is logged once and not for each domain."""


class Recorder:
    """Collects domains and writes them in batches, one batch at a time."""

    def __init__(
        self, waypost: Waypost, in_flight: InFlight, stats: CrawlStats, on_recorded: OnRecorded | None = None
    ) -> None:
        """`on_recorded` is called with the visits of every committed batch."""
        self._waypost = waypost
        self._in_flight = in_flight
        self._stats = stats
        self._on_recorded = on_recorded
        self._waiting: list[tuple[VisitedDomain | UnfinishedDomain, asyncio.Future[None]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._write_lock = asyncio.Lock()
        self._flushes: set[asyncio.Task[None]] = set()

    async def flush(self) -> None:
        """Write all waiting domains."""
        self._start_flush()
        await asyncio.gather(*self._flushes)

    def add(self, domain: VisitedDomain | UnfinishedDomain) -> "asyncio.Future[None]":
        """Return a future that is done once the domain is recorded or released, or raises RecordingError."""
        loop = asyncio.get_running_loop()
        written = loop.create_future()
        self._waiting.append((domain, written))
        if len(self._waiting) >= min(BATCH, len(self._in_flight)):  # nothing else in flight could fill the batch
            self._start_flush()
        elif self._timer is None:
            self._timer = loop.call_later(SECONDS, self._start_flush)
        return written

    def _start_flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        task = asyncio.create_task(self._flush())
        self._flushes.add(task)
        task.add_done_callback(self._flushes.discard)

    async def _flush(self) -> None:
        async with self._write_lock:
            batch, self._waiting = self._waiting, []
            if not batch:
                return
            failed = {domain.domain: "interrupted" for domain, _ in batch}
            try:
                failed = await self._write([domain for domain, _ in batch])
            finally:
                for domain, written in batch:
                    if written.done():  # the waiting task was cancelled
                        continue
                    if isinstance(domain, VisitedDomain) and domain.domain in failed:
                        written.set_exception(RecordingError(failed[domain.domain]))
                    else:
                        written.set_result(None)
                self._in_flight.remove(domain.domain for domain, _ in batch)

    async def _write(self, batch: Sequence[VisitedDomain | UnfinishedDomain]) -> dict[str, str]:
        """Return the domains whose visits were not stored, and why."""
        pauses = iter(RETRY_PAUSES)
        failed = await self._record([domain for domain in batch if isinstance(domain, VisitedDomain)], pauses)
        groups: dict[tuple[UUID, timedelta | None, bool], list[str]] = defaultdict(list)
        for domain in batch:
            if isinstance(domain, UnfinishedDomain):
                later = AFTER_CRASH if domain.crashed else domain.later
                groups[domain.token, later, domain.crashed].append(domain.domain)
        for (token, later, crashed), domains in groups.items():
            await self._release(token, domains, later, pauses, crashed=crashed)
        return failed

    async def _record(self, batch: Sequence[VisitedDomain], pauses: Iterator[float]) -> dict[str, str]:
        """Record the domains of all leases in one transaction: a batch has only one or two domains of each lease."""
        failed: dict[str, str] = {}
        parts = Bisection(batch)
        for part in parts:
            finished = [(visited.token, visited.finished) for visited in part]
            try:
                recorded = await self._retry(partial(self._waypost.crawl.record_all, finished), pauses)
            except NOT_READY as error:
                # They cannot be released either: the leases expire, and the domains are visited again.
                log_failure(log, "record.database_unavailable", error, domains=len(part))
                self._stats.count({RELEASED: len(part)})
                failed |= dict.fromkeys((domain.domain for domain in part), DATABASE_AWAY)
            except Exception as error:
                # The store normally sets a failing domain aside; this handles errors of that as well.
                if not parts.split(part):
                    visited = part[0]
                    log.error("record.failed", domain=visited.domain, **describe(error))
                    await self._release(visited.token, [visited.domain], AFTER_CRASH, pauses, crashed=True)
                    failed[visited.domain] = type(error).__name__
            else:
                failed |= self._count_recorded(part, recorded)
        return failed

    async def _retry(self, write: Callable[[], Awaitable[_T]], pauses: Iterator[float]) -> _T:
        """Write, with retries while there are pauses left, then raise NOT_READY."""
        while True:
            try:
                return await write()
            except NOT_READY:
                if (pause := next(pauses, None)) is None:
                    raise
                await asyncio.sleep(pause)

    def _count_recorded(self, batch: Sequence[VisitedDomain], recorded: "RecordCounts") -> dict[str, str]:
        failed = dict.fromkeys(recorded.lost, "lease lost") | recorded.failed
        visits = [visit for visited in batch if visited.domain not in failed for visit in visited.finished.visits]
        self._stats.recorded(len(batch) - len(failed), visits)
        for key, domains in ((RELEASED, recorded.lost), (CRASHED, recorded.failed)):
            if domains:
                self._stats.count({key: len(domains)})
        if visits and self._on_recorded is not None:
            self._on_recorded(visits)
        return failed

    async def _release(
        self, token: UUID, domains: Sequence[str], later: timedelta | None, pauses: Iterator[float], *, crashed: bool
    ) -> None:
        try:
            await self._retry(partial(self._waypost.crawl.release, token, domains, later=later), pauses)
        except Exception as error:
            # The lease expires by itself; until then no other crawler can lease these domains.
            log_failure(log, "release.failed", error, domains=len(domains))
        self._stats.count({CRASHED if crashed else RELEASED: len(domains)})
