"""The queue of requests between the spider and the download handler, in the order of their leases."""

from collections import deque

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler


class LeaseScheduler(BaseScheduler):
    """Keep requests in memory, first in, first out, without duplicate filter and priorities.

    The database decides which domains are due and in which order, and it survives a crash; a queue on disk would not
    know which leases are still valid. Keeps the counters of Scrapy's own scheduler.
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
