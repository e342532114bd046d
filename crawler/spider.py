"""The spider with its scheduler and log formatter: leases become requests, one per domain, and visited domains items.

The scheduler keeps the requests for the download handler in the order of their leases. A command of waypost gives the
parameters and resources of a crawl; for `scrapy crawl` they are built here.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, cast

import structlog
from pydantic import ValidationError
from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.logformatter import LogFormatter, LogFormatterResult
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from twisted.python.failure import Failure

from crawler import stats
from crawler.handler import LEASED, SCHEME, DeferredVisit, DomainResponse, LeasedDomain, VisitCut
from crawler.lease_holder import InFlight, LeaseHolder, hosts_that_fit
from crawler.recorder import AFTER_CRASH, OnRecorded, Recorder, UnfinishedDomain, VisitedDomain
from crawler.session import user_agent
from crawler.stats import OnProgress
from crawler.visit import Visitor
from registry.core.visiting.visits import DomainJob, Lease
from registry.outages import log_failure
from registry.settings import Settings, variable
from registry.wiring import Waypost, open_waypost
from registry.wiring.space import require_space
from registry.wiring.upkeep import last_drain

IDLE_SECONDS: Final = 0.5
"""Seconds between polls for due domains when idle: a poll costs the database 0.1 ms, and a submission waits for it."""

RETRY_SECONDS: Final = 5.0  # seconds that a worker waits after a failed lease
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CrawlJob:
    """Parameters of a crawl. `until_idle`: end when nothing is due, else wait for more. `only`: restrict the crawl to
    these domains. `stop` ends the crawl.

    `on_progress` is called with the figures after every lease and record, `on_recorded` with the visits of each record.
    """

    settings: Settings
    waypost: Waypost | None = None
    until_idle: bool = True
    only: Collection[str] | None = None
    on_progress: OnProgress | None = None
    on_recorded: OnRecorded | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)


def job_from(scrapy_settings: BaseSettings) -> CrawlJob:
    """Return the job of `scrapy crawl`: one pass over all due domains. Raise ValueError for a wrong setting."""
    if not structlog.is_configured():
        _log_through_scrapy()
    return CrawlJob(settings_from(scrapy_settings))


def settings_from(scrapy_settings: BaseSettings) -> Settings:
    """Return the registry's settings: from `-s` first, then the environment, then the Scrapy settings module. Raise
    ValueError for a wrong value."""
    configured = {
        name: (value, scrapy_settings.getpriority(variable(name)) or 0)
        for name in Settings.model_fields
        if (value := scrapy_settings.get(variable(name))) is not None
    }
    project = SETTINGS_PRIORITIES["project"]
    overrides = {name: value for name, (value, priority) in configured.items() if priority > project}
    defaults = {name: value for name, (value, priority) in configured.items() if priority <= project}
    try:
        overriding_settings = Settings(**overrides)
        missing = {name: value for name, value in defaults.items() if name not in overriding_settings.model_fields_set}
        return Settings(**overrides, **missing) if missing else overriding_settings
    except ValidationError as error:
        messages = (
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_input=False)
        )
        raise ValueError("; ".join(messages)) from None


@contextlib.asynccontextmanager
async def opened(job: CrawlJob, names: Sequence[str]) -> AsyncIterator[tuple[Waypost, CrawlJob]]:
    """Yield the open registry and the job. A job without a registry gets one, with seeding, recovery, a final drain.
    Raise NOT_READY, BadDatabaseUrl, and InvalidName if none of the names may be visited."""
    if job.waypost is not None:
        yield job.waypost, job
        return
    async with open_waypost(job.settings) as waypost:
        if names:
            job = replace(job, only=await _seed_names(waypost, names))
        await waypost.crawl.recover()  # leases of crawls that were killed
        yield waypost, job
        waypost.search.backend.claim()
        await (last_drain(waypost) if job.stop.is_set() else waypost.search.drain())


async def _seed_names(waypost: Waypost, names: Sequence[str]) -> Collection[str]:
    """Add the names and make them due; return their domains."""
    refused = {
        refusal.name: refusal.message for refusal in (await waypost.frontier.seed(names, source="command")).refused
    }
    for name, message in refused.items():
        log.error("seed.refused", name=name, reason=message)
    accepted = [name for name in names if name not in refused]
    await waypost.frontier.make_due(accepted)
    return {host.domain for host in waypost.frontier.hosts_of(accepted)}


def _log_through_scrapy() -> None:
    """Send log events to the standard library's logging, so that LOG_LEVEL, LOG_FILE and `--nolog` apply to them."""
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, structlog.processors.KeyValueRenderer(key_order=["event"])],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


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
                require_space(self.job.settings)
                self._waypost.mode.require_off()
                lease = await self._lease(batch)
            except Exception as error:
                if self.job.until_idle:  # a single pass ends if the database is away; a worker waits
                    self.failure = error
                    return
                log_failure(log, "lease.failed", error)
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

    def dropped(self, item: Any, exception: BaseException, *_: Any) -> LogFormatterResult:
        level = logging.getLevelNamesMapping()[getattr(exception, "log_level", None) or "WARNING"]
        return {"level": level, "msg": "dropped %(domain)s", "args": {"domain": getattr(item, "domain", "?")}}

    item_error = _about_domain(logging.ERROR, "item of %(domain)s")
