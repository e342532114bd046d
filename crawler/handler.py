"""The download handler of `probe://`: it visits the due hosts of one leased domain."""

import asyncio
import traceback
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Final
from uuid import UUID

import structlog
from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import NotSupported
from scrapy.http import Response

from crawler.guards import RESOLVER_AWAY
from crawler.politeness import AddressBusy
from crawler.visit import Visitor
from registry.core.visiting.visits import DomainJob, FinishedDomain

SCHEME: Final = "probe"  # `probe://example.org`: the visit of one registrable domain
LEASED: Final = "leased_domain"  # key in `Request.meta` of the LeasedDomain to visit
AWAY_FOR: Final = timedelta(minutes=5)
"""Delay of a domain while this machine's resolver does not answer."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LeasedDomain:
    """One domain of a lease: the hosts to visit, the lease's token and its end."""

    token: UUID
    expires_at: datetime
    job: DomainJob


class VisitCut(Exception):
    """The crawl stopped, or the lease was lost, before any host of the domain was visited."""


class DeferredVisit(Exception):
    """Too many visits wait for the domain's address, or no name can be resolved; the visit is deferred by `later`."""

    def __init__(self, later: timedelta) -> None:
        super().__init__(later)
        self.later = later


class VisitCrash(Exception):
    """A bug ended the visit; the log says where."""


class DomainResponse(Response):
    """The finished visit of one domain."""

    finished: FinishedDomain


class ProbeHandler(BaseDownloadHandler):
    """Visits the due hosts of a domain one after another. Refuses requests without a lease."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._stats = crawler.stats if crawler.settings.getbool("DOWNLOADER_STATS") else None

    async def download_request(self, request: Request) -> Response:
        """Return a DomainResponse. Raise VisitCut, DeferredVisit, VisitCrash, or NotSupported without a lease."""
        leased = request.meta.get(LEASED)
        visitor: Visitor | None = getattr(self.crawler.spider, "visitor", None)
        if visitor is None or not isinstance(leased, LeasedDomain):
            raise NotSupported("probe:// requests come from leases: scrapy crawl waypost -a only=DOMAIN")
        self._count("downloader/request_count")
        try:
            # In a separate task: in Scrapy's, each of its hundred wake-ups would pass through Scrapy's coroutines.
            finished = await asyncio.create_task(visit(visitor, leased))
        except Exception as error:
            self._count("downloader/exception_count")
            self._count(f"downloader/exception_type_count/{__name__}.{type(error).__name__}")
            raise
        self._count("downloader/response_count")
        response = DomainResponse(request.url, request=request)
        response.finished = finished
        return response

    def _count(self, key: str) -> None:
        if self._stats is not None:
            self._stats.inc_value(key)


async def visit(visitor: Visitor, leased: LeasedDomain) -> FinishedDomain:
    """Return the visits of the domain. Raise VisitCut, DeferredVisit or VisitCrash. The lease holder cancels the task
    that runs this, found in `visitor.running`."""
    task, domain = asyncio.current_task(), leased.job.domain
    if visitor.stop.is_set() or task is None:
        raise VisitCut
    visitor.running[domain] = task
    try:
        finished = await visitor.visit_domain(leased.job, leased.expires_at)
    except AddressBusy as busy:
        raise DeferredVisit(busy.retry_after) from None
    except asyncio.CancelledError:
        if not visitor.stop.is_set() and domain in visitor.running:  # cancelled by other code
            raise
        task.uncancel()
        raise VisitCut from None
    except Exception as error:
        # A bug must end only the visit of this domain.
        log.error("visit.crashed", domain=domain, **describe(error))
        raise VisitCrash from None
    finally:
        visitor.running.pop(domain, None)
    if finished is None:
        raise VisitCut
    if any(made.reason == RESOLVER_AWAY for made in finished.visits):  # guard: resolver-away
        raise DeferredVisit(AWAY_FOR)
    return finished


def describe(error: Exception) -> dict[str, str]:
    """Return the class of an error and where it was raised, without the message, which may contain untrusted text."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    location = " < ".join(f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    return {"error": type(error).__name__, "place": location}
