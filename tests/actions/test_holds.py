"""Blocks, quarantines and hidden services: every writer obeys them, they keep what is stored, and they end."""

import pytest

from registry.core.access.audit import OPERATOR
from registry.core.access.holds import HOLD_KINDS, HoldKind
from registry.core.model.listing import Filters
from registry.core.names.domains import InvalidName
from registry.store.records import CandidateRecord
from registry.store.unit_of_work import Store
from tests.support.builders import (
    DAY,
    HOUR,
    NOW,
    adp_site,
    again,
    changes_of,
    crawl,
    finish,
    hosts_of,
    leased,
    on,
    record,
    status_of,
    take,
)  # fmt: skip
from tests.support.database import rows

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

HOST, API, OTHER = "pigeons.com", "api.pigeons.com", "doves.com"
SITES = {HOST: adp_site(HOST), API: adp_site(API, "track_parcel"), OTHER: adp_site(OTHER, "send_letter")}
LATER = NOW + 2 * DAY


async def listed(store: Store) -> list[str]:
    found = await on(store).queries.list_services(Filters(include_unverified=True))
    return sorted(card.host for card in found.items)


async def set_hold(store: Store, host: str, kind: HoldKind, *, below: bool = True) -> tuple[str, ...]:
    held = await on(store).access.hold(host, kind, actor=OPERATOR, reason="spam", covers_below=below)
    return held.services


async def end_hold(store: Store, host: str, kind: HoldKind) -> tuple[str, ...]:
    held = await on(store, LATER).access.release(host, kind, actor=OPERATOR, reason="it was a mistake")
    return held.services


@pytest.mark.parametrize("kind", HOLD_KINDS)
async def test_a_held_host_is_not_listed_and_shown_again_afterwards(store: Store, kind: HoldKind) -> None:
    await crawl(store, SITES)
    assert await set_hold(store, HOST, kind) == (API, HOST)
    assert await listed(store) == [OTHER]
    assert await on(store).queries.service(API) is None
    assert (await rows(store, "SELECT count(*) FROM documents WHERE host = 'api.pigeons.com'"))[0][0] > 0
    assert await end_hold(store, HOST, kind) == (API, HOST)
    assert await listed(store) == sorted(SITES)
    assert (await changes_of(store, API))[-2:] == ["service.hidden", "service.listed"]


@pytest.mark.parametrize("kind", HOLD_KINDS)
async def test_nothing_shows_a_held_host(store: Store, kind: HoldKind) -> None:
    await crawl(store, SITES)
    await set_hold(store, HOST, kind)
    await on(store, LATER).frontier.seed(SITES, source="again")
    await on(store, LATER).frontier.submit(API)
    await on(store, LATER).frontier.make_due(SITES)
    await again(store, {**SITES, API: adp_site(API, "quite_another")}, LATER)
    await on(store, LATER + HOUR).maintenance.rescore()
    assert await listed(store) == [OTHER]
    kinds = await changes_of(store, API)
    assert kinds[kinds.index("service.hidden") :] == ["service.hidden"]


@pytest.mark.parametrize("kind", HOLD_KINDS)
async def test_a_new_host_below_a_held_one_is_never_listed(store: Store, kind: HoldKind) -> None:
    await crawl(store, {OTHER: SITES[OTHER]})
    await set_hold(store, HOST, kind)
    await crawl(store, {**SITES, "doves.org": adp_site("doves.org")}, LATER)
    assert await listed(store) == [OTHER, "doves.org"]
    assert await changes_of(store, API) == []


async def test_a_hold_of_one_host_leaves_those_below_it(store: Store) -> None:
    await crawl(store, SITES)
    assert await set_hold(store, HOST, "hidden", below=False) == (HOST,)
    assert await listed(store) == [API, OTHER]
    assert not await redacted(store, API)


async def test_a_blocked_host_is_not_visited_and_quarantine_goes_on_visiting(store: Store) -> None:
    await crawl(store, SITES)
    await set_hold(store, API, "blocked")
    await set_hold(store, OTHER, "quarantined")
    hosts = hosts_of(await take(store, now=NOW + 400 * DAY))
    assert sorted(hosts) == [OTHER, HOST]


async def test_a_block_that_another_writer_overlooked_stops_the_lease(store: Store) -> None:
    await crawl(store, SITES)
    await set_hold(store, API, "blocked")
    async with store.begin() as uow:
        await uow.hosts.make_due([(HOST, API)], due=NOW)
        await uow.domains.due_by([HOST], due=NOW, now=NOW)
    lease = await take(store, now=LATER + 400 * DAY)
    assert API not in hosts_of(lease)
    assert lease is not None
    assert {closed for job in lease.domains for host in job.hosts for closed in host.closed} == {API}


async def test_nobody_brings_a_blocked_host_into_the_queue(store: Store) -> None:
    await set_hold(store, HOST, "blocked")
    report = await on(store).frontier.seed([HOST, API, OTHER], source="test")
    assert (report.hosts, report.refusals) == (1, {"blocked": 2})
    assert (await on(store).frontier.submit(API)).state == "blocked"
    async with store.begin() as uow:
        await uow.candidates.add([CandidateRecord(HOST, API, OTHER, "item", f"https://{OTHER}/", NOW)])
    assert (await on(store).frontier.fold_candidates()).refusals == {"blocked": 1}
    assert await on(store).frontier.make_due([HOST, API]) == 0
    assert await rows(store, "SELECT host FROM hosts") == [(OTHER,)]


async def test_the_result_of_a_running_visit_of_a_blocked_host_is_dropped(store: Store) -> None:
    await on(store).frontier.seed(SITES, source="test")
    lease = await leased(store)
    await set_hold(store, HOST, "blocked")
    recorded = await record(store, lease.token, [finish(job, SITES) for job in lease.domains])
    assert recorded.lost == [HOST]
    assert await listed(store) == [OTHER]


async def test_an_unblocked_host_is_visited_next(store: Store) -> None:
    await crawl(store, SITES)
    await set_hold(store, HOST, "blocked")
    await end_hold(store, HOST, "blocked")
    assert {API, HOST} <= set(hosts_of(await take(store, now=NOW + HOUR)))


@pytest.mark.parametrize(("first", "second"), [("blocked", "hidden"), ("quarantined", "blocked")])
async def test_a_host_is_shown_only_when_the_last_hold_has_ended(
    store: Store, first: HoldKind, second: HoldKind
) -> None:
    await crawl(store, SITES)
    await set_hold(store, HOST, first)
    assert await set_hold(store, API, second) == ()
    assert await end_hold(store, HOST, first) == (HOST,)
    assert await listed(store) == [OTHER, HOST]
    assert await end_hold(store, API, second) == (API,)


async def test_an_opt_out_stays_when_a_hold_ends(store: Store) -> None:
    await crawl(store, SITES)
    await set_hold(store, HOST, "blocked")
    await on(store).opt_outs.forget(HOST, opt_out="file")
    await end_hold(store, HOST, "blocked")
    assert (await on(store, LATER).frontier.submit(HOST)).state == "opted_out"


async def test_a_forgotten_host_stays_blocked_and_loses_what_its_owner_set(store: Store) -> None:
    await crawl(store, SITES)
    await set_hold(store, HOST, "blocked")
    await set_hold(store, HOST, "hidden")
    forgotten = await on(store).opt_outs.forget(HOST)
    assert forgotten.stays_out
    assert await rows(store, "SELECT kind FROM listing_holds") == [("blocked",)]


async def redacted(store: Store, host: str) -> bool:
    query = f"SELECT data ? 'redacted', data ? 'name' FROM changes WHERE host = '{host}' AND kind = 'service.listed'"
    return await rows(store, query) == [(True, False)]


@pytest.mark.parametrize(
    ("kind", "states"),
    [
        ("blocked", [("host.blocked", "blocked"), ("service.hidden", "blocked")]),
        ("quarantined", [("service.hidden", "blocked")]),
        ("hidden", [("service.hidden", "opted_out")]),
    ],
)
async def test_the_feed_tells_a_tombstone_and_nothing_of_the_service(
    store: Store, kind: HoldKind, states: list[tuple[str, str]]
) -> None:
    await crawl(store, SITES)
    await set_hold(store, HOST, kind)
    assert await redacted(store, HOST)
    assert await redacted(store, API)
    assert not await redacted(store, OTHER)
    events = await rows(store, f"SELECT kind, data->>'state' FROM changes WHERE host = '{HOST}' ORDER BY arrival, id")
    assert sorted((str(kind), str(state)) for kind, state in events[1:]) == states


@pytest.mark.parametrize(("kind", "told"), [("blocked", "blocked"), ("quarantined", "absent"), ("hidden", "absent")])
async def test_mirrors_are_told(store: Store, kind: HoldKind, told: str) -> None:
    await crawl(store, SITES)
    await set_hold(store, HOST, kind)
    records = await on(store).dumps.records([API])
    assert f'"kind":"{told}"'.encode() in records.records[0]


async def test_rows_that_were_restored_as_shown_stay_out_of_the_feed_and_of_records(store: Store) -> None:
    """The state after a backup was restored and a hold was set again behind its back: no reader trusts the flag."""
    await crawl(store, SITES)
    await set_hold(store, HOST, "quarantined")
    async with store.begin() as uow:
        await uow.services.show(HOST, [HOST, API])
    records = await on(store).dumps.records([API])
    assert b'"kind":"absent"' in records.records[0]


async def test_every_change_is_in_the_audit_log_once(store: Store) -> None:
    await crawl(store, SITES)
    for _ in range(2):
        await set_hold(store, HOST, "blocked")
    for _ in range(2):
        await end_hold(store, HOST, "blocked")
    async with store.begin() as uow:
        entries = await uow.audit.latest(limit=10, host=HOST)
    assert [(entry.actor, entry.action, entry.reason) for entry in entries] == [
        (OPERATOR, "host.unblocked", "it was a mistake"),
        (OPERATOR, "host.blocked", "spam"),
    ]
    assert entries[1].detail == {"covers_below": True, "services": 2}


async def test_status_says_why_a_host_is_not_listed(store: Store) -> None:
    await crawl(store, SITES)
    await set_hold(store, HOST, "blocked")
    await set_hold(store, OTHER, "hidden")
    blocked, hidden = await status_of(store, HOST, LATER), await status_of(store, OTHER, LATER)
    assert (blocked.state, hidden.state) == ("blocked", "not_listed")
    assert blocked.reasons[0].startswith("An operator of this registry blocked it")
    assert hidden.reasons[0].startswith("Its owner hides it")


async def test_names_that_cannot_be_hosts_are_refused(store: Store) -> None:
    with pytest.raises(InvalidName):
        await set_hold(store, "not a host", "blocked")
    with pytest.raises(InvalidName):
        await set_hold(store, "co.uk", "blocked")
    assert await rows(store, "SELECT 1 FROM listing_holds") == []
