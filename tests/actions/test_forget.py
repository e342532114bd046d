"""A forgotten domain disappears from every response at once and from storage; an opted-out one never comes back."""

import shutil
from pathlib import Path

import pytest

from registry.actions.maintenance.opt_out import Declaration, Proof, Verdict, Wish
from registry.actions.queries.discover import SearchActions
from registry.core.model.listing import Filters, Query
from registry.core.names.domains import InvalidName
from registry.core.visiting.shares import Standing
from registry.search.embedded import EmbeddedBackend
from registry.store.records import CandidateRecord
from registry.store.unit_of_work import Store
from tests.support.builders import (
    DAY,
    HOUR,
    LEASE_FOR,
    NOW,
    Page,
    adp_site,
    again,
    changes_of,
    crawl,
    finish,
    hosts_of,
    leased,
    on,
    record,
    service_of,
    take,
)  # fmt: skip
from tests.support.database import execute, rows

pytestmark = pytest.mark.slow  # seconds of PostgreSQL and an index

HOST, API, OTHER = "pigeons.com", "api.pigeons.com", "doves.com"
SITES = {HOST: adp_site(HOST), API: adp_site(API, "track_parcel"), OTHER: adp_site(OTHER, "send_letter")}
KEPT = {
    "alembic_version",
    "opt_outs",
    "changes",
    "visits",
    "search_target",
    "search_dirty",
    "trust_causes",  # notes, like those of search: removed once the services that depend on the host were judged again
    "opt_out_requests",
    "audit",
}


async def shown_hosts(store: Store, backend: EmbeddedBackend) -> list[str]:
    """Return every host that any response still shows."""
    hosts = set()
    for text in ("pigeon post parcels letter", ""):
        page = await on(store, backend=backend).search.discover(Query(text, filters=Filters(include_unverified=True)))
        hosts |= {hit.card.host for hit in page.hits}
    listed = await on(store).queries.list_services(Filters(include_unverified=True))
    hosts |= {card.host for card in listed.items}
    for host in SITES:
        if await on(store).queries.service(host) or await on(store).queries.stored_capability(host, "create_parcel"):
            hosts.add(host)
    return sorted(hosts)


async def indexed_hosts(backend: EmbeddedBackend) -> list[str]:
    return sorted([host async for host, _ in backend.hashes()])


async def mention_counts(store: Store, host: str) -> dict[str, int]:
    """Return the number of rows of each table whose text contains the host."""
    names = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
    tables = await rows(store, f"{names} AND NOT relispartition")
    counts = {}
    for (table,) in tables:
        ((count,),) = await rows(store, f"SELECT count(*) FROM {table} t WHERE strpos(t::text, '{host}') > 0")
        if count:
            counts[table] = count
    return counts


async def test_a_forgotten_domain_is_in_no_response_whatever_the_index_holds(
    store: Store, search: SearchActions, backend: EmbeddedBackend, tmp_path: Path
) -> None:
    await crawl(store, SITES)
    await search.drain()
    await backend.commit()
    shutil.copytree(tmp_path / "index", tmp_path / "older")
    assert await shown_hosts(store, backend) == sorted(SITES)

    forgotten = await on(store).opt_outs.forget("Pigeons.com.", opt_out="operator", reason="asked by mail")

    assert (forgotten.domain, forgotten.host, forgotten.services, forgotten.stays_out) == (
        HOST,
        HOST,
        (API, HOST),
        True,
    )
    assert await indexed_hosts(backend) == sorted(SITES), "the index is stale, and yet"
    assert await shown_hosts(store, backend) == [OTHER]
    assert set(await mention_counts(store, HOST)) <= KEPT
    await search.drain()
    assert await indexed_hosts(backend) == [OTHER]
    await search.reindex()
    assert await shown_hosts(store, backend) == await indexed_hosts(backend) == [OTHER]

    await backend.close()
    shutil.rmtree(tmp_path / "index")
    shutil.copytree(tmp_path / "older", tmp_path / "index")
    restored = EmbeddedBackend(tmp_path / "index")
    assert await indexed_hosts(restored) == sorted(SITES), "an older index was put back"
    assert await shown_hosts(store, restored) == [OTHER]
    await restored.close()


async def test_nothing_brings_an_opted_out_domain_back(store: Store, backend: EmbeddedBackend) -> None:
    await crawl(store, SITES)
    await on(store).opt_outs.forget(HOST, opt_out="operator")
    report = await on(store).frontier.seed([HOST, "www." + API], source="test")
    assert report.hosts == 0
    assert (await on(store).frontier.submit(API)).state == "opted_out"
    async with store.begin() as uow:
        await uow.candidates.add([CandidateRecord(HOST, API, OTHER, "item", f"https://{OTHER}/", NOW)])
    assert (await on(store).frontier.fold_candidates()).refusals == {"opted_out": 1}
    assert await on(store).frontier.make_due([HOST, API]) == 0
    assert OTHER in (hosts := hosts_of(await take(store, now=NOW + 400 * DAY)))
    assert not [host for host in hosts if HOST in host]
    assert await rows(store, "SELECT host FROM hosts WHERE domain = 'pigeons.com'") == []


async def test_a_running_visit_restores_nothing_and_blocks_a_second_one(store: Store) -> None:
    for opt_out in (None, "operator"):
        await crawl(store, SITES, NOW - 30 * DAY) if opt_out is None else None
        await on(store).frontier.seed([HOST], source="test")
        await on(store).frontier.make_due([HOST])
        lease = await leased(store)
        await on(store).opt_outs.forget(HOST, opt_out="operator" if opt_out else None)
        assert (await on(store).frontier.submit(HOST)).state == ("opted_out" if opt_out else "new")
        assert HOST not in hosts_of(await take(store, now=NOW + LEASE_FOR / 2)), "the first visit is still going on"
        recorded = await record(store, lease.token, [finish(job, SITES) for job in lease.domains])
        assert HOST in recorded.lost
        assert await on(store).queries.service(HOST) is None
        assert await rows(store, f"SELECT count(*) FROM bodies WHERE domain = '{HOST}'") == [(0,)]
        if opt_out is None:
            assert HOST in hosts_of(await take(store, now=NOW + 2 * LEASE_FOR))
            await rows(store, f"SELECT 1 FROM domains WHERE domain = '{HOST}'")
            await on(store).opt_outs.forget(HOST)
            await execute(store, "UPDATE domains SET lease_token = NULL")


async def test_forgetting_a_host_includes_those_below_it_only(store: Store, backend: EmbeddedBackend) -> None:
    host_below = "v2." + API
    await crawl(
        store, {**SITES, host_below: adp_site(host_below), "notapi.pigeons.com": adp_site("notapi.pigeons.com")}
    )
    forgotten = await on(store).opt_outs.forget(API)
    assert (forgotten.services, forgotten.stays_out) == ((API, host_below), False)
    service_list = await on(store).queries.list_services(Filters())
    assert sorted(card.host for card in service_list.items) == [OTHER, "notapi.pigeons.com", HOST]
    assert (await on(store, NOW + HOUR).frontier.submit(API)).state == "new", "without an opt-out it may come back"
    view = await service_of(store, HOST, include_details=True)
    assert view.service.capabilities[0].detail, "its bodies are its own"
    recorded = await again(store, SITES, NOW + 2 * DAY)
    assert recorded.failed == {}


async def test_the_change_feed_reports_the_removal_without_old_data(store: Store) -> None:
    await crawl(store, SITES)
    await on(store).opt_outs.forget(HOST, opt_out="operator", reason="a court order")
    async with store.begin() as uow:
        changes = {change.kind: change for change in await uow.ledger.changes(HOST, HOST)}
    assert set(changes) == {"service.listed", "service.delisted", "host.blocked", "host.forgotten"}
    assert changes["service.listed"].data == {"redacted": True}
    removal = changes["host.forgotten"]
    assert (removal.data["note"], removal.data["state"], removal.data["stays_out"]) == (
        "a court order",
        "blocked",
        True,
    )
    assert removal.data["rows"]["documents"] >= 2
    visits_statement = "SELECT DISTINCT encode(vector, 'escape'), address FROM visits WHERE domain = 'pigeons.com'"
    assert await rows(store, visits_statement) == [("[]", None)]
    await on(store).opt_outs.forget(HOST)
    assert await rows(store, "SELECT how, evidence FROM opt_outs") == [("operator", "")]


async def test_the_daily_budget_survives_forgetting(store: Store) -> None:
    """Otherwise forgetting and submitting a host in turn would allow any number of requests to it."""
    await crawl(store, {HOST: {}})
    async with store.begin() as uow:
        before = await uow.ledger.spent([HOST], since=NOW - DAY)
    await on(store).opt_outs.forget(HOST)
    await on(store).frontier.submit(HOST)
    lease = await leased(store)
    assert lease.domains[0].spent == before[HOST]
    assert before[HOST][Standing.KEPT].requests > 10


async def test_forgetting_an_unknown_host_does_nothing_and_bad_names_are_errors(store: Store) -> None:
    forgotten = await on(store).opt_outs.forget("never-heard-of.com")
    assert forgotten.services == () and set(forgotten.rows.values()) == {0}
    with pytest.raises(InvalidName):
        await on(store).opt_outs.forget("https://pigeons.com/")


OWNER = "203.0.113.7"
FILE = Declaration("file", f"https://{HOST}/.well-known/waypost-optout.txt")
DNS = Declaration("dns", f"_waypost.{HOST}")
ROBOTS = Declaration("robots", f"https://{HOST}/robots.txt")


async def ask_and_settle(store: Store, host: str, wish: Wish, proof: Proof) -> Verdict:
    await on(store).opt_outs.request(host, wish, client=OWNER)
    (request,) = await on(store).opt_outs.claim(limit=10)
    verdict = await on(store).opt_outs.settle(request, proof)
    async with store.begin() as uow:
        stored_request = await uow.opt_out_requests.get(request.domain, host)
    assert stored_request is not None and stored_request.verdict == verdict
    return verdict


@pytest.mark.parametrize("declaration", [FILE, DNS])
async def test_a_site_with_a_proof_is_opted_out(store: Store, declaration: Declaration) -> None:
    await crawl(store, SITES)
    assert await ask_and_settle(store, "www." + HOST, "out", Proof((declaration,), ("elsewhere",))) == "opted_out"
    assert await on(store).queries.service(HOST) is None and await on(store).queries.service(API) is None
    assert await rows(store, "SELECT host, how, evidence FROM opt_outs") == [
        (HOST, declaration.how, declaration.evidence)
    ]
    assert set(await mention_counts(store, HOST)) <= KEPT


@pytest.mark.parametrize(
    ("proof", "verdict"), [(Proof(), "no_proof"), (Proof((ROBOTS,)), "no_proof"), (Proof((), ("x",)), "unanswered")]
)
async def test_a_site_without_a_proof_is_not_opted_out(store: Store, proof: Proof, verdict: str) -> None:
    await crawl(store, SITES)
    assert await ask_and_settle(store, HOST, "out", proof) == verdict
    assert await on(store).queries.service(HOST) is not None
    assert await rows(store, "SELECT * FROM opt_outs") == []


async def test_readmission_needs_all_proofs_to_be_gone(store: Store) -> None:
    robots = Page("User-agent: WaypostBot\nDisallow: /\n", media_type="text/plain")
    await crawl(store, SITES)
    await again(store, {**SITES, HOST: {"/robots.txt": robots}}, NOW + 10 * DAY)
    assert await on(store).queries.service(API) is None
    for proof, verdict in (
        (Proof((ROBOTS,)), "still_says_so"),
        (Proof((FILE,)), "still_says_so"),
        (Proof((), ("dns",)), "unanswered"),
    ):
        assert await ask_and_settle(store, HOST, "in", proof) == verdict
        await execute(store, "DELETE FROM opt_out_requests")
    assert await ask_and_settle(store, API, "in", Proof()) == "still_says_so", "the whole domain opted out, at its apex"
    assert await ask_and_settle(store, HOST, "in", Proof()) == "readmitted"
    assert await rows(store, "SELECT * FROM opt_outs") == []
    later = NOW + 10 * DAY + HOUR
    assert sorted(hosts_of(await take(store, now=later))) == [API, HOST]
    assert "host.readmitted" in await changes_of(store, HOST)


async def test_an_opt_out_by_an_operator_is_undone_by_an_operator_only(store: Store) -> None:
    await crawl(store, SITES)
    await on(store).opt_outs.forget(HOST, opt_out="operator")
    assert await ask_and_settle(store, HOST, "in", Proof()) == "by_operator"
    assert await on(store).opt_outs.readmit(HOST) == "readmitted"
    assert hosts_of(await take(store)) == [HOST]
    assert await on(store).opt_outs.readmit(HOST) == "not_opted_out"


async def test_repeated_requests_cause_one_check(store: Store) -> None:
    await crawl(store, SITES)
    for _ in range(50):
        await on(store).opt_outs.request(HOST, "out", client=OWNER)
    (request,) = await on(store).opt_outs.claim(limit=10)
    await on(store).opt_outs.settle(request, Proof())
    for minutes in range(0, 119, 7):
        reply = await on(store, NOW + minutes * HOUR / 60).opt_outs.request(HOST, "out", client=OWNER)
        assert reply.request is not None and reply.request.verdict == "no_proof"
    assert await on(store).opt_outs.claim(limit=10) == []
    await on(store, NOW + 2 * HOUR).opt_outs.request(HOST, "out", client=OWNER)
    assert len(await on(store).opt_outs.claim(limit=10)) == 1
    assert (await on(store).opt_outs.status(HOST)).opt_out is None


async def test_requests_for_many_hosts_of_a_domain_are_limited(store: Store) -> None:
    waiting = "SELECT count(*) FROM opt_out_requests WHERE checked_at IS NULL"
    for number in range(30):
        await on(store).opt_outs.request(f"h{number}.{HOST}", "out", client=OWNER)
    assert await rows(store, waiting) == [(3,)]
    assert (await on(store).opt_outs.request(f"h9.{HOST}", "out", client=OWNER)).request is None
    await on(store, NOW + 2 * DAY).opt_outs.request(f"h9.{HOST}", "out", client=OWNER)
    assert await rows(store, waiting) == [(4,)]
