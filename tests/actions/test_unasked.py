"""Which paths are requested when, from the first visit of a host to the last path; and what readers are told."""

from datetime import datetime

from registry.actions.queries.inspect import UnprobedPaths
from registry.core.model.documents import Outcome
from registry.core.visiting import limits, probes
from registry.core.visiting.visits import FinishedDomain, HostJob, skipped
from registry.store.unit_of_work import Store
from tests.support.builders import (
    DAY,
    HOUR,
    NOW,
    Page,
    Site,
    adp_site,
    again,
    crawl,
    leased,
    on,
    record,
    status_of,
)
from tests.support.database import rows

HOST = "quiet.com"
FURTHER = [step.path for step in probes.FURTHER]
NOTHING: Site = {}


async def job_of(store: Store, now: datetime) -> HostJob:
    lease = await leased(store, now=now)
    [host_job] = [host for domain in lease.domains for host in domain.hosts]
    async with store.begin() as uow:
        await uow.domains.end_lease([HOST], forgiven=1)
    return host_job


async def unasked_of(store: Store, now: datetime) -> UnprobedPaths:
    explanation = await on(store, now).queries.explain(HOST, visits=1)
    assert explanation is not None
    assert (await status_of(store, HOST, now)).unasked == explanation.unasked
    return explanation.unasked


async def test_a_quiet_host_was_asked_for_everything_after_four_revisits(store: Store) -> None:
    now, told = NOW, []
    await crawl(store, {HOST: NOTHING}, now)
    for visit_number in range(1, 6):
        unasked = await unasked_of(store, now)
        told.append([path.path for path in unasked.paths])
        assert [path.visit for path in unasked.paths] == [
            1 + index // limits.PER_VISIT for index in range(len(unasked.paths))
        ]
        status = await status_of(store, HOST, now)
        assert status.next_visit_at is not None and unasked.next_whole_plan_at == status.next_visit_at
        now = status.next_visit_at
        if visit_number < 5:
            await again(store, {HOST: NOTHING}, now)
    assert told == [FURTHER[limits.PER_VISIT * number :] for number in range(5)]
    requests = await rows(store, "SELECT requests FROM visits ORDER BY started_at")
    assert requests == [(20,), (25,), (25,), (25,), (25,)]


async def test_a_host_that_was_never_visited_waits_for_everything(store: Store) -> None:
    await on(store).frontier.submit(HOST)
    unasked = await unasked_of(store, NOW)
    assert {path.visit for path in unasked.paths} == {1}
    assert [path.path for path in unasked.paths] == [step.path for step in (*probes.STEPS, *probes.FURTHER)]


async def test_named_hosts_get_the_whole_plan_at_once(store: Store) -> None:
    await on(store).frontier.submit(HOST)
    assert (await job_of(store, NOW)).named
    await again(store, {HOST: NOTHING}, NOW)
    assert (await unasked_of(store, NOW)).paths == ()
    assert not (await job_of(store, NOW + 20 * DAY)).named, "once is enough"
    await on(store, NOW + HOUR).frontier.make_due([HOST])
    assert (await job_of(store, NOW + HOUR)).named, "until somebody names it again"


async def test_a_submitted_host_that_was_away_gets_the_whole_plan_later(store: Store) -> None:
    await on(store).frontier.submit(HOST)
    away = Page(failure=Outcome.UNREACHABLE, reason="connect_timeout")
    await again(store, {HOST: away}, NOW)
    assert (await job_of(store, NOW + 2 * DAY)).named


async def test_a_host_that_was_away_takes_no_turn(store: Store) -> None:
    await crawl(store, {HOST: Page(failure=Outcome.UNREACHABLE, reason="connect_timeout")})
    job = await job_of(store, NOW + 2 * DAY)
    assert (job.named, job.further) == (False, ())


async def test_a_spent_budget_does_not_forget_who_asked(store: Store) -> None:
    await on(store).frontier.submit(HOST)
    lease = await leased(store)
    [domain] = lease.domains
    visit = skipped(domain.hosts[0], NOW, "domain_budget")
    await record(store, lease.token, [FinishedDomain(domain.domain, (visit,))])
    assert (await job_of(store, NOW + DAY)).named


async def test_a_host_with_documents_takes_its_turn_with_the_next_whole_plan(store: Store) -> None:
    site = adp_site(HOST)
    await crawl(store, {HOST: site})
    await again(store, {HOST: site}, NOW + 2 * DAY)
    unasked = await unasked_of(store, NOW + 2 * DAY)
    assert unasked.next_whole_plan_at == NOW + 14 * DAY
    assert "/.well-known/ai-plugin.json" not in [path.path for path in unasked.paths], "a hit made it be asked for"
    first_turn = [path.path for path in unasked.paths if path.visit == 1]
    await again(store, {HOST: site}, NOW + 16 * DAY)
    assert len(first_turn) == limits.PER_VISIT
    assert not {path.path for path in (await unasked_of(store, NOW + 16 * DAY)).paths} & set(first_turn)
