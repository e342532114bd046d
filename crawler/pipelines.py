"""Finished domains -> `record`, in small batches: soon, because others wait for the answer, and not one by one,
because a transaction costs a commit."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, Self
from uuid import UUID

import structlog
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.logformatter import LogFormatter, LogFormatterResult
from twisted.python.failure import Failure

from crawler.flight import Flight
from crawler.handler import Done, told
from registry.wiring import NOT_READY, Waypost

log = structlog.get_logger(__name__)

BATCH: Final = 100
"""Domains in one transaction, about. A domain costs 0.6 ms of CPU by 25, 0.3 by 100, 0.2 by 400."""

SECONDS: Final = 1.0
"""A finished domain waits no longer for its batch to fill; not at all where nothing else is in flight."""

PATIENCE: Final = (1.0, 2.0, 4.0, 8.0)
"""Seconds between attempts to record a batch while the database is away: it restarts in two to five."""

AFTER_CRASH: Final = timedelta(hours=1)
"""A domain whose visit was ended by a bug of ours is left alone for so long."""


class RecordPipeline:
    """Gathers `Done` items and gives them to the source of the lease; nothing of a batch is lost to one bad domain."""

    def __init__(self, source: Waypost, flight: Flight) -> None:
        self._source = source
        self._flight = flight
        self._waiting: list[Done] = []
        self._timer: asyncio.TimerHandle | None = None
        self._writing = asyncio.Lock()
        self._flushes: set[asyncio.Task[None]] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        spider: Any = crawler.spider
        return cls(spider.source, spider.flight)

    async def process_item(self, item: Done) -> Done:
        self._waiting.append(item)
        if len(self._waiting) >= min(BATCH, self._flight.tally.in_flight):  # all that could fill the batch is here
            await self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SECONDS, self._time_is_up)
        return item

    async def close_spider(self) -> None:
        await self._flush()
        await asyncio.gather(*self._flushes)

    def _time_is_up(self) -> None:
        task = asyncio.get_running_loop().create_task(self._flush())
        self._flushes.add(task)
        task.add_done_callback(self._flushes.discard)

    async def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        async with self._writing:
            batch, self._waiting = self._waiting, []
            pauses = iter(PATIENCE)
            await self._record([done for done in batch if done.finished is not None], pauses)
            unfinished: dict[tuple[UUID, timedelta | None], list[Done]] = defaultdict(list)
            for done in batch:
                if done.finished is None:
                    unfinished[done.token, AFTER_CRASH if done.crashed else done.later].append(done)
            for (token, later), some in unfinished.items():
                await self._release(token, some, pauses, later)

    async def _record(self, batch: Sequence[Done], pauses: Iterator[float]) -> None:
        """Of all leases in one transaction: with thousands in flight each has a domain or two of a batch."""
        finished = [(done.token, done.finished) for done in batch if done.finished is not None]
        while finished:
            try:
                await self._source.record_all(finished)
            except NOT_READY as error:
                if (pause := next(pauses, None)) is None:
                    self._lose(batch, error)
                    return
                await asyncio.sleep(pause)
            except Exception as error:
                await self._halve(batch, error, pauses)
                return
            else:
                self._flight.landed(batch)
                return

    def _lose(self, batch: Sequence[Done], error: Exception) -> None:
        """Nothing can be told to a database that is away; the leases run out and the domains are visited again."""
        log.error("record.impossible", domains=len(batch), error=type(error).__name__)
        self._flight.landed([replace(done, finished=None) for done in batch])

    async def _halve(self, batch: Sequence[Done], error: Exception, pauses: Iterator[float]) -> None:
        """A row that cannot be stored fails its batch: the halves are tried, until it stands alone."""
        if len(batch) > 1:
            middle = len(batch) // 2
            await self._record(batch[:middle], pauses)
            await self._record(batch[middle:], pauses)
            return
        log.error("record.failed", domain=batch[0].domain, **told(error))
        crashed = replace(batch[0], finished=None, crashed=True)
        await self._release(crashed.token, [crashed], pauses, AFTER_CRASH)

    async def _release(
        self, token: UUID, batch: Sequence[Done], pauses: Iterator[float], later: timedelta | None
    ) -> None:
        while batch:
            try:
                await self._source.release(token, [done.domain for done in batch], later=later)
            except Exception as error:
                pause = next(pauses, None) if isinstance(error, NOT_READY) else None
                if pause is not None:
                    await asyncio.sleep(pause)
                    continue
                # The lease runs out by itself; until then nobody else takes these domains.
                log.error("release.failed", domains=len(batch), error=type(error).__name__)
            self._flight.landed(batch)
            return


class Discreet(LogFormatter):
    """Scrapy would write whole items, bodies of strangers included, into the log."""

    def scraped(self, item: Any, response: Response | Failure | None, spider: Spider) -> LogFormatterResult:
        return {"level": logging.DEBUG, "msg": "scraped %(domain)s", "args": {"domain": getattr(item, "domain", "?")}}

    def item_error(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        return {"level": logging.ERROR, "msg": "item of %(domain)s", "args": {"domain": getattr(item, "domain", "?")}}
