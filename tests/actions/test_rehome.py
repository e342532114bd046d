"""A suffix that the list did not know: its tenants become strangers, and take with them all that is theirs."""

import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from registry.actions.answering import inspect
from registry.actions.frontier.due import release
from registry.actions.frontier.seed import seed
from registry.actions.keeping.rehome import rehome
from registry.actions.recording.record import record
from registry.core.domains import use_suffixes
from registry.core.services import to_json
from registry.core.suffixes import SHIPPED, SuffixList, parse_suffixes
from registry.store.records import CandidateRecord, HostRecord, OptOutRecord
from registry.store.rehoming import MOVED
from registry.store.tables import Base
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, HOUR, NOW, adp_site, again, crawl, domains_of, finish, take
from tests.support.database import rows

pytestmark = pytest.mark.slow  # everything of a host, through the database

SHOP, ALICE, BOB = "shops.com", "alice.shops.com", "bob.shops.com"
LATER = NOW + HOUR
KEYED = ("hosts", "documents", "document_history", "visits", "services", "capabilities", "findings", "scores")


@pytest.fixture
def newer() -> Iterator[SuffixList]:
    """A list with a private suffix that the shipped one does not have; not in force yet."""
    end = b"// ===END PRIVATE DOMAINS==="
    shipped = pkgutil.get_data("tldextract", ".tld_set_snapshot") or b""
    yield parse_suffixes(shipped.replace(end, SHOP.encode() + b"\n" + end))
    use_suffixes(SHIPPED)


@pytest.fixture
async def shops(store: Store) -> Store:
    await crawl(store, {host: adp_site(host, "sell_things") for host in (SHOP, ALICE, BOB)})
    return store


async def of_host(store: Store, host: str) -> dict[str, list[tuple[Any, ...]]]:
    """Everything stored of a host but its domain, by table."""
    found = {}
    for table in KEYED:
        async with store.engine.connect() as connection:
            result = await connection.execute(text(f"SELECT * FROM {table} WHERE host = :host"), {"host": host})
            found[table] = sorted(
                tuple(str(v) for k, v in row._mapping.items() if k not in ("domain", *_JUDGED)) for row in result
            )
    return found


_JUDGED = ("listing", "listing_hash", "updated_at")  # they name the domain, or when that changed


async def domains_in(store: Store, table: str, host: str) -> set[str]:
    return {domain for domain, of in await rows(store, f"SELECT domain, host FROM {table}") if of == host}


async def test_tenants_of_a_new_suffix_move_with_all_they_have(shops: Store, newer: SuffixList) -> None:
    before = {host: await of_host(shops, host) for host in (SHOP, ALICE, BOB)}
    bodies = {host: await _bodies(shops, SHOP, host) for host in (ALICE, BOB)}
    assert (await rehome(shops, now=LATER)).moved == []

    use_suffixes(newer)
    done = await rehome(shops, now=LATER)

    assert (done.hosts, done.moved, done.leased, done.failed) == (3, [ALICE, BOB], [], [])
    for host, home in ((SHOP, SHOP), (ALICE, ALICE), (BOB, BOB)):
        after = await of_host(shops, host)
        scores = after.pop("scores")
        assert len(scores) in (len(before[host]["scores"]), len(before[host]["scores"]) + 1)  # moving is a judgement
        before[host].pop("scores")
        assert after == before[host]
        for table in (*KEYED, "changes"):
            assert await domains_in(shops, table, host) in ({home}, set()), table
    for host, held in bodies.items():
        assert await _bodies(shops, host, host) == held
    again_done = await rehome(shops, now=LATER + HOUR)
    assert again_done.moved == []


async def _bodies(store: Store, domain: str, host: str) -> set[bytes]:
    found = await rows(
        store,
        "SELECT d.sha256 FROM documents d JOIN bodies b ON b.domain = d.domain AND b.sha256 = d.sha256"
        f" WHERE d.has_body AND d.domain = '{domain}' AND d.host = '{host}'",
    )
    assert found
    return {sha for (sha,) in found}


async def test_what_moved_is_found_judged_and_visited_under_its_own_name(shops: Store, newer: SuffixList) -> None:
    async with shops.begin() as uow:
        await uow.search.register("index", now=NOW)
        await uow.search.done("index", await uow.search.dirty("index", limit=100))
    before = await inspect.service(shops, ALICE)
    use_suffixes(newer)
    await rehome(shops, now=LATER)

    view = await inspect.service(shops, ALICE)
    assert view is not None and before is not None
    assert view.record.listing.domain == ALICE
    assert to_json(view.service) == to_json(before.service)
    assert (view.record.score, view.record.created_at) == (before.record.score, before.record.created_at)
    async with shops.begin() as uow:
        dirty = await uow.search.dirty("index", limit=100)
        assert {(one.domain, one.host) for one in dirty} == {(ALICE, ALICE), (BOB, BOB)}
        assert set(await uow.search.listings([(one.domain, one.host) for one in dirty])) == {ALICE, BOB}
    soon = LATER + 10 * DAY
    recorded = await again(shops, {host: adp_site(host, "sell_things") for host in (SHOP, ALICE, BOB)}, soon)
    assert sorted(recorded.hosts) == [ALICE, BOB, SHOP]
    assert recorded.failed == {}


async def test_an_index_that_was_to_be_told_is_told_the_right_thing(shops: Store, newer: SuffixList) -> None:
    """A note from before the move names the old domain, below which the drain would find nothing: and forget it."""
    async with shops.begin() as uow:
        await uow.search.register("index", now=NOW)  # notes all three
    use_suffixes(newer)
    await rehome(shops, now=LATER)
    async with shops.begin() as uow:
        dirty = await uow.search.dirty("index", limit=100)
        assert set(await uow.search.listings([(one.domain, one.host) for one in dirty])) == {SHOP, ALICE, BOB}


async def test_a_leased_domain_is_left_until_it_is_given_back(shops: Store, newer: SuffixList) -> None:
    soon = NOW + 10 * DAY
    lease = await take(shops, now=soon)
    assert lease is not None and domains_of(lease) == [SHOP]
    use_suffixes(newer)
    done = await rehome(shops, now=soon)
    assert (done.moved, done.leased) == ([], [ALICE, BOB])
    expired = await rehome(shops, now=soon + 2 * HOUR)
    assert expired.leased == [ALICE, BOB]  # its holder may still record
    await release(shops, lease.token, now=soon)
    assert (await rehome(shops, now=soon)).moved == [ALICE, BOB]


async def test_a_visit_that_was_leased_under_the_old_list_is_recorded(shops: Store, newer: SuffixList) -> None:
    use_suffixes(SHIPPED)
    soon = NOW + 10 * DAY
    lease = await take(shops, now=soon)
    assert lease is not None
    use_suffixes(newer)
    sites = {host: adp_site(host, "sell_things") for host in (SHOP, ALICE, BOB)}
    recorded = await record(shops, lease.token, [finish(job, sites, soon) for job in lease.domains], now=soon)
    assert (sorted(recorded.hosts), recorded.failed) == ([ALICE, BOB, SHOP], {})


async def test_a_host_that_is_there_twice_keeps_the_fresher_half(shops: Store, newer: SuffixList) -> None:
    """Somebody with the new list seeded it meanwhile; it was never visited under its new domain."""
    use_suffixes(newer)
    await seed(shops, [ALICE], source="test", now=LATER)
    assert await domains_in(shops, "hosts", ALICE) == {SHOP, ALICE}
    await rehome(shops, now=LATER)
    async with shops.begin() as uow:
        (host,) = await uow.hosts.of([ALICE])
        assert host.last_visit_at is not None
        assert await uow.hosts.get(SHOP, ALICE) is None


async def test_and_somebody_with_the_old_list_does_no_harm(shops: Store, newer: SuffixList) -> None:
    use_suffixes(newer)
    await rehome(shops, now=LATER)
    use_suffixes(SHIPPED)
    await seed(shops, [ALICE, f"new.{ALICE}"], source="test", now=LATER)
    use_suffixes(newer)
    done = await rehome(shops, now=LATER)
    assert done.moved == [ALICE, f"new.{ALICE}"]
    async with shops.begin() as uow:
        hosts = {one.host: one for one in await uow.hosts.of([ALICE])}
    assert set(hosts) == {ALICE, f"new.{ALICE}"}
    assert hosts[ALICE].last_visit_at is not None


async def test_a_suffix_that_is_taken_back_brings_its_tenants_home(shops: Store, newer: SuffixList) -> None:
    before = {host: await inspect.service(shops, host, include_details=True) for host in (ALICE, BOB)}
    use_suffixes(newer)
    await rehome(shops, now=LATER)
    use_suffixes(SHIPPED)
    assert (await rehome(shops, now=LATER + HOUR)).moved == [ALICE, BOB]
    for host in (ALICE, BOB):
        view, old = await inspect.service(shops, host, include_details=True), before[host]
        assert view is not None and old is not None
        assert to_json(view.service) == to_json(old.service)
        assert await domains_in(shops, "services", host) == {SHOP}
    async with shops.begin() as uow:
        assert await uow.domains.counts(LATER + 400 * DAY) == {"due": 1, "leased": 0, "waiting": 0, "never": 2}


@pytest.mark.parametrize(
    ("covered", "out"),
    [(SHOP, {ALICE, BOB, SHOP}), (ALICE, {ALICE}), (f"x.{ALICE}", set())],
)
async def test_who_was_left_alone_is_left_alone(shops: Store, newer: SuffixList, covered: str, out: set[str]) -> None:
    async with shops.begin() as uow:
        await uow.opt_outs.add([OptOutRecord(SHOP, covered, "robots", f"https://{covered}/robots.txt", NOW)])
        for host in out:
            await uow.hosts.never_again(SHOP, host)
            await uow.services.hide(SHOP, [host])
    use_suffixes(newer)
    await rehome(shops, now=LATER)
    report = await seed(shops, [SHOP, ALICE, BOB, f"x.{ALICE}"], source="test", now=LATER)
    refused = {one.name: one.code for one in report.refused}
    assert refused.pop(SHOP) == "public_suffix"
    assert set(refused.values()) == {"opted_out"}
    assert set(refused) >= {covered, *out} - {SHOP}
    for host in (SHOP, ALICE, BOB):
        assert (await inspect.service(shops, host) is None) == (host in out)


async def test_an_opt_out_outlives_its_hosts_in_its_new_domain(store: Store, newer: SuffixList) -> None:
    """There is no host to move, and still nobody may add it."""
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord(SHOP, ALICE, "robots", f"https://{ALICE}/robots.txt", NOW)])
    use_suffixes(newer)
    await rehome(store, now=LATER)
    report = await seed(store, [ALICE], source="test", now=LATER)
    assert [one.code for one in report.refused] == ["opted_out"]


def test_no_table_with_hosts_is_forgotten() -> None:
    """Opt-outs are copied, bodies go by what refers to them, the feed and the notes have keys of their own."""
    with_hosts = {table.name for table in Base.metadata.tables.values() if {"domain", "host"} <= set(table.c.keys())}
    assert with_hosts == {*MOVED, "opt_outs", "changes", "search_dirty"}
    for name, (key, _) in MOVED.items():
        assert [one.name for one in Base.metadata.tables[name].primary_key] == ["domain", "host", *key]


async def test_candidates_and_unvisited_hosts_move_too(store: Store, newer: SuffixList) -> None:
    async with store.begin() as uow:
        await uow.domains.add([SHOP], source="test", now=NOW, due=NOW)
        await uow.hosts.add([HostRecord(SHOP, ALICE, "test", NOW, NOW)])
        await uow.candidates.add([CandidateRecord(SHOP, ALICE, "x.com", "link", "https://x.com/", NOW)])
    use_suffixes(newer)
    assert (await rehome(store, now=LATER)).moved == [ALICE]
    assert await domains_in(store, "candidates", ALICE) == {ALICE}
    assert domains_of(await take(store, now=LATER)) == [ALICE]
