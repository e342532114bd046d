"""The cost of Scrapy's engine: a crawl with leases from memory, visits that only wait, and records that store nothing.

Spider, scheduler, downloader, pipeline, statistics and settings are those of the crawl; a visit takes half a second.
Peak memory divided by hosts in flight is the engine's memory per host.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID, uuid4

import uvloop
from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.http import Response

from benchmarks.crawl.contestants.common import Meter, Result, Task, run
from crawler.handler import LEASED, DomainResponse
from crawler.run import crawl
from registry.actions.recording.record import RecordCounts
from registry.core.visiting.visits import DomainJob, FinishedDomain, HostJob, Lease
from registry.settings import Settings

NAME: Final = "benchmarks.crawl.contestants.engine"
VISIT_SECONDS: Final = 0.5

DOWNLOAD_HANDLERS_BASE: Final = {"probe": f"{NAME}.NullHandler"}  # this module is also a Scrapy settings module


class NullHandler(BaseDownloadHandler):
    async def download_request(self, request: Request) -> Response:
        await asyncio.sleep(VISIT_SECONDS)
        response = DomainResponse(request.url, request=request)
        response.finished = FinishedDomain(request.meta[LEASED].job.domain, ())
        return response


class MemoryLeases:
    """The operations of the registry that a crawl uses, in memory."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._due: Iterator[str] = iter(hosts)
        self.recorded = 0

    @property
    def crawl(self) -> "MemoryLeases":
        """This object also stands in for the actions of a `Waypost` that a crawl uses."""
        return self

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[Any]:
        yield SimpleNamespace(id=1, until_lost=asyncio.Event().wait)

    async def lease(self, *, limit: int, holder: int, only: Collection[str] | None = None) -> Lease | None:
        hosts = list(islice(self._due, limit))
        jobs = tuple(DomainJob(host, (HostJob(host, whole_plan=True),)) for host in hosts)
        return Lease(uuid4(), datetime.now(UTC) + timedelta(hours=1), jobs) if jobs else None

    async def record_all(self, finished: Sequence[tuple[UUID, FinishedDomain]]) -> RecordCounts:
        self.recorded += len(finished)
        return RecordCounts()

    async def lost_leases(self, holder: int, tokens: Collection[UUID]) -> Sequence[str]:
        return ()

    async def spend(self, made: Mapping[str, int], of: Collection[str]) -> Mapping[str, int]:
        return {}


async def contest_on_loop(task: Task) -> Result:
    os.environ["SCRAPY_SETTINGS_MODULE"] = NAME
    settings = Settings(hosts_in_flight=task.in_flight, log_level="ERROR")
    nothing: Any = MemoryLeases(())
    await crawl(nothing, settings, until_idle=True)  # imports Scrapy before the measurement
    leases: Any = MemoryLeases(task.hosts)
    meter = Meter(task)
    await crawl(leases, settings, until_idle=True)
    return meter.stop(Result(leases.recorded))


def contest(task: Task) -> Result:
    return uvloop.run(contest_on_loop(task))


if __name__ == "__main__":
    run(contest)
