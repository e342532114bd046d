"""Leases of domains -> Scrapy requests, as many as fit into the bound on domains in flight."""

import asyncio
from collections.abc import AsyncIterator, Collection
from typing import TYPE_CHECKING, Any, Final, cast

import structlog
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.http import Response
from twisted.python.failure import Failure

from crawler.flight import Flight
from crawler.handler import Done, LeaseResponse
from crawler.settings import SCHEME, scrapy_settings
from crawler.visit import Visitor
from registry.core.visits import Lease

if TYPE_CHECKING:
    from registry.wiring import Waypost

POLL_SECONDS: Final = 0.5
"""How often an idle crawler asks for domains that are due: 0.1 ms in the database, and a submission waits for it."""

TROUBLE_SECONDS: Final = 5.0

log = structlog.get_logger(__name__)


class ProbeSpider(Spider):
    """One request per lease; its callback passes the finished domains on to the pipeline."""

    name = "waypost"

    def __init__(
        self,
        *,
        source: "Waypost",
        visitor: Visitor,
        flight: Flight,
        holder: int,
        until_idle: bool,
        only: Collection[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.visitor = visitor
        self.flight = flight
        self.holder = holder
        self.until_idle = until_idle
        self.only = only
        self.failure: Exception | None = None

    async def start(self) -> AsyncIterator[Any]:
        """Consumed as fast as it yields: so it leases only when there is room. Ends when stopped, or idle if asked."""
        batch = min(self.visitor.settings.lease_batch, self.visitor.settings.hosts_in_flight)
        while await self._has_room(batch):
            nothing_to_come = self.flight.tally.in_flight == 0
            try:
                lease = await self.source.due(limit=batch, holder=self.holder, only=self.only)
            except Exception as error:
                if self._ends_with(error):
                    return
                await self.flight.landing(TROUBLE_SECONDS)
                continue
            if lease is not None:
                self.flight.took_off(lease)
                yield self._request(lease)
            elif self.until_idle and nothing_to_come:
                return
            else:
                await self.flight.landing(POLL_SECONDS)

    async def lost_lease(self, failure: Failure) -> AsyncIterator[Done]:
        """Nothing of the lease was visited: a bug of ours. Its domains go back, and not at once."""
        log.error("lease.crashed", error=failure.type.__name__ if failure.type else "")
        lease: Lease = failure.request.meta["lease"]  # type: ignore[attr-defined]  # Scrapy sets it
        for job in lease.domains:
            yield Done(lease.token, job.domain, None, crashed=True)

    async def parse_lease(self, response: Response) -> AsyncIterator[Done]:
        async for done in cast(LeaseResponse, response).results:  # the only handler there is makes no other
            yield done

    async def _has_room(self, batch: int) -> bool:
        """Waits until another lease fits in; False once the crawl is to stop."""
        while not self.visitor.stop.is_set():
            if self.flight.tally.in_flight + batch <= self.visitor.settings.hosts_in_flight:
                return True
            await self.flight.landing()
        return False

    def _ends_with(self, error: Exception) -> bool:
        """A crawl that was asked for ends with its database; a worker waits for it."""
        if self.until_idle:
            self.failure = error
            return True
        log.warning("lease.failed", error=type(error).__name__)
        return False

    def _request(self, lease: Lease) -> Request:
        return Request(
            f"{SCHEME}://lease/{lease.token}",
            callback=self.parse_lease,
            errback=self.lost_lease,
            dont_filter=True,
            meta={"lease": lease},
        )


async def scrape(
    source: "Waypost",
    visitor: Visitor,
    flight: Flight,
    *,
    holder: int,
    until_idle: bool,
    only: Collection[str] | None,
) -> None:
    """Runs the spider on the running loop until `visitor.stop` is set or, with `until_idle`, nothing is to be done."""
    runner = AsyncCrawlerRunner(scrapy_settings(visitor.settings))
    crawler = runner.create_crawler(ProbeSpider)
    running = runner.crawl(
        crawler, source=source, visitor=visitor, flight=flight, holder=holder, until_idle=until_idle, only=only
    )
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        visitor.stop.set()
        await running
        raise
    if isinstance(crawler.spider, ProbeSpider) and crawler.spider.failure:
        raise crawler.spider.failure
