"""A new public suffix: its tenants become domains of their own, and all their rows move with them."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from registry.core.model.services import to_json
from registry.core.names.domains import use_suffixes
from registry.core.names.suffixes import SHIPPED, SuffixList, parse_suffixes, shipped_body
from registry.store.records import CandidateRecord, HostRecord, OptOutRecord
from registry.store.rehoming import MOVED
from registry.store.tables import Base
from registry.store.unit_of_work import Store
from tests.support.builders import (
    DAY,
    HOUR,
    NOW,
    adp_site,
    again,
    crawl,
    domains_of,
    finish,
    leased,
    on,
    record,
    service_of,
    take,
)
from tests.support.database import rows

pytestmark = pytest.mark.slow  # everything of a host, through the database

SHOP, ALICE, BOB = "shops.com", "alice.shops.com", "bob.shops.com"
LATER = NOW + HOUR
KEYED = ("hosts", "documents", "document_history", "visits", "services", "capabilities", "findings", "scores")


@pytest.fixture
def newer_suffixes() -> Iterator[SuffixList]:
    """A list with a private suffix that the shipped one does not have; not in force yet."""
    end_marker = b"// ===END PRIVATE DOMAINS==="
    yield parse_suffixes(shipped_body().replace(end_marker, SHOP.encode() + b"\n" + end_marker))
    use_suffixes(SHIPPED)


@pytest.fixture
async def shops(store: Store) -> Store:
    await crawl(store, {host: adp_site(host, "sell_things") for host in (SHOP, ALICE, BOB)})
    return store


async def rows_of_host(store: Store, host: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return everything stored of a host except its domain, by table."""
    rows_by_table = {}
    for table in KEYED:
        async with store.engine.connect() as connection:
            result = await connection.execute(text(f"SELECT * FROM {table} WHERE host = :host"), {"host": host})
            rows_by_table[table] = sorted(
                tuple(str(v) for k, v in row._mapping.items() if k not in ("domain", *_JUDGED)) for row in result
            )
    return rows_by_table


_JUDGED = ("listing", "listing_hash", "updated_at")  # they name the domain, or when that changed


async def domains_in(store: Store, table: str, host: str) -> set[str]:
    return {domain for domain, row_host in await rows(store, f"SELECT domain, host FROM {table}") if row_host == host}


async def test_tenants_of_a_new_suffix_move_with_all_they_have(shops: Store, newer_suffixes: SuffixList) -> None:
    before = {host: await rows_of_host(shops, host) for host in (SHOP, ALICE, BOB)}
    bodies = {host: await _body_hashes(shops, SHOP, host) for host in (ALICE, BOB)}
    assert (await on(shops, LATER).maintenance.rehome()).moved == []

    use_suffixes(newer_suffixes)
    rehomed = await on(shops, LATER).maintenance.rehome()

    assert (rehomed.hosts, rehomed.moved, rehomed.leased, rehomed.failed) == (3, [ALICE, BOB], [], [])
    for host, domain in ((SHOP, SHOP), (ALICE, ALICE), (BOB, BOB)):
        after = await rows_of_host(shops, host)
        scores = after.pop("scores")
        assert len(scores) in (len(before[host]["scores"]), len(before[host]["scores"]) + 1)  # moving rescores
        before[host].pop("scores")
        assert after == before[host]
        for table in (*KEYED, "changes"):
            assert await domains_in(shops, table, host) in ({domain}, set()), table
    for host, hashes in bodies.items():
        assert await _body_hashes(shops, host, host) == hashes
    rehomed_again = await on(shops, LATER + HOUR).maintenance.rehome()
    assert rehomed_again.moved == []


async def _body_hashes(store: Store, domain: str, host: str) -> set[bytes]:
    body_rows = await rows(
        store,
        "SELECT d.sha256 FROM documents d JOIN bodies b ON b.domain = d.domain AND b.sha256 = d.sha256"
        f" WHERE d.has_body AND d.domain = '{domain}' AND d.host = '{host}'",
    )
    assert body_rows
    return {sha for (sha,) in body_rows}


async def test_moved_hosts_are_indexed_scored_and_visited_under_their_own_domain(
    shops: Store, newer_suffixes: SuffixList
) -> None:
    async with shops.begin() as uow:
        await uow.search.register("index", now=NOW)
        await uow.search.done("index", await uow.search.dirty("index", limit=100))
    before = await on(shops).queries.service(ALICE)
    use_suffixes(newer_suffixes)
    await on(shops, LATER).maintenance.rehome()

    view = await service_of(shops, ALICE)
    assert before is not None
    assert view.record.listing.domain == ALICE
    assert to_json(view.service) == to_json(before.service)
    assert (view.record.score, view.record.created_at) == (before.record.score, before.record.created_at)
    async with shops.begin() as uow:
        dirty = await uow.search.dirty("index", limit=100)
        assert {(note.domain, note.host) for note in dirty} == {(ALICE, ALICE), (BOB, BOB)}
        assert set(await uow.search.listings([(note.domain, note.host) for note in dirty])) == {ALICE, BOB}
    revisit_at = LATER + 10 * DAY
    recorded = await again(shops, {host: adp_site(host, "sell_things") for host in (SHOP, ALICE, BOB)}, revisit_at)
    assert sorted(recorded.hosts) == [ALICE, BOB, SHOP]
    assert recorded.failed == {}


async def test_pending_index_notes_are_moved_to_the_new_domain(shops: Store, newer_suffixes: SuffixList) -> None:
    """A note from before the move names the old domain, where the drain would find nothing and delete the document."""
    async with shops.begin() as uow:
        await uow.search.register("index", now=NOW)  # notes all three
    use_suffixes(newer_suffixes)
    await on(shops, LATER).maintenance.rehome()
    async with shops.begin() as uow:
        dirty = await uow.search.dirty("index", limit=100)
        assert set(await uow.search.listings([(note.domain, note.host) for note in dirty])) == {SHOP, ALICE, BOB}


async def test_a_leased_domain_is_moved_only_after_its_release(shops: Store, newer_suffixes: SuffixList) -> None:
    leased_at = NOW + 10 * DAY
    lease = await leased(shops, now=leased_at)
    assert domains_of(lease) == [SHOP]
    use_suffixes(newer_suffixes)
    rehomed = await on(shops, leased_at).maintenance.rehome()
    assert (rehomed.moved, rehomed.leased) == ([], [ALICE, BOB])
    after_expiry = await on(shops, leased_at + 2 * HOUR).maintenance.rehome()
    assert after_expiry.leased == [ALICE, BOB]  # its holder may still record
    await on(shops, leased_at).crawl.release(lease.token)
    assert (await on(shops, leased_at).maintenance.rehome()).moved == [ALICE, BOB]


async def test_a_visit_that_was_leased_under_the_old_list_is_recorded(shops: Store, newer_suffixes: SuffixList) -> None:
    use_suffixes(SHIPPED)
    leased_at = NOW + 10 * DAY
    lease = await leased(shops, now=leased_at)
    use_suffixes(newer_suffixes)
    sites = {host: adp_site(host, "sell_things") for host in (SHOP, ALICE, BOB)}
    recorded = await record(shops, lease.token, [finish(job, sites, leased_at) for job in lease.domains], now=leased_at)
    assert (sorted(recorded.hosts), recorded.failed) == ([ALICE, BOB, SHOP], {})


async def test_a_host_stored_under_both_domains_keeps_the_visited_rows(
    shops: Store, newer_suffixes: SuffixList
) -> None:
    """A process with the new list seeded it meanwhile; it was never visited under its new domain."""
    use_suffixes(newer_suffixes)
    await on(shops, LATER).frontier.seed([ALICE], source="test")
    assert await domains_in(shops, "hosts", ALICE) == {SHOP, ALICE}
    await on(shops, LATER).maintenance.rehome()
    async with shops.begin() as uow:
        (host,) = await uow.hosts.of([ALICE])
        assert host.last_visit_at is not None
        assert await uow.hosts.get(SHOP, ALICE) is None


async def test_hosts_seeded_with_the_old_list_are_moved_again(shops: Store, newer_suffixes: SuffixList) -> None:
    use_suffixes(newer_suffixes)
    await on(shops, LATER).maintenance.rehome()
    use_suffixes(SHIPPED)
    await on(shops, LATER).frontier.seed([ALICE, f"new.{ALICE}"], source="test")
    use_suffixes(newer_suffixes)
    rehomed = await on(shops, LATER).maintenance.rehome()
    assert rehomed.moved == [ALICE, f"new.{ALICE}"]
    async with shops.begin() as uow:
        hosts = {host_record.host: host_record for host_record in await uow.hosts.of([ALICE])}
    assert set(hosts) == {ALICE, f"new.{ALICE}"}
    assert hosts[ALICE].last_visit_at is not None


async def test_a_removed_suffix_moves_its_tenants_back(shops: Store, newer_suffixes: SuffixList) -> None:
    before = {host: await on(shops).queries.service(host, include_details=True) for host in (ALICE, BOB)}
    use_suffixes(newer_suffixes)
    await on(shops, LATER).maintenance.rehome()
    use_suffixes(SHIPPED)
    assert (await on(shops, LATER + HOUR).maintenance.rehome()).moved == [ALICE, BOB]
    for host in (ALICE, BOB):
        view, old_view = await on(shops).queries.service(host, include_details=True), before[host]
        assert view is not None and old_view is not None
        assert to_json(view.service) == to_json(old_view.service)
        assert await domains_in(shops, "services", host) == {SHOP}
    async with shops.begin() as uow:
        assert await uow.domains.counts(LATER + 400 * DAY) == {"due": 1, "leased": 0, "waiting": 0, "never": 2}


@pytest.mark.parametrize(
    ("opted_out", "hidden_hosts"),
    [(SHOP, {ALICE, BOB, SHOP}), (ALICE, {ALICE}), (f"x.{ALICE}", set())],
)
async def test_opt_outs_hold_after_the_move(
    shops: Store, newer_suffixes: SuffixList, opted_out: str, hidden_hosts: set[str]
) -> None:
    async with shops.begin() as uow:
        await uow.opt_outs.add([OptOutRecord(SHOP, opted_out, "robots", f"https://{opted_out}/robots.txt", NOW)])
        for host in hidden_hosts:
            await uow.hosts.unschedule(SHOP, host)
            await uow.services.hide(SHOP, [host])
    use_suffixes(newer_suffixes)
    await on(shops, LATER).maintenance.rehome()
    report = await on(shops, LATER).frontier.seed([SHOP, ALICE, BOB, f"x.{ALICE}"], source="test")
    refused = {refusal.name: refusal.code for refusal in report.refused}
    assert refused.pop(SHOP) == "public_suffix"
    assert set(refused.values()) == {"opted_out"}
    assert set(refused) >= {opted_out, *hidden_hosts} - {SHOP}
    for host in (SHOP, ALICE, BOB):
        assert (await on(shops).queries.service(host) is None) == (host in hidden_hosts)


async def test_an_opt_out_without_hosts_holds_in_the_new_domain(store: Store, newer_suffixes: SuffixList) -> None:
    """There is no host to move, and still it must not be added."""
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord(SHOP, ALICE, "robots", f"https://{ALICE}/robots.txt", NOW)])
    use_suffixes(newer_suffixes)
    await on(store, LATER).maintenance.rehome()
    report = await on(store, LATER).frontier.seed([ALICE], source="test")
    assert [refusal.code for refusal in report.refused] == ["opted_out"]


@pytest.mark.parametrize(("held", "hidden_hosts"), [(SHOP, {ALICE, BOB, SHOP}), (ALICE, {ALICE})])
async def test_holds_stay_after_the_move(
    shops: Store, newer_suffixes: SuffixList, held: str, hidden_hosts: set[str]
) -> None:
    await on(shops).access.hold(held, "blocked", actor="operator:cli", reason="spam")
    use_suffixes(newer_suffixes)
    await on(shops, LATER).maintenance.rehome()
    report = await on(shops, LATER).frontier.seed([ALICE, BOB], source="test")
    assert {refusal.name for refusal in report.refused} == hidden_hosts - {SHOP}
    for host in (ALICE, BOB):
        assert (await on(shops).queries.service(host) is None) == (host in hidden_hosts)


def test_every_table_with_hosts_is_moved() -> None:
    """Opt-outs and holds are copied, bodies move with what refers to them, change feed and notes have their own keys,
    the audit log keeps what was, and checks of sites are gone after a day."""
    with_hosts = {table.name for table in Base.metadata.tables.values() if {"domain", "host"} <= set(table.c.keys())}
    counted = "webhook_challenges"  # of a day
    assert with_hosts == {
        *MOVED,
        "opt_outs",
        "listing_holds",
        "changes",
        "search_dirty",
        "audit",
        "site_checks",
        counted,
    }
    for name, (key, _) in MOVED.items():
        assert [column.name for column in Base.metadata.tables[name].primary_key] == ["domain", "host", *key]


async def test_candidates_and_unvisited_hosts_move_too(store: Store, newer_suffixes: SuffixList) -> None:
    async with store.begin() as uow:
        await uow.domains.add([SHOP], source="test", now=NOW, due=NOW)
        await uow.hosts.add([HostRecord(SHOP, ALICE, "test", NOW, NOW)])
        await uow.candidates.add([CandidateRecord(SHOP, ALICE, "x.com", "link", "https://x.com/", NOW)])
    use_suffixes(newer_suffixes)
    assert (await on(store, LATER).maintenance.rehome()).moved == [ALICE]
    assert await domains_in(store, "candidates", ALICE) == {ALICE}
    assert domains_of(await take(store, now=LATER)) == [ALICE]
