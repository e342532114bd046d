"""Checks of sites on request, by a worker: with the guards, limits, budgets and connections of its visits.

One check of a domain is made at a time, and none while a lease visits the domain (`registry/store/site_checks.py`).
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import structlog

from crawler.checks import run_checks
from crawler.politeness import AddressBusy, RequestPacer
from crawler.session import FetchSession, InterruptedVisit
from crawler.visit import Visitor
from registry.actions.site_checks import TAKEN_FOR, SiteCheck, no_result, result_of_url, result_of_visit
from registry.core.assessing.assess import assess
from registry.core.assessing.controls import Controls
from registry.core.model.documents import FetchResult, Outcome, Probe
from registry.core.names.domains import host_of
from registry.core.visiting.limits import OTHER_HOST
from registry.core.visiting.pointers import Follow, Stop, redirect
from registry.core.visiting.probes import pointer_probe, robots_probe
from registry.core.visiting.robots import Robots
from registry.core.visiting.visits import DomainJob, HostJob, ProbeResult
from registry.outages import log_failure
from registry.tasks import running_beside

if TYPE_CHECKING:
    from registry.wiring import Waypost

MAX_SITE_CHECKS: Final = 4
"""Checks of one worker at once."""

log = structlog.get_logger(__name__)


@contextlib.asynccontextmanager
async def running_site_checks(waypost: "Waypost", visitor: Visitor) -> AsyncIterator[None]:
    """Make the checks of sites that clients ask for while the block runs."""

    async def check(due: SiteCheck) -> None:
        """Make one check. An interrupted check is taken again when its claim expires."""
        try:
            result, sent = await read_site(visitor, due)
        except (InterruptedVisit, AddressBusy):
            return
        except Exception as error:  # a bug: without a result the site would be visited again and again
            log.error("site_check.crashed", host=due.host, error=type(error).__name__)
            result, sent = no_result(due.host, Outcome.SKIPPED, ""), 0
        try:
            await waypost.site_checks.settle(due.id, result, sent=sent)
            log.info("site_check.made", host=due.host, outcome=result["outcome"], sent=sent)
        except Exception as error:
            log_failure(log, "site_check.failed", error)

    allow = waypost.mode.require_off
    making = run_checks(waypost.site_checks.take, check, MAX_SITE_CHECKS, failed="site_check.failed", allow=allow)
    async with running_beside(making):
        yield


async def read_site(visitor: Visitor, due: SiteCheck) -> tuple[dict[str, Any], int]:
    """Return the result of one check, and how many requests it sent. Raise InterruptedVisit and AddressBusy."""
    pacer = visitor.new_pacer(DomainJob(due.domain, (), due.spent or {}))
    until = datetime.now(UTC) + TAKEN_FOR
    if due.url is not None:
        answer = await _read_url(visitor, due, due.url, pacer, until)
        return await asyncio.to_thread(result_of_url, answer), pacer.sent
    job = HostJob(due.host, whole_plan=True, named=True, closed=due.closed, standing=due.standing)
    visit = await visitor.visit_host(job, pacer, until)
    if visit.alias_of is not None and visit.alias_of not in due.closed:
        job = HostJob(visit.alias_of, whole_plan=True, named=True, closed=due.closed, standing=due.standing)
        visit = await visitor.visit_host(job, pacer, until)
    return await asyncio.to_thread(result_of_visit, due.host, visit, now=datetime.now(UTC)), pacer.sent


async def _read_url(visitor: Visitor, due: SiteCheck, url: str, pacer: RequestPacer, until: datetime) -> ProbeResult:
    """Return the judged answer of one URL; redirects stay on its host. robots.txt is read before."""
    probe, host = pointer_probe(url, None, None), due.host
    pacer.standing = due.standing
    async with visitor.session(until, pacer, due.closed) as session:
        robots = await _read_robots(session, host)

        def follow(probe: Probe, from_url: str, location: str | None, hops: tuple[str, ...]) -> Follow | Stop:
            decision = redirect(from_url, location, hops, probe.purpose)
            if isinstance(decision, Stop):
                return decision
            if host_of(decision.url) != host:
                return Stop(Outcome.SKIPPED, OTHER_HOST, host_of(decision.url))
            return decision if robots.allowed(decision.url) else Stop(Outcome.DISALLOWED, "robots", host)

        if robots.opted_out or not robots.allowed(url):  # guard: site-check-robots
            reason = "opt_out" if robots.opted_out else robots.reason or "robots"
            fetched = FetchResult(url, url, datetime.now(UTC), failure=Outcome.DISALLOWED, reason=reason)
        else:
            pacer.set_crawl_delay(robots.crawl_delay)
            fetched = await session.fetch(probe, follow)
    return ProbeResult(probe, fetched, await asyncio.to_thread(assess, probe, fetched, Controls()))


async def _read_robots(session: FetchSession, host: str) -> Robots:
    answer = await session.fetch(robots_probe(host))
    reason = answer.reason if answer.failure is not None else ""
    return await asyncio.to_thread(Robots.from_answer, answer.status, answer.body, reason)
