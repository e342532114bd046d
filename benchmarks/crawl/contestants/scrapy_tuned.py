"""Scrapy tuned, still one Request per URL: paths of a host chained on one connection, certificates verified.

Components that are known to cost CPU are off. A host's next path is requested after the answer to the last one, so that
keep-alive works and no host gets two concurrent requests.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

from benchmarks.crawl.contestants.common import Meter, Result, Task, run


class Tuned(scrapy.Spider):
    """One chain of requests per host."""

    name = "tuned"

    def __init__(self, task: Task, result: Result, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.task, self.result = task, result

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for host in self.task.hosts:
            yield self._request(host, 0)

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        self.result.answers += 1
        self.result.hits += response.status == 200 and b"json" in (response.headers.get("content-type") or b"")
        yield from self._next(response.meta)

    def failed(self, failure: Any) -> Iterator[scrapy.Request]:
        yield from self._next(failure.request.meta)

    def _next(self, meta: dict[str, Any]) -> Iterator[scrapy.Request]:
        if meta["at"] + 1 < len(self.task.paths):
            yield self._request(meta["host"], meta["at"] + 1)

    def _request(self, host: str, index: int) -> scrapy.Request:
        return scrapy.Request(
            f"https://{host}{self.task.paths[index]}",
            errback=self.failed,
            dont_filter=True,
            priority=index,
            meta={"host": host, "at": index, "handle_httpstatus_all": True, "download_slot": host},
        )


def settings(task: Task) -> dict[str, Any]:
    disabled = ("RETRY", "REDIRECT", "METAREFRESH", "COOKIES", "REFERER", "HTTPPROXY", "COMPRESSION", "TELNETCONSOLE")
    return {
        **{f"{name}_ENABLED": False for name in (*disabled, "REMOTE_CONTROL", "LOG")},
        "DOWNLOAD_VERIFY_CERTIFICATES": True,
        "DOWNLOAD_TIMEOUT": task.timeout,
        "CONCURRENT_REQUESTS": task.in_flight,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "CONCURRENT_ITEMS": 1,
        "REACTOR_THREADPOOL_MAXSIZE": 50,
        "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
        "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
        "WARN_ON_GENERATOR_RETURN_VALUE": False,
    }


def contest(task: Task) -> Result:
    result = Result(len(task.hosts))
    process = CrawlerProcess(settings(task))
    process.crawl(Tuned, task=task, result=result)
    meter = Meter(task)
    process.start()
    return meter.stop(result)


if __name__ == "__main__":
    run(contest)
