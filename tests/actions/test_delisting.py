"""A service is delisted only when its absence is certain; a host that opts out is hidden at once."""

from dataclasses import replace
from datetime import timedelta

import pytest

from registry.core.model.documents import Outcome
from registry.core.model.listing import Filters, TrustLevel
from registry.core.visiting.visits import FinishedDomain
from registry.store.unit_of_work import Store
from tests.support.builders import (
    ADP,
    DAY,
    HOUR,
    NOW,
    Page,
    adp_site,
    again,
    changes_of,
    crawl,
    finish,
    leased,
    on,
    record,
    service_of,
    status_of,
    take,
)  # fmt: skip
from tests.support.database import rows
from tests.support.web import Web, moved, page, visit

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

HOST = "pigeons.com"
DOWN = Page(failure=Outcome.UNREACHABLE, reason="connect_timeout")


async def test_a_missing_service_is_delisted_after_a_second_visit_six_hours_later(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    first_missed_at = NOW + 2 * DAY
    recorded = await again(store, {HOST: {}}, first_missed_at)
    assert recorded.delisted == []
    status = await status_of(store, HOST, first_missed_at)
    assert status.state == "listed" and status.next_visit_at == first_missed_at + 6 * HOUR
    lease = await leased(store, now=first_missed_at + 6 * HOUR)
    assert lease.domains[0].hosts[0].whole_plan, "it may have moved to another path"
    recorded = await record(
        store, lease.token, [finish(lease.domains[0], {}, first_missed_at + 6 * HOUR)], now=first_missed_at + 6 * HOUR
    )
    assert recorded.delisted == [HOST]
    assert await on(store).queries.service(HOST) is None
    assert (await status_of(store, HOST, first_missed_at)).state == "not_listed"
    assert await changes_of(store, HOST) == ["service.listed", "service.delisted"]
    assert await rows(store, "SELECT count(*) FROM capabilities") == [(0,)]


async def test_a_service_that_returns_before_the_second_visit_stays_listed(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    await again(store, {HOST: {}}, NOW + 2 * DAY)
    await again(store, {HOST: adp_site(HOST)}, NOW + 2 * DAY + 6 * HOUR)
    assert await rows(store, f"SELECT missed_at FROM documents WHERE url = 'https://{HOST}{ADP}'") == [(None,)]
    await again(store, {HOST: {}}, NOW + 9 * DAY)
    assert (await status_of(store, HOST, NOW + 9 * DAY)).state == "listed"


async def test_status_410_delists_at_once(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    recorded = await again(store, {HOST: {ADP: Page("gone", 410)}}, NOW + 2 * DAY)
    assert recorded.delisted == [HOST]


@pytest.mark.parametrize(
    "page", [Page("no", 403), Page("later", 429), Page("oops", 500), DOWN, Page(failure=Outcome.TLS_ERROR, reason="x")]
)
@pytest.mark.parametrize("everywhere", [True, False])
async def test_failures_delist_nothing(store: Store, page: Page, everywhere: bool) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    for day in range(1, 3):
        await again(store, {HOST: page if everywhere else {ADP: page}}, NOW + 10 * day * DAY)
    assert (await status_of(store, HOST, NOW + 20 * DAY)).state == "listed"


async def test_three_failures_over_three_days_make_a_service_unverified_until_it_responds(store: Store) -> None:
    site = adp_site(HOST)
    await crawl(store, {HOST: site})
    levels, failures = [], []
    for day in (2, 3.5, 6):
        await again(store, {HOST: DOWN}, NOW + day * DAY)
        view = await service_of(store, HOST)
        levels.append(view.record.trust_level)
        failures.append(view.record.crawl_failures)
    assert failures == [1, 2, 3]
    assert levels == [TrustLevel.VERIFIED, TrustLevel.VERIFIED, TrustLevel.UNVERIFIED]
    assert (await on(store).queries.list_services(Filters())).total == 0
    assert (await on(store).queries.list_services(Filters(include_unverified=True))).total == 1
    assert (await on(store).queries.health()).down == 1

    await again(store, {HOST: site}, NOW + 30 * DAY)
    view = await service_of(store, HOST)
    assert (view.record.trust_level, view.record.crawl_failures) == (TrustLevel.VERIFIED, 0)


async def test_three_failures_within_a_day_are_not_yet_an_outage(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    for hours in (48, 50, 57):
        await again(store, {HOST: {ADP: Page("oops", 500)}}, NOW + hours * HOUR)
    view = await service_of(store, HOST)
    assert (view.record.trust_level, view.record.crawl_failures) == (TrustLevel.VERIFIED, 3)


async def test_a_name_that_does_not_resolve_three_times_is_delisted(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    nxdomain_page = Page(failure=Outcome.UNREACHABLE, reason="nxdomain")
    delisted = [(await again(store, {HOST: nxdomain_page}, NOW + day * DAY)).delisted for day in (2, 5, 9)]
    assert delisted == [[], [], [HOST]]


async def test_a_name_that_does_not_resolve_within_an_hour_is_not_delisted_yet(store: Store) -> None:
    """Reruns by an operator do not count as observations at another time."""
    await crawl(store, {HOST: adp_site(HOST)})
    nxdomain_page = Page(failure=Outcome.UNREACHABLE, reason="nxdomain")
    for minutes in (0, 1, 2, 3):
        now = NOW + 2 * DAY + timedelta(minutes=minutes)
        await on(store, now).frontier.make_due([HOST])
        assert (await again(store, {HOST: nxdomain_page}, now)).delisted == []
    assert (await again(store, {HOST: nxdomain_page}, NOW + 20 * DAY)).delisted == [HOST]


async def test_a_host_whose_robots_txt_fails_counts_as_failing(store: Store) -> None:
    """Only its robots.txt is fetched, and the host is disallowed because it fails, not because it opted out."""
    await crawl(store, {HOST: adp_site(HOST)})
    for day in (2, 4, 8):
        await again(store, {HOST: Page("oops", 500)}, NOW + day * DAY)
    view = await service_of(store, HOST)
    assert view.record.trust_level is TrustLevel.UNVERIFIED
    assert (await status_of(store, HOST, NOW + 8 * DAY)).outcome is Outcome.DISALLOWED


async def test_retry_after_overrides_an_earlier_visit(store: Store) -> None:
    """A missing manifest calls for another visit in six hours, but the host asks for twenty hours."""
    await crawl(store, {HOST: adp_site(HOST)})
    rate_limited = Page("later", 429, {"retry-after": "72000"})
    await again(store, {HOST: {ADP: Page("none", 404), "/agent.json": rate_limited}}, NOW + 20 * DAY)
    next_visit_at = (await status_of(store, HOST, NOW + 20 * DAY)).next_visit_at
    assert next_visit_at is not None and next_visit_at >= NOW + 20 * DAY + 20 * HOUR


async def test_a_visit_skipped_for_its_budget_changes_nothing_else(store: Store) -> None:
    await crawl(store, {HOST: {}})
    before = await status_of(store, HOST, NOW + 20 * DAY)
    schedule_rows = await rows(store, "SELECT streak, interval_s, whole_plan_at FROM hosts")
    lease = await leased(store, now=NOW + 20 * DAY)
    visit = replace(
        finish(lease.domains[0], {}, NOW + 20 * DAY).visits[0],
        outcome=Outcome.SKIPPED, reason="block_budget", answers=(), requests=0, whole_plan=False,
    )  # fmt: skip
    await record(store, lease.token, [FinishedDomain(HOST, (visit,))], now=NOW + 20 * DAY)
    after = await status_of(store, HOST, NOW + 20 * DAY)
    assert (after.outcome, after.last_visit_at) == (before.outcome, before.last_visit_at)
    assert await rows(store, "SELECT streak, interval_s, whole_plan_at FROM hosts") == schedule_rows
    assert after.next_visit_at is not None
    assert timedelta(hours=5) < after.next_visit_at - NOW - 20 * DAY < timedelta(hours=7)
    assert await rows(store, "SELECT reason FROM visits ORDER BY started_at DESC LIMIT 1") == [("block_budget",)]


async def test_an_opt_out_hides_at_once_and_lasts(store: Store) -> None:
    robots = Page("User-agent: WaypostBot\nDisallow: /\n", media_type="text/plain")
    await crawl(store, {HOST: adp_site(HOST), "api." + HOST: adp_site("api." + HOST)})
    recorded = await again(
        store, {HOST: {"/robots.txt": robots}, "api." + HOST: adp_site("api." + HOST)}, NOW + 2 * DAY
    )
    assert recorded.failed == {}
    for host in (HOST, "api." + HOST):
        assert await on(store).queries.service(host) is None
        status = await status_of(store, host, NOW + 2 * DAY)
        assert (status.state, status.next_visit_at) == ("opted_out", None)
        assert await store.cards.of([(HOST, host)]) == {}
    assert (await on(store).queries.list_services(Filters(include_unverified=True))).total == 0
    assert await take(store, now=NOW + 400 * DAY) is None
    assert "service.hidden" in await changes_of(store, HOST)


async def test_the_robots_txt_of_another_host_opts_nobody_out(store: Store) -> None:
    """It is obeyed in this visit, and read again in the next."""
    other, robots = "u1." + HOST, "User-agent: WaypostBot\nDisallow: /\n"
    await crawl(store, {HOST: adp_site(HOST), "u2." + HOST: adp_site("u2." + HOST)})
    led_away = {"/robots.txt": moved(f"https://{other}/robots.txt")}
    web = Web({HOST: led_away, other: {"/robots.txt": page(robots, "text/plain")}})
    lease = await leased(store, now=NOW + 2 * DAY)
    [job] = [job for job in lease.domains[0].hosts if job.host == HOST]
    done = visit(web, job=job)
    assert done.reason == "robots", "it is obeyed"
    await record(store, lease.token, [FinishedDomain(HOST, (done,))], now=NOW + 2 * DAY)
    for host in (HOST, "u2." + HOST):
        assert (await status_of(store, host, NOW + 2 * DAY)).state == "listed"
    assert await rows(store, f"SELECT robots_at FROM hosts WHERE host = '{HOST}'") == [(None,)]


async def test_an_opt_out_of_a_sub_host_does_not_affect_the_domain(store: Store) -> None:
    robots = Page("User-agent: WaypostBot\nDisallow: /\n", media_type="text/plain")
    await crawl(store, {HOST: adp_site(HOST), "blog." + HOST: {"/robots.txt": robots}})
    assert (await status_of(store, HOST, NOW)).state == "listed"
    assert (await status_of(store, "blog." + HOST, NOW)).state == "opted_out"
