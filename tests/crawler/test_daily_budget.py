"""Who spends the daily budget of a domain during one lease: requests that were sent, by the shares of its hosts."""

import pytest

from crawler.guards import AddressGuard, ConnectTo
from crawler.visit import Visitor
from registry.core.model.documents import Outcome
from registry.core.visiting.shares import Spent, Standing
from registry.core.visiting.visits import DomainJob, HostJob, Visit
from tests.crawler.support import Visiting, far
from tests.crawler.test_visit import HOST, SHOP
from tests.support.sites import closed_port

pytestmark = pytest.mark.slow  # servers and visits


async def visits_of(visitor: Visitor, job: DomainJob) -> tuple[Visit, ...]:
    finished = await visitor.visit_domain(job, far())
    assert finished is not None
    return finished.visits


async def test_the_daily_budget_is_kept_across_all_hosts_of_a_domain(visiting: Visiting) -> None:
    hosts = (HOST, f"api.{HOST}", f"docs.{HOST}")
    job = DomainJob(HOST, tuple(HostJob(host, whole_plan=True) for host in hosts), spent={Standing.KEPT: Spent(85)})
    async with visiting(dict.fromkeys(hosts, SHOP)) as (sites, visitor):
        visits = await visits_of(visitor, job)
    assert len(sites.seen) <= 120 - 85
    assert sum(host_visit.requests for host_visit in visits) == len(sites.seen)
    assert (visits[-1].outcome, visits[-1].reason, visits[-1].requests) == (Outcome.SKIPPED, "domain_budget", 0)


async def test_requests_that_are_not_sent_are_not_charged_to_the_domain(visiting: Visiting) -> None:
    """Names outside the connect-to table do not resolve. A connection that is refused was tried."""
    refusing = f"refusing.{HOST}"
    hosts = (*(f"nope{number}.{HOST}" for number in range(114)), refusing, HOST)
    job = DomainJob(HOST, tuple(HostJob(host, whole_plan=True) for host in hosts))
    with closed_port() as port:
        async with visiting({HOST: SHOP}) as (sites, visitor):
            entries = {**visitor.guard.connect_to.entries, refusing: ("127.0.0.1", port)}
            visitor.guard = AddressGuard(ConnectTo(entries), None)
            visits = await visits_of(visitor, job)
    *nopes, refused, found = visits
    assert {(visit.reason, visit.requests, visit.sent) for visit in nopes} == {("nxdomain", 1, 0)}
    assert (refused.reason, refused.requests, refused.sent) == ("connection_refused", 1, 1)
    assert found.outcome is Outcome.FOUND and found.sent == len(sites.seen) == found.requests


async def test_submitted_hosts_leave_half_of_the_daily_budget(visiting: Visiting) -> None:
    strange = [f"a{number}.{HOST}" for number in range(6)]
    jobs = [HostJob(host, whole_plan=True, standing=Standing.SUBMITTED) for host in strange]
    job = DomainJob(HOST, (*jobs, HostJob(HOST, whole_plan=True, standing=Standing.KEPT)))
    async with visiting(dict.fromkeys((*strange, HOST), SHOP)) as (sites, visitor):
        visits = await visits_of(visitor, job)
    *submitted, kept = visits
    assert sum(visit.sent for visit in submitted) <= 60
    assert (submitted[-1].outcome, submitted[-1].reason) == (Outcome.SKIPPED, "new_hosts_budget")
    assert submitted[-1].standing is Standing.SUBMITTED
    assert kept.outcome is Outcome.FOUND and sites.paths(HOST)


async def test_look_ups_in_vain_are_bounded_within_a_lease(visiting: Visiting) -> None:
    strange = [f"nope{number}.{HOST}" for number in range(50)]
    jobs = [HostJob(host, whole_plan=True, standing=Standing.SUBMITTED) for host in strange]
    job = DomainJob(HOST, (*jobs, HostJob(HOST, whole_plan=True)), spent={Standing.NAMED: Spent(0, 10)})
    async with visiting({HOST: SHOP}) as (_, visitor):
        visits = await visits_of(visitor, job)
    reasons = [visit.reason for visit in visits[:-1]]
    assert reasons == ["nxdomain"] * 30 + ["look_up_budget"] * 20
    assert visits[-1].outcome is Outcome.FOUND
