"""Scrapy in its most common form: one Request per URL, default settings except for the number of concurrent requests.

Scrapy's defaults do not verify certificates, wait 180 s, retry three times and follow redirects; robots.txt is fetched
as one path among the others. Certificates are deliberately not verified here, because that is Scrapy's default.
"""

from collections.abc import AsyncIterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

from benchmarks.crawl.contestants.common import Meter, Result, Task, run


class Naive(scrapy.Spider):
    """All URLs of all hosts, one after another."""

    name = "naive"
    handle_httpstatus_all = True

    def __init__(self, task: Task, result: Result, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.task, self.result = task, result

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for host in self.task.hosts:
            for path in self.task.paths:
                yield scrapy.Request(f"https://{host}{path}", meta={"handle_httpstatus_all": True})

    def parse(self, response: Response) -> None:
        self.result.answers += 1
        self.result.hits += response.status == 200 and b"json" in (response.headers.get("content-type") or b"")


SETTINGS = {"LOG_ENABLED": False, "CONCURRENT_REQUESTS": 100}
"""The default of 16 concurrent requests would only take longer, with the same CPU per host."""


def contest(task: Task) -> Result:
    result = Result(len(task.hosts))
    process = CrawlerProcess(SETTINGS)
    process.crawl(Naive, task=task, result=result)
    meter = Meter(task)
    process.start()
    return meter.stop(result)


if __name__ == "__main__":
    run(contest)
