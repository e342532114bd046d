"""Visits that are asked for: within small budgets by anybody, at once by an owner, never against the site's wish."""

from datetime import datetime, timedelta

import pytest

from registry.actions.frontier.recheck import (
    AGAIN_AFTER,
    MOST_OF_CLIENT,
    MOST_OF_CLIENT_AND_DOMAIN,
    MOST_OF_DOMAIN,
    Recheck,
)
from registry.actions.frontier.submit import MAX_PER_CLIENT, REMEMBERED
from registry.core.model.documents import Outcome
from registry.core.names.domains import InvalidName
from registry.store.records import OptOutRecord
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, HOUR, NOW, Page, adp_site, crawl, hosts_of, leased, on, status_of, take
from tests.support.database import rows

HOST = "shop.com"
STRANGER, OTHER = "198.51.100.1", "203.0.113.7"
LATER = NOW + HOUR


async def asked(store: Store, host: str = HOST, *, client: str | None = STRANGER, now: datetime = LATER) -> Recheck:
    return await on(store, now).frontier.recheck(host, client=client)


async def revisit(store: Store, now: datetime) -> None:
    await crawl(store, {HOST: adp_site(HOST, "buy")}, now)


async def test_a_listed_host_is_visited_again_with_the_whole_plan(store: Store) -> None:
    await revisit(store, NOW)
    assert await take(store, now=LATER) is None
    assert await asked(store) == Recheck("queued", HOST, HOST, LATER)
    lease = await leased(store, now=LATER)
    assert hosts_of(lease) == [HOST]
    (job,) = lease.domains[0].hosts
    assert job.whole_plan and job.named and job.robots is None


async def test_a_health_check_requests_only_what_is_known(store: Store) -> None:
    await revisit(store, NOW)
    assert (await on(store, LATER).frontier.recheck(HOST, client=STRANGER, whole_plan=False)).state == "queued"
    lease = await leased(store, now=LATER)
    (job,) = lease.domains[0].hosts
    assert not job.whole_plan and job.known


async def test_a_host_is_not_visited_twice_within_minutes(store: Store) -> None:
    await revisit(store, NOW)
    early = NOW + AGAIN_AFTER - timedelta(seconds=1)
    assert await asked(store, now=early) == Recheck("too_soon", HOST, HOST, retry_at=NOW + AGAIN_AFTER)
    assert (await asked(store, now=NOW + AGAIN_AFTER)).state == "queued"


async def test_asking_twice_causes_one_visit(store: Store) -> None:
    await revisit(store, NOW)
    assert [(await asked(store)).state for _ in range(20)] == ["queued"] * 20
    assert await rows(store, "SELECT count(*) FROM rechecks") == [(1,)]


async def test_strangers_have_budgets_per_client_and_per_domain(store: Store) -> None:
    states, now = [], LATER
    await revisit(store, NOW)
    for client in ("198.51.100.1", "198.51.100.2", "198.51.100.3"):
        for _ in range(MOST_OF_CLIENT_AND_DOMAIN + 1):
            now += AGAIN_AFTER
            states.append((await asked(store, client=client, now=now)).state)
            if states[-1] == "queued":
                await revisit(store, now)
    one = ["queued"] * MOST_OF_CLIENT_AND_DOMAIN + ["client_budget"]
    assert MOST_OF_DOMAIN == 2 * MOST_OF_CLIENT_AND_DOMAIN
    assert states == [*one, *one, *["domain_budget"] * (MOST_OF_CLIENT_AND_DOMAIN + 1)]
    refused = await asked(store, client="198.51.100.3", now=now + AGAIN_AFTER)
    assert refused.retry_at == LATER + AGAIN_AFTER + REMEMBERED
    assert (await asked(store, client="198.51.100.3", now=now + DAY)).state == "queued"


async def test_a_client_has_one_budget_for_all_domains(store: Store) -> None:
    names = [f"shop-{number}.com" for number in range(MOST_OF_CLIENT + 1)]
    await crawl(store, {name: adp_site(name, "buy") for name in names}, NOW)
    states = [(await asked(store, name)).state for name in names]
    assert states == ["queued"] * MOST_OF_CLIENT + ["client_budget"]
    assert (await asked(store, names[-1], client=OTHER)).state == "queued"


async def test_a_submission_of_a_known_host_is_a_recheck_within_the_same_budgets(store: Store) -> None:
    """An operator mends a host and submits it again."""
    await revisit(store, NOW)
    assert (await on(store, NOW + HOUR / 2).frontier.submit(HOST, client=STRANGER)).state == "queued"
    await revisit(store, NOW + HOUR / 2)
    states, now = [], NOW + HOUR / 2
    for number in range(MOST_OF_CLIENT_AND_DOMAIN):
        if number % 2:
            states.append((await asked(store, now=now + AGAIN_AFTER)).state)
        else:
            early = await on(store, now + AGAIN_AFTER / 2).frontier.submit(HOST, client=STRANGER)
            assert (early.state, early.bound, early.retry_at) == ("known", "too_soon", now + AGAIN_AFTER)
            assert early.next_visit_at is not None and early.next_visit_at > now
            states.append((await on(store, now + AGAIN_AFTER).frontier.submit(HOST, client=STRANGER)).state)
        now += AGAIN_AFTER
        if states[-1] == "queued":
            await revisit(store, now)
    assert states == ["queued"] * (MOST_OF_CLIENT_AND_DOMAIN - 1) + ["client_budget"], "the first visit counts too"
    refused = await on(store, now).frontier.submit(HOST, client=STRANGER)
    assert (refused.state, refused.bound) == ("known", "client_budget")
    assert refused.retry_at == NOW + HOUR / 2 + REMEMBERED
    assert (await on(store, now).frontier.submit(HOST, client=OTHER)).state == "queued"


async def test_an_owner_asks_at_once_and_as_often_as_needed(store: Store) -> None:
    await revisit(store, NOW)
    now = NOW
    for _ in range(3 * MOST_OF_DOMAIN):
        now += timedelta(seconds=10)
        assert (await on(store, now).frontier.recheck(HOST, by_owner=True)).state == "queued"
        await revisit(store, now)
    assert (await asked(store, now=now + AGAIN_AFTER)).state == "queued", "it took nothing from strangers"


@pytest.mark.parametrize("by_owner", [False, True])
async def test_a_host_that_asks_for_time_gets_it(store: Store, by_owner: bool) -> None:
    await revisit(store, NOW)
    busy = {"/robots.txt": Page("", 404), "/.well-known/agent": Page("later", 429, {"retry-after": "72000"})}
    then = NOW + 30 * DAY
    await crawl(store, {HOST: busy}, then)
    status = await status_of(store, HOST, then)
    assert status.outcome is Outcome.RATE_LIMITED and status.next_visit_at is not None
    client = None if by_owner else STRANGER
    answer = await on(store, then + HOUR).frontier.recheck(HOST, client=client, by_owner=by_owner)
    assert (answer.state, answer.retry_at) == ("asked_for_time", min(status.next_visit_at, then + DAY))


async def test_a_host_that_opted_out_is_not_visited(store: Store) -> None:
    await revisit(store, NOW)
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord(HOST, HOST, "file", "", NOW)])
    assert (await asked(store)).state == "opted_out"
    assert (await on(store, LATER).frontier.recheck(HOST, by_owner=True)).state == "opted_out"
    assert await take(store, now=LATER) is None


async def test_unknown_hosts_are_not_queued(store: Store) -> None:
    assert (await asked(store, "never-heard-of.com")).state == "unknown"
    assert await rows(store, "SELECT count(*) FROM hosts") == [(0,)]
    with pytest.raises(InvalidName):
        await asked(store, "no host")


async def test_bounds_of_submissions_hold_for_hosts_that_were_never_reached(store: Store) -> None:
    """Otherwise they could be circumvented."""
    names = [f"s{number}.{HOST}" for number in range(MAX_PER_CLIENT + 1)]
    nothing = Page(failure=Outcome.UNREACHABLE, reason="nxdomain")
    for client, name in zip([STRANGER] * MAX_PER_CLIENT + [OTHER], names, strict=True):
        await on(store).frontier.submit(name, client=client)
    await crawl(store, dict.fromkeys(names, nothing), NOW)
    assert (await asked(store, names[-1])).state == "client_domain"


async def test_who_asked_is_erased_after_a_day(store: Store) -> None:
    await revisit(store, NOW)
    await asked(store)
    await on(store, LATER + REMEMBERED - HOUR).frontier.erase_clients()
    assert await rows(store, "SELECT client FROM rechecks") == [(STRANGER,)]
    await on(store, LATER + REMEMBERED).frontier.erase_clients()
    for table in ("rechecks", "turns"):
        assert await rows(store, f"SELECT client FROM {table}") == []
