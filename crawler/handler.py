"""The download handler of `probe://`: a lease goes in, a response whose results are still to come goes out.

Scrapy hands a whole response to a callback. A lease would then be as slow as its slowest domain, so the response is
there at once and carries an iterator; the spider's callback passes on each domain at the moment it is finished.
"""

import asyncio
import traceback
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePath
from uuid import UUID

import structlog
from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.http import Response

from crawler.appointments import Crowded
from crawler.visit import Visitor
from registry.core.visits import DomainJob, FinishedDomain, Lease

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one domain of a lease. `finished` None: it was cut, or (`crashed`) a bug of ours ended it.

    `later`: how long it is left alone, where it goes back unfinished.
    """

    token: UUID
    domain: str
    finished: FinishedDomain | None
    crashed: bool = False
    later: timedelta | None = None


class LeaseResponse(Response):
    """The answer to a lease: `results` yields each of its domains once, in the order in which they finish."""

    results: AsyncIterator[Done]


class ProbeHandler(BaseDownloadHandler):
    """Visits the domains of a lease at the same time, the hosts of each one after another."""

    async def download_request(self, request: Request) -> Response:
        visitor: Visitor = self.crawler.spider.visitor  # type: ignore[union-attr]  # a ProbeSpider, set before any request
        response = LeaseResponse(request.url, request=request)
        response.results = results(visitor, request.meta["lease"])
        return response


async def results(visitor: Visitor, lease: Lease) -> AsyncIterator[Done]:
    """Runs the visits of a lease. When the iterator is closed early, what still runs is cancelled."""
    tasks = _begun(visitor, lease)
    try:
        for finished in asyncio.as_completed(tasks):
            yield await finished
    finally:
        left = list(tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        visitor.running.difference_update(left)


def _begun(visitor: Visitor, lease: Lease) -> set[asyncio.Task[Done]]:
    """Those visits that have not ended: an ended one holds all it brought, and the slowest of a lease takes minutes."""
    tasks: set[asyncio.Task[Done]] = set()
    tasks |= {asyncio.create_task(_visited(visitor, lease, job, tasks)) for job in lease.domains}
    visitor.running |= tasks
    return tasks


async def _visited(visitor: Visitor, lease: Lease, job: DomainJob, running: "set[asyncio.Task[Done]]") -> Done:
    """Leaves `running` and the visitor's at its end: callbacks for that would take 0.5 KB for each host in flight."""
    try:
        finished = await visitor.visit_domain(job, lease.expires_at)
        return Done(lease.token, job.domain, finished)
    except Crowded as crowded:
        return Done(lease.token, job.domain, None, later=crowded.later)
    except asyncio.CancelledError:
        if not visitor.stop.is_set():
            raise
        return Done(lease.token, job.domain, None)  # `Visitor.halt`: the domain goes back as if never taken
    except Exception as error:
        # A bug of ours must cost this domain its turn, never the other domains of the lease theirs.
        log.error("visit.crashed", domain=job.domain, **told(error))
        return Done(lease.token, job.domain, None, crashed=True)
    finally:
        if (task := asyncio.current_task()) is not None:
            running.discard(task)
            visitor.running.discard(task)


def told(error: Exception) -> dict[str, str]:
    """What may be logged of a bug: its kind and its place. Messages and local variables carry what strangers wrote."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    place = " < ".join(f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    return {"error": type(error).__name__, "place": place}
