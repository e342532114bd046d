"""What a stranger's submissions can cost a site, and what they cost the stranger: bounds per domain and per client."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from registry.actions.frontier.frontier import MAX_HOSTS_NAMED
from registry.actions.frontier.lease import STRANGE_HOSTS
from registry.actions.frontier.submit import MAX_PER_CLIENT, MAX_UNRESOLVED, MAX_WAITING, REMEMBERED, Submission
from registry.core.model.documents import Outcome
from registry.core.visiting.shares import SHARE_BUDGET, Spent, Standing
from registry.core.visiting.visits import FinishedDomain, skipped
from registry.store.records import CandidateRecord
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
    finish,
    hosts_of,
    leased,
    on,
    record,
    status_of,
    take,
)
from tests.support.database import execute, rows

DOMAIN = "shop.com"
STRANGER, OWNER = "198.51.100.1", "203.0.113.7"
MINUTE = timedelta(minutes=1)
NO_NAME = Page(failure=Outcome.UNREACHABLE, reason="nxdomain")


def subs(number: int, label: str = "s") -> list[str]:
    return [f"{label}{n}.{DOMAIN}" for n in range(number)]


async def asked(store: Store, *names: str, client: str | None = STRANGER, now: datetime = NOW) -> list[str]:
    return [(await on(store, now).frontier.submit(name, client=client)).state for name in names]


async def visited(store: Store, sites: Mapping[str, Site], now: datetime) -> list[str]:
    """Lease, visit and record until nothing is due; return the hosts in the order of their visits."""
    hosts: list[str] = []
    while (lease := await take(store, now=now)) is not None:
        hosts += hosts_of(lease)
        await record(store, lease.token, [finish(job, sites, now) for job in lease.domains], now=now)
    return hosts


async def postpone(store: Store, now: datetime) -> list[str]:
    """Lease what is due and skip it, as when the share of such hosts is spent; return the hosts."""
    hosts: list[str] = []
    while (lease := await take(store, now=now)) is not None:
        hosts += hosts_of(lease)
        finished = [
            FinishedDomain(job.domain, tuple(skipped(host, now, SHARE_BUDGET) for host in job.hosts))
            for job in lease.domains
        ]
        await record(store, lease.token, finished, now=now)
    return hosts


# --- per client


async def test_a_client_submits_a_few_unknown_sub_hosts_of_a_domain_in_a_day(store: Store) -> None:
    names = subs(MAX_PER_CLIENT + 2)
    assert await asked(store, *names) == ["new"] * MAX_PER_CLIENT + ["client_domain"] * 2
    refused = await on(store, NOW + HOUR).frontier.submit(names[-1], client=STRANGER)
    assert (refused.next_visit_at, refused.retry_at) == (None, NOW + REMEMBERED)
    assert await asked(store, DOMAIN, f"www.{DOMAIN}", "other.com", "api.other.com") == ["new"] * 4
    assert await asked(store, *names[-2:], client=OWNER) == ["new"] * 2
    assert await asked(store, *subs(3, "operator"), client=None) == ["new"] * 3
    assert await asked(store, *subs(2, "later"), now=NOW + DAY) == ["new"] * 2


async def test_submissions_at_the_same_time_stay_within_the_bound(store: Store) -> None:
    """Several processes of the API share the database."""
    states = await asyncio.gather(
        *(on(store).frontier.submit(name, client=STRANGER) for name in subs(4 * MAX_PER_CLIENT))
    )
    assert [submission.state for submission in states].count("new") == MAX_PER_CLIENT


async def test_names_without_an_address_are_charged_to_their_client(store: Store) -> None:
    names = [f"no-such-name-{number}.com" for number in range(MAX_UNRESOLVED)]
    await asked(store, *names[:-1])
    await asked(store, "there.com")
    await visited(store, dict.fromkeys(names, NO_NAME), NOW + MINUTE)
    later = NOW + 2 * MINUTE
    assert await asked(store, names[-1], now=later) == ["new"]
    await visited(store, dict.fromkeys(names, NO_NAME), later)
    assert await asked(store, "one-more.com", f"api.{DOMAIN}", now=later) == ["client_unresolved"] * 2
    assert await asked(store, "one-more.com", client=OWNER, now=later) == ["new"]
    assert await asked(store, "there.com", now=NOW + 3 * HOUR) == ["queued"], "it was reached before"
    refused = await on(store, later).frontier.submit("and-more.com", client=STRANGER)
    assert refused.retry_at == NOW + REMEMBERED
    assert await asked(store, "and-more.com", now=NOW + DAY + MINUTE) == ["new"]


async def test_failed_look_ups_are_nobodys_fault(store: Store) -> None:
    """Otherwise an hour without DNS would shut out everybody who submitted something."""
    names = [f"slow-{number}.com" for number in range(MAX_UNRESOLVED + 1)]
    await asked(store, *names)
    await visited(store, dict.fromkeys(names, Page(failure=Outcome.UNREACHABLE, reason="dns_timeout")), NOW)
    assert await asked(store, "one-more.com") == ["new"]


async def test_only_the_client_that_caused_a_look_up_is_charged(store: Store) -> None:
    name = f"api.{DOMAIN}"
    await asked(store, name)
    assert await asked(store, name, client=OWNER) == ["queued"]
    await visited(store, {name: NO_NAME}, NOW + MINUTE)
    assert await asked(store, name, client=OWNER, now=NOW + 2 * HOUR) == ["queued"]
    await visited(store, {name: adp_site(name)}, NOW + 2 * HOUR)
    charged = await rows(store, "SELECT client, resolved FROM submissions ORDER BY asked_at")
    assert charged == [(STRANGER, False), (OWNER, True)]


async def test_who_submitted_is_erased_after_a_day(store: Store) -> None:
    await asked(store, "a.com", "b.com")
    await asked(store, "c.com", now=NOW + HOUR)
    assert await on(store, NOW + REMEMBERED - MINUTE).frontier.erase_clients() == 0
    assert await on(store, NOW + REMEMBERED).frontier.erase_clients() == 2
    await asked(store, "d.com", client=OWNER, now=NOW + HOUR + REMEMBERED)
    assert await rows(store, "SELECT DISTINCT client FROM submissions") == [(OWNER,)], "each submission erases too"


# --- per domain


async def test_strangers_cannot_keep_the_main_and_known_hosts_out(store: Store) -> None:
    api, docs = f"api.{DOMAIN}", f"docs.{DOMAIN}"
    await crawl(store, {api: adp_site(api), docs: {}})
    for number, name in enumerate(subs(MAX_WAITING)):
        assert await asked(store, name, client=f"198.51.100.{number}") == ["new"]
    later = NOW + 2 * HOUR
    assert await asked(store, f"more.{DOMAIN}", client=OWNER, now=later) == ["too_many"]
    known = await asked(store, DOMAIN, f"www.{DOMAIN}", docs, api, client=OWNER, now=later)
    assert known == ["new", "new", "queued", "queued"]
    places = "SELECT count(*) FROM hosts WHERE source = 'submission' AND last_visit_at IS NULL"
    assert await rows(store, places) == [(MAX_WAITING + 2,)], "none of the waiting ones was replaced"


async def test_no_client_can_fill_the_queue_of_a_domain(store: Store) -> None:
    """Day after day more are submitted than are visited. Whoever submits fewer takes the place of the last of them."""
    for day in range(10):
        await asked(store, *subs(MAX_PER_CLIENT, f"day{day}-"), now=NOW + day * DAY)
        await postpone(store, NOW + day * DAY)
    waiting = "SELECT count(*) FROM hosts WHERE last_visit_at IS NULL"
    assert await rows(store, waiting) == [(MAX_WAITING,)]
    own, later = f"own.{DOMAIN}", NOW + 10 * DAY
    assert await asked(store, own, client=OWNER, now=later) == ["new"]
    assert await rows(store, waiting) == [(MAX_WAITING,)]
    assert await rows(store, f"SELECT 1 FROM hosts WHERE host = '{own}'") == [(1,)]


async def test_the_first_host_of_each_submitter_is_visited_before_the_second_of_any(store: Store) -> None:
    strange, own = subs(MAX_PER_CLIENT, "a"), f"own.{DOMAIN}"
    await asked(store, *strange)
    await asked(store, own, client=OWNER, now=NOW + MINUTE)
    await postpone(store, NOW + MINUTE)
    await asked(store, *subs(MAX_PER_CLIENT, "b"), client="198.51.100.2", now=NOW + 2 * MINUTE)
    order = await postpone(store, NOW + 8 * HOUR)
    assert order[:3] == [strange[0], own, f"b0.{DOMAIN}"]


async def test_the_best_known_hosts_are_visited_first(store: Store) -> None:
    api, docs = f"api.{DOMAIN}", f"docs.{DOMAIN}"
    await crawl(store, {api: adp_site(api), docs: {}})
    strange = subs(STRANGE_HOSTS + 1, "a")
    for number, name in enumerate(strange):
        await asked(store, name, client=f"198.51.100.{number}", now=NOW)
    later = NOW + 200 * DAY
    async with store.begin() as uow:
        await uow.candidates.add([CandidateRecord(DOMAIN, f"0.{DOMAIN}", "x.com", "item", "https://x.com/", NOW)])
    await on(store).frontier.fold_candidates()
    await asked(store, DOMAIN, now=later)
    lease = await leased(store, now=later)
    mcp = f"mcp.{DOMAIN}"  # named by the site: it serves a document
    assert hosts_of(lease) == [api, DOMAIN, docs, mcp, *strange[:STRANGE_HOSTS]], (
        "the others are left to the next lease"
    )
    standings = [host.standing for host in lease.domains[0].hosts]
    assert standings == [Standing.KEPT] * 2 + [Standing.KNOWN] * 2 + [Standing.SUBMITTED] * STRANGE_HOSTS
    await record(store, lease.token, [finish(job, {}, later) for job in lease.domains], now=later)
    assert hosts_of(await take(store, now=later)) == [strange[-1], f"0.{DOMAIN}"]


async def test_a_host_that_only_redirects_was_reached_all_the_same(store: Store) -> None:
    """Its answers come from another host's address."""
    name = f"api.{DOMAIN}"
    await asked(store, name)
    lease = await leased(store)
    (visit,) = finish(lease.domains[0], {}).visits
    moved = FinishedDomain(DOMAIN, (replace(visit, address=None, alias_of=f"www.{DOMAIN}"),))
    await record(store, lease.token, [moved])
    async with store.begin() as uow:
        host = await uow.hosts.get(DOMAIN, name)
    assert host is not None and (host.address, host.standing) == (None, Standing.KNOWN)


async def test_a_postponed_host_is_not_queued_anew_by_submissions(store: Store) -> None:
    """Otherwise each submission would cost a lease of the domain and a row of the ledger."""
    name = f"api.{DOMAIN}"
    await asked(store, name)
    assert await postpone(store, NOW) == [name]
    again_submitted: Submission = await on(store, NOW + MINUTE).frontier.submit(name, client=OWNER)
    assert again_submitted.state == "queued"
    assert again_submitted.next_visit_at is not None and again_submitted.next_visit_at > NOW + 5 * HOUR
    assert await take(store, now=NOW + MINUTE) is None
    status = await status_of(store, name, NOW + MINUTE)
    assert status.state == "queued" and status.reasons[0].startswith(
        "Not visited: the little-known hosts of this domain"
    )
    assert await visited(store, {}, NOW + 8 * HOUR) == [name]


async def test_postponed_hosts_do_not_postpone_the_others(store: Store) -> None:
    await crawl(store, {DOMAIN: adp_site(DOMAIN)})
    await asked(store, *subs(3))
    await postpone(store, NOW)
    due = await rows(
        store, f"SELECT d.next_visit_at <= h.next_visit_at FROM domains d JOIN hosts h ON h.host = '{DOMAIN}'"
    )
    assert due == [(True,)]
    recorded = await again(store, {DOMAIN: adp_site(DOMAIN, name="New name")}, NOW + 2 * DAY)
    assert DOMAIN in recorded.hosts


# --- names in documents


async def test_neither_submissions_nor_other_sites_keep_a_site_from_naming_its_hosts(store: Store) -> None:
    for number, name in enumerate(subs(MAX_WAITING)):
        await asked(store, name, client=f"198.51.100.{number}")
    by_others = [CandidateRecord(DOMAIN, f"x{n}.{DOMAIN}", "x.com", "item", "https://x.com/", NOW) for n in range(15)]
    own = [
        CandidateRecord(DOMAIN, f"own{n}.{DOMAIN}", f"www.{DOMAIN}", "item", f"https://{DOMAIN}/", NOW + MINUTE)
        for n in range(15)
    ]
    apex = CandidateRecord(DOMAIN, DOMAIN, "x.com", "item", "https://x.com/", NOW + 2 * MINUTE)
    async with store.begin() as uow:
        await uow.candidates.add([*by_others, *own, apex])
    assert (await on(store).frontier.fold_candidates()).hosts == 2 * MAX_HOSTS_NAMED + 1


# --- what the ledger sums


async def test_only_what_was_sent_is_spent(store: Store) -> None:
    await crawl(store, {DOMAIN: {}})
    await asked(store, *subs(3))
    await visited(store, dict.fromkeys(subs(3), NO_NAME), NOW)
    sent = (await rows(store, "SELECT sum(sent) FROM visits"))[0][0]
    asked_for = (await rows(store, "SELECT sum(requests) FROM visits"))[0][0]
    async with store.begin() as uow:
        spent = (await uow.ledger.spent([DOMAIN], since=NOW - DAY))[DOMAIN]
    assert spent == {Standing.KEPT: Spent(sent, 0), Standing.SUBMITTED: Spent(0, 3)}
    assert asked_for == sent + 3


async def test_visits_recorded_by_earlier_programs_count_as_asked(store: Store) -> None:
    await on(store).frontier.seed([DOMAIN, f"api.{DOMAIN}"], source="test")
    await again(store, {f"api.{DOMAIN}": NO_NAME}, NOW)
    await execute(store, "UPDATE visits SET sent = NULL, standing = NULL")
    asked_for = (await rows(store, "SELECT sum(requests) FROM visits"))[0][0]
    async with store.begin() as uow:
        assert await uow.ledger.spent([DOMAIN], since=NOW - DAY) == {DOMAIN: {Standing.KEPT: Spent(asked_for, 0)}}
