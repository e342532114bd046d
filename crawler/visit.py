"""The visit of one domain: its hosts one after another, each along its plan, within its limits and deadlines.

`registry.core.visiting.plan.HostPlan` decides what to request and which redirects to follow; this module only runs the
plan. It is independent of Scrapy: `waypost check` visits hosts with the same code.
"""

import asyncio
import secrets
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from crawler.outcomes import BLOCK_BUDGET
from crawler.politeness import AddressBusy, RequestPacer
from crawler.session import CrawlResources, FetchSession, InterruptedVisit
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.shares import DOMAIN_BUDGET, LOOK_UP_BUDGET, SHARE_BUDGET, DomainBudget, Standing
from registry.core.visiting.visits import DomainJob, FinishedDomain, HostJob, Visit, skipped

OFF_LOOP_BYTES: Final = 32 * 1024
"""Bodies above this are assessed in a thread: a megabyte of JSON takes tens of milliseconds."""

UNCOUNTED_BYTES: Final = 2 * 1024  # bodies up to this size are not counted: sixty of them take no memory worth counting
MIN_HOST_BUDGET: Final = 10  # requests that a domain must have left today to begin the visit of another host


class Visitor(CrawlResources):
    """Visits domains and hosts with the shared resources of one crawler."""

    async def visit_domain(self, job: DomainJob, until: datetime) -> FinishedDomain | None:
        """Return the visits of all due hosts, or those before an interruption; None if there was no visit. Raise
        AddressBusy if no visit could begin, and TimeoutError if a visit outlives the lease, which is a bug."""
        pacer = self.new_pacer(job)
        visits: list[Visit] = []
        async with asyncio.timeout((until - _now()).total_seconds()):
            try:
                for host in job.hosts:
                    visits.append(await self.visit_host(host, pacer, until))
            except InterruptedVisit:
                pass
            except AddressBusy:
                if not visits:
                    raise
        return FinishedDomain(job.domain, tuple(visits)) if visits else None

    async def visit_host(self, job: HostJob, pacer: RequestPacer, until: datetime) -> Visit:
        """Return the visit of one host; failures of the host are outcomes. Raise InterruptedVisit or AddressBusy."""
        started = _now()
        if (reason := _spent_budget(pacer.budget, job.standing)) is not None:  # guard: small-budget
            return skipped(job, started, reason)
        pacer.standing, sent_before = job.standing, pacer.sent
        left = pacer.budget.requests_left(job.standing)
        request_budget = self.settings.named_request_budget if job.named else self.settings.request_budget
        tools = self.settings.mcp_tools
        plan = HostPlan(
            job, now=started, nonce=secrets.token_hex(16), exempt=self.guard.connect_to.entries,
            lists_tools=tools == "all" or (tools == "named" and (job.named or job.lists_tools)),
            budget=min(request_budget, left), detail_budget=self.settings.detail_budget, total_budget=left,
        )  # fmt: skip
        robots = None
        async with self.session(until, pacer, job.closed) as session:
            while (probe := plan.next()) is not None:
                session.last = plan.is_last
                fetched = await session.fetch(probe, plan.redirect)
                size = len(fetched.body)
                if size > OFF_LOOP_BYTES:  # guard: large-body-off-loop
                    await asyncio.to_thread(plan.take, probe, fetched)
                else:
                    plan.take(probe, fetched)
                del fetched  # otherwise its body and headers would stay in memory during the pause
                if size > UNCOUNTED_BYTES:
                    session.memory.keep(plan.held)  # guard: kept-body-memory
                if plan.robots is not robots:
                    robots = plan.robots
                    pacer.set_crawl_delay(robots.crawl_delay if robots else None)
        visit = plan.finish(started, _now(), sent=pacer.sent - sent_before)
        if (visit.outcome, visit.reason) == BLOCK_BUDGET and not any(answer.fetched.status for answer in visit.answers):
            return replace(skipped(job, started, BLOCK_BUDGET.reason), sent=visit.sent)
        if visit.requests and not visit.sent:
            pacer.budget.count_look_up(job.standing)  # guard: look-up-count
        return visit

    def session(
        self, until: datetime, pacer: RequestPacer | None = None, opted_out: Collection[str] = ()
    ) -> FetchSession:
        """Return a session that ends before `until`; `opted_out`: hosts whose address is never resolved."""
        return FetchSession(self, pacer or self.new_pacer(), until, opted_out)

    def new_pacer(self, job: DomainJob | None = None) -> RequestPacer:
        """Return the pacer of one domain. `job`: has the requests of the last 24 hours; None if there were none."""
        spent = job.spent if job is not None else {}  # guard: domain-daily-budget
        return RequestPacer(self.settings.request_delay, DomainBudget(self.settings.domain_daily_budget, spent))


def _spent_budget(budget: DomainBudget, standing: Standing) -> str | None:
    """Return which budget leaves too little for the visit of a host; None if the visit may begin."""
    if budget.requests_left(Standing.KEPT) < MIN_HOST_BUDGET:
        return DOMAIN_BUDGET
    if budget.requests_left(standing) < MIN_HOST_BUDGET:
        return SHARE_BUDGET
    return None if budget.may_look_up(standing) else LOOK_UP_BUDGET


def _now() -> datetime:
    return datetime.now(UTC)
