"""The spider with its scheduler and log formatter: leases become requests, one per domain, and visited domains items.

The scheduler keeps the requests for the download handler in the order of their leases.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final, Self, cast

import structlog
from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.logformatter import LogFormatter, LogFormatterResult
from twisted.python.failure import Failure

from crawler import stats
from crawler.handler import LEASED, SCHEME, DeferredVisit, DomainResponse, LeasedDomain, VisitCut
from crawler.job import CrawlJob, job_from, opened
from crawler.lease_holder import InFlight, LeaseHolder, hosts_that_fit
from crawler.recorder import AFTER_CRASH, Recorder, UnfinishedDomain, VisitedDomain
from crawler.resources import user_agent
from crawler.visit import Visitor
from registry.core.visiting.visits import DomainJob, Lease
from registry.wiring import Waypost

IDLE_SECONDS: Final = 0.5
"""Seconds between polls for due domains when idle: a poll costs the database 0.1 ms, and a submission waits for it."""

RETRY_SECONDS: Final = 5.0  # seconds that a worker waits after a failed lease
log = structlog.get_logger(__name__)


class WaypostSpider(Spider):
    """Visits all due domains: `scrapy crawl waypost`; only some of them with `-a only=example.org,example.net`.
    `waypost crawl`, `worker` and `schedule` run the same spider with another `job`."""

    name = "waypost"

    _waypost: Waypost
    _stats: stats.CrawlStats
    _holder: LeaseHolder
    recorder: Recorder

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, job: CrawlJob | None = None, **kwargs: Any) -> Self:
        """Return a spider. Raise ValueError for a wrong WAYPOST_ setting."""
        spider = super().from_crawler(crawler, *args, job=job or job_from(crawler.settings), **kwargs)
        if limit := crawler.settings.getint("CONCURRENT_REQUESTS"):
            # The spider enforces the limit, because with a full downloader `needs_backout` would hide a closing.
            spider.bound = min(spider.bound, limit)
            crawler.settings.set("CONCURRENT_REQUESTS", 0, "cmdline")
        crawler.settings.set("USER_AGENT", user_agent(spider.job.settings), "spider")
        crawler.signals.connect(spider.release_dropped, signals.item_dropped)
        crawler.signals.connect(spider.release_dropped, signals.item_error)
        return spider

    def __init__(self, *, job: CrawlJob, only: str = "", **kwargs: Any) -> None:
        """Prepare a crawl. `only`: comma-separated names of domains to seed, make due and restrict the crawl to."""
        super().__init__(**kwargs)
        self.job = job
        self.bound = hosts_that_fit(job.settings.hosts_in_flight)
        self.in_flight = InFlight()
        self.stopping = asyncio.Event()
        """Set it to stop the crawl. The job's own event is not set, because it may outlive this crawl."""
        self.failure: Exception | None = None
        self._names = [name.strip() for name in only.split(",") if name.strip()]
        self._resources = contextlib.AsyncExitStack()
        self._leasing: asyncio.Task[Lease | None] | None = None

    @property
    def visitor(self) -> Visitor | None:
        """Return the visitor of the download handler; None before the spider is open."""
        return self._holder.visitor if hasattr(self, "_holder") else None

    async def open(self) -> None:
        """Connect to the database. Raise NOT_READY and guards.BadSetup."""
        self._resources.callback(asyncio.create_task(self._stop_with_job()).cancel)
        is_standalone = self.job.waypost is None
        self._waypost, self.job = await self._resources.enter_async_context(opened(self.job, self._names))
        if is_standalone:
            self._resources.callback(self._shorten_drain)
        self._stats = stats.CrawlStats(self.crawler.stats, self.job.on_progress)
        self.recorder = Recorder(self._waypost, self.in_flight, self._stats, self.job.on_recorded)
        settings = self.job.settings.model_copy(update={"hosts_in_flight": self.bound})
        is_worker = not self.job.until_idle
        self._holder = LeaseHolder(self._waypost, settings, self.in_flight, self.stopping, is_worker=is_worker)
        self._resources.push_async_callback(self._holder.close)
        await self._holder.open()

    async def release_all(self) -> None:
        """Release domains that were leased but not downloaded, write pending batches, disconnect from the database.
        When a spider closes, Scrapy drops undownloaded requests without calling their errback."""
        if self._leasing is not None:
            with contextlib.suppress(Exception):
                self._register(await self._leasing)
        for domain, token in self.in_flight.items():
            self.recorder.add(UnfinishedDomain(token, domain))
        if self.in_flight:
            await self.recorder.flush()
        await self._resources.aclose()

    async def start(self) -> AsyncIterator[Any]:
        """Make a request for each leased domain, as fast as Scrapy consumes them.

        Only the last request of a lease is yielded, the others are handed to the engine: Scrapy waits for three turns
        of the event loop after each yielded request. On a busy loop too few domains would then be in flight, and each
        of their requests would cost more (benchmarks/README.md).
        """
        self._holder.stop_when(self.crawler.engine.needs_backout)
        async for lease in self._leases():
            *first, last = (self._request(lease, job) for job in lease.domains)
            for request in first:
                self.crawler.engine.crawl(request)
            yield last
        if self.failure is not None:
            raise CloseSpider("database_unavailable")
        if self.stopping.is_set():
            raise CloseSpider("shutdown")

    def parse(self, response: Response, **kwargs: Any) -> Iterator[VisitedDomain]:
        finished = cast(DomainResponse, response).finished
        yield VisitedDomain(finished.domain, response.meta[LEASED].token, finished)

    async def release_unvisited(self, failure: Failure) -> None:
        """Release a domain that was not visited; the errback of every request."""
        leased: LeasedDomain = failure.request.meta[LEASED]  # type: ignore[attr-defined]  # Scrapy sets it
        token, domain, error = leased.token, leased.job.domain, failure.value
        if isinstance(error, VisitCut):
            unfinished = UnfinishedDomain(token, domain)
        elif isinstance(error, DeferredVisit):
            unfinished = UnfinishedDomain(token, domain, error.later)
        else:
            unfinished = UnfinishedDomain(token, domain, AFTER_CRASH, crashed=True)
        await self.recorder.add(unfinished)

    async def release_dropped(self, item: object) -> None:
        """Release a domain whose item another pipeline dropped before it was recorded."""
        if isinstance(item, VisitedDomain) and self.in_flight.get(item.domain) == item.token:
            await self.recorder.add(UnfinishedDomain(item.token, item.domain, AFTER_CRASH))

    async def _stop_with_job(self) -> None:
        await self.job.stop.wait()
        self.stopping.set()

    def _shorten_drain(self) -> None:
        """Keep the final drain short when a signal stops the engine; an extension that closes the spider does not."""
        if not self.crawler.engine.running:
            self.job.stop.set()

    async def _leases(self) -> AsyncIterator[Lease]:
        """Lease while the bound allows it, until the crawl stops or, with `until_idle`, nothing is due."""
        batch = min(self.job.settings.lease_batch, self.bound)
        while await self._may_lease():
            if len(self.in_flight) + batch > self.bound:
                await self.in_flight.change()
                continue
            nothing_in_flight = not self.in_flight
            try:
                lease = await self._lease(batch)
            except Exception as error:
                if self.job.until_idle:  # a single pass ends if the database is away; a worker waits
                    self.failure = error
                    return
                log.warning("lease.failed", error=type(error).__name__)
                await self.in_flight.change(RETRY_SECONDS)
                continue
            if lease is not None:
                yield lease
            elif self.job.until_idle and nothing_in_flight:
                return
            else:
                await self.in_flight.change(IDLE_SECONDS)

    async def _may_lease(self) -> bool:
        """Wait for a database session; return False if the crawl stops or the spider closes."""
        try:
            return await self._holder.ready() and not self.crawler.engine.needs_backout()
        except Exception as error:
            self.failure = error
            return False

    async def _lease(self, limit: int) -> Lease | None:
        """Lease domains. When Scrapy cancels `start`, `release_all` releases the pending lease."""
        self._leasing = asyncio.create_task(
            self._waypost.crawl.lease(limit=limit, holder=self._holder.session_id, only=self.job.only)
        )
        lease = await asyncio.shield(self._leasing)
        self._leasing = None
        self._register(lease)
        return lease

    def _register(self, lease: Lease | None) -> None:
        if lease is not None:
            self.in_flight.add(lease)
            self._stats.count({stats.LEASED: len(lease.domains)})

    def _request(self, lease: Lease, job: DomainJob) -> Request:
        return Request(
            f"{SCHEME}://{job.domain}",
            errback=self.release_unvisited,
            dont_filter=True,
            meta={LEASED: LeasedDomain(lease.token, lease.expires_at, job), "download_slot": SCHEME},
        )


class LeaseScheduler(BaseScheduler):
    """Keeps requests in memory, first in, first out, without duplicate filter and priorities.

    The database decides which domains are due and in which order, and it survives a crash; a queue on disk would not
    know which leases are still valid. Keeps the counters of Scrapy's scheduler.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._queue: deque[Request] = deque()
        self._stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "LeaseScheduler":
        return cls(crawler)

    def has_pending_requests(self) -> bool:
        return bool(self._queue)

    def enqueue_request(self, request: Request) -> bool:
        self._queue.append(request)
        self._stats.inc_value("scheduler/enqueued")
        return True

    def next_request(self) -> Request | None:
        if not self._queue:
            return None
        self._stats.inc_value("scheduler/dequeued")
        return self._queue.popleft()


_LOGGER = logging.getLogger("scrapy")


def _about_domain(level: int, message: str) -> Any:
    """Return a method of the formatter for a request or an item. It returns None for a debug message below the log
    level, because the message would be built for every domain. Scrapy expects no None for warnings and errors."""

    def describe(self: LogFormatter, subject: Any, *_: Any) -> LogFormatterResult | None:
        if level < logging.WARNING and not _LOGGER.isEnabledFor(level):
            return None
        domain = subject.url if isinstance(subject, Request) else getattr(subject, "domain", "?")
        return {"level": level, "msg": message, "args": {"domain": domain}}

    return describe


class RedactingFormatter(LogFormatter):
    """Logs domains instead of items, because an item contains untrusted bodies."""

    crawled = _about_domain(logging.DEBUG, "visited %(domain)s")
    scraped = _about_domain(logging.DEBUG, "recorded %(domain)s")
    dropped = _about_domain(logging.WARNING, "dropped %(domain)s")
    item_error = _about_domain(logging.ERROR, "item of %(domain)s")
