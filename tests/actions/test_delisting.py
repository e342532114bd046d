"""What is known stays known until its absence is sure; who wants to be left alone is, at once."""

from dataclasses import replace
from datetime import timedelta

import pytest

from registry.actions.answering import inspect
from registry.actions.frontier.seed import make_due
from registry.actions.recording.record import record
from registry.core.documents import Outcome
from registry.core.listing import Filters, TrustLevel
from registry.core.visits import FinishedDomain
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
    status_of,
    take,
)  # fmt: skip
from tests.support.database import rows

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

HOST = "pigeons.com"
DOWN = Page(failure=Outcome.UNREACHABLE, reason="connect_timeout")


async def test_what_disappears_is_delisted_at_the_second_look_six_hours_later(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    first_look = NOW + 2 * DAY
    done = await again(store, {HOST: {}}, first_look)
    assert done.delisted == []
    found = await status_of(store, HOST, first_look)
    assert found.state == "listed" and found.next_visit_at == first_look + 6 * HOUR
    lease = await take(store, now=first_look + 6 * HOUR)
    assert lease is not None and lease.domains[0].hosts[0].whole_plan, "it may have moved to another path"
    done = await record(
        store, lease.token, [finish(lease.domains[0], {}, first_look + 6 * HOUR)], now=first_look + 6 * HOUR
    )
    assert done.delisted == [HOST]
    assert await inspect.service(store, HOST) is None
    assert (await status_of(store, HOST, first_look)).state == "not_listed"
    assert await changes_of(store, HOST) == ["service.listed", "service.delisted"]
    assert await rows(store, "SELECT count(*) FROM capabilities") == [(0,)]


async def test_what_comes_back_before_the_second_look_was_never_gone(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    await again(store, {HOST: {}}, NOW + 2 * DAY)
    await again(store, {HOST: adp_site(HOST)}, NOW + 2 * DAY + 6 * HOUR)
    assert await rows(store, f"SELECT missed_at FROM documents WHERE url = 'https://{HOST}{ADP}'") == [(None,)]
    await again(store, {HOST: {}}, NOW + 9 * DAY)
    assert (await status_of(store, HOST, NOW + 9 * DAY)).state == "listed"


async def test_gone_is_gone_at_once(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    done = await again(store, {HOST: {ADP: Page("gone", 410)}}, NOW + 2 * DAY)
    assert done.delisted == [HOST]


@pytest.mark.parametrize(
    "page", [Page("no", 403), Page("later", 429), Page("oops", 500), DOWN, Page(failure=Outcome.TLS_ERROR, reason="x")]
)
@pytest.mark.parametrize("everywhere", [True, False])
async def test_the_unknown_delists_nothing(store: Store, page: Page, everywhere: bool) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    for day in range(1, 3):
        await again(store, {HOST: page if everywhere else {ADP: page}}, NOW + 10 * day * DAY)
    assert (await status_of(store, HOST, NOW + 20 * DAY)).state == "listed"


async def test_three_soft_failures_over_three_days_make_a_service_unverified_until_it_answers(store: Store) -> None:
    site = adp_site(HOST)
    await crawl(store, {HOST: site})
    levels, failures = [], []
    for day in (2, 3.5, 6):
        await again(store, {HOST: DOWN}, NOW + day * DAY)
        view = await inspect.service(store, HOST)
        assert view is not None
        levels.append(view.record.trust_level)
        failures.append(view.record.crawl_failures)
    assert failures == [1, 2, 3]
    assert levels == [TrustLevel.VERIFIED, TrustLevel.VERIFIED, TrustLevel.UNVERIFIED]
    assert (await inspect.list_services(store, Filters())).total == 0
    assert (await inspect.list_services(store, Filters(include_unverified=True))).total == 1
    assert (await inspect.health(store)).down == 1

    await again(store, {HOST: site}, NOW + 30 * DAY)
    view = await inspect.service(store, HOST)
    assert view is not None and (view.record.trust_level, view.record.crawl_failures) == (TrustLevel.VERIFIED, 0)


async def test_three_failures_within_a_day_are_not_yet_an_outage(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    for hours in (48, 50, 57):
        await again(store, {HOST: {ADP: Page("oops", 500)}}, NOW + hours * HOUR)
    view = await inspect.service(store, HOST)
    assert view is not None and (view.record.trust_level, view.record.crawl_failures) == (TrustLevel.VERIFIED, 3)


async def test_a_name_that_is_gone_three_times_is_gone(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    nameless = Page(failure=Outcome.UNREACHABLE, reason="nxdomain")
    delisted = [(await again(store, {HOST: nameless}, NOW + day * DAY)).delisted for day in (2, 5, 9)]
    assert delisted == [[], [], [HOST]]


async def test_a_name_that_is_missing_three_times_within_an_hour_is_not_gone_yet(store: Store) -> None:
    """An operator's reruns are no second observation at another time."""
    await crawl(store, {HOST: adp_site(HOST)})
    nameless = Page(failure=Outcome.UNREACHABLE, reason="nxdomain")
    for minutes in (0, 1, 2, 3):
        now = NOW + 2 * DAY + timedelta(minutes=minutes)
        await make_due(store, [HOST], now=now)
        assert (await again(store, {HOST: nameless}, now)).delisted == []
    assert (await again(store, {HOST: nameless}, NOW + 20 * DAY)).delisted == [HOST]


async def test_a_host_whose_robots_file_fails_is_failing(store: Store) -> None:
    """It is asked for nothing else; but it is the host that is broken, and it did not ask to be left alone."""
    await crawl(store, {HOST: adp_site(HOST)})
    for day in (2, 4, 8):
        await again(store, {HOST: Page("oops", 500)}, NOW + day * DAY)
    view = await inspect.service(store, HOST)
    assert view is not None and view.record.trust_level is TrustLevel.UNVERIFIED
    assert (await status_of(store, HOST, NOW + 8 * DAY)).outcome is Outcome.DISALLOWED


async def test_retry_after_is_kept_to_whatever_else_would_come_sooner(store: Store) -> None:
    """A manifest was missed, which calls for a second look in six hours; but the host asks for twenty."""
    await crawl(store, {HOST: adp_site(HOST)})
    limited = Page("later", 429, {"retry-after": "72000"})
    await again(store, {HOST: {ADP: Page("none", 404), "/agent.json": limited}}, NOW + 20 * DAY)
    due = (await status_of(store, HOST, NOW + 20 * DAY)).next_visit_at
    assert due is not None and due >= NOW + 20 * DAY + 20 * HOUR


async def test_a_visit_for_which_no_budget_was_left_changes_nothing_that_is_known(store: Store) -> None:
    await crawl(store, {HOST: {}})
    before = await status_of(store, HOST, NOW + 20 * DAY)
    streak = await rows(store, "SELECT streak, interval_s, whole_plan_at FROM hosts")
    lease = await take(store, now=NOW + 20 * DAY)
    assert lease is not None
    visit = replace(
        finish(lease.domains[0], {}, NOW + 20 * DAY).visits[0],
        outcome=Outcome.SKIPPED, reason="block_budget", answers=(), requests=0, whole_plan=False,
    )  # fmt: skip
    await record(store, lease.token, [FinishedDomain(HOST, (visit,))], now=NOW + 20 * DAY)
    after = await status_of(store, HOST, NOW + 20 * DAY)
    assert (after.outcome, after.last_visit_at) == (before.outcome, before.last_visit_at)
    assert await rows(store, "SELECT streak, interval_s, whole_plan_at FROM hosts") == streak
    assert after.next_visit_at is not None
    assert timedelta(hours=5) < after.next_visit_at - NOW - 20 * DAY < timedelta(hours=7)
    assert await rows(store, "SELECT reason FROM visits ORDER BY started_at DESC LIMIT 1") == [("block_budget",)]


async def test_an_opt_out_hides_at_once_and_sticks(store: Store) -> None:
    robots = Page("User-agent: WaypostBot\nDisallow: /\n", media_type="text/plain")
    await crawl(store, {HOST: adp_site(HOST), "api." + HOST: adp_site("api." + HOST)})
    done = await again(store, {HOST: {"/robots.txt": robots}, "api." + HOST: adp_site("api." + HOST)}, NOW + 2 * DAY)
    assert done.failed == {}
    for host in (HOST, "api." + HOST):
        assert await inspect.service(store, host) is None
        found = await status_of(store, host, NOW + 2 * DAY)
        assert (found.state, found.next_visit_at) == ("opted_out", None)
        assert await store.cards.of([(HOST, host)]) == {}
    assert (await inspect.list_services(store, Filters(include_unverified=True))).total == 0
    assert await take(store, now=NOW + 400 * DAY) is None
    assert "service.hidden" in await changes_of(store, HOST)


async def test_an_opt_out_of_a_sub_host_is_its_own(store: Store) -> None:
    robots = Page("User-agent: WaypostBot\nDisallow: /\n", media_type="text/plain")
    await crawl(store, {HOST: adp_site(HOST), "blog." + HOST: {"/robots.txt": robots}})
    assert (await status_of(store, HOST, NOW)).state == "listed"
    assert (await status_of(store, "blog." + HOST, NOW)).state == "opted_out"
