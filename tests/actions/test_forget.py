"""A forgotten domain disappears from every response at once and from storage; an opted-out one never comes back."""

import shutil
from pathlib import Path

import pytest

from registry.actions.frontier.seed import fold_candidates, make_due, seed
from registry.actions.frontier.submit import submit
from registry.actions.indexing import drain, reindex
from registry.actions.maintenance.forget import forget
from registry.actions.maintenance.opt_out import (
    Declaration,
    Proof,
    Verdict,
    Wish,
    ask,
    claim,
    readmit,
    settle,
    status,
)
from registry.actions.queries import inspect
from registry.actions.queries.discover import discover
from registry.actions.recording.record import record
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
    take,
)  # fmt: skip
from tests.support.database import rows

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
        page = await discover(store, backend, Query(text, filters=Filters(include_unverified=True)))
        hosts |= {hit.card.host for hit in page.hits}
    listed = await inspect.list_services(store, Filters(include_unverified=True))
    hosts |= {card.host for card in listed.items}
    for host in SITES:
        if await inspect.service(store, host) or await inspect.capability(store, host, "create_parcel"):
            hosts.add(host)
    return sorted(hosts)


async def indexed_hosts(backend: EmbeddedBackend) -> list[str]:
    return sorted([host async for host, _ in backend.hashes()])


async def mention_counts(store: Store, host: str) -> dict[str, int]:
    """Return the number of rows of each table whose text contains the host."""
    tables = await rows(store, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    counts = {}
    for (table,) in tables:
        ((count,),) = await rows(store, f"SELECT count(*) FROM {table} t WHERE strpos(t::text, '{host}') > 0")
        if count:
            counts[table] = count
    return counts


async def test_a_forgotten_domain_is_in_no_response_whatever_the_index_holds(
    store: Store, backend: EmbeddedBackend, tmp_path: Path
) -> None:
    await crawl(store, SITES)
    await drain(store, backend, now=NOW)
    await backend.commit()
    shutil.copytree(tmp_path / "index", tmp_path / "older")
    assert await shown_hosts(store, backend) == sorted(SITES)

    forgotten = await forget(store, "Pigeons.com.", now=NOW, opt_out="operator", reason="asked by mail")

    assert (forgotten.domain, forgotten.host, forgotten.services, forgotten.stays_out) == (
        HOST,
        HOST,
        (API, HOST),
        True,
    )
    assert await indexed_hosts(backend) == sorted(SITES), "the index is stale, and yet"
    assert await shown_hosts(store, backend) == [OTHER]
    assert set(await mention_counts(store, HOST)) <= KEPT
    await drain(store, backend, now=NOW)
    assert await indexed_hosts(backend) == [OTHER]
    await reindex(store, backend, now=NOW)
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
    await forget(store, HOST, now=NOW, opt_out="operator")
    report = await seed(store, [HOST, "www." + API], source="test", now=NOW)
    assert report.hosts == 0
    assert (await submit(store, API, now=NOW)).state == "opted_out"
    async with store.begin() as uow:
        await uow.candidates.add([CandidateRecord(HOST, API, OTHER, "item", f"https://{OTHER}/", NOW)])
    assert (await fold_candidates(store, now=NOW)).refusals == {"opted_out": 1}
    assert await make_due(store, [HOST, API], now=NOW) == 0
    assert OTHER in (hosts := hosts_of(await take(store, now=NOW + 400 * DAY)))
    assert not [host for host in hosts if HOST in host]
    assert await rows(store, "SELECT host FROM hosts WHERE domain = 'pigeons.com'") == []


async def test_a_running_visit_restores_nothing_and_blocks_a_second_one(store: Store) -> None:
    for opt_out in (None, "operator"):
        await crawl(store, SITES, NOW - 30 * DAY) if opt_out is None else None
        await seed(store, [HOST], source="test", now=NOW)
        await make_due(store, [HOST], now=NOW)
        lease = await take(store, now=NOW)
        assert lease is not None
        await forget(store, HOST, now=NOW, opt_out="operator" if opt_out else None)
        assert (await submit(store, HOST, now=NOW)).state == ("opted_out" if opt_out else "new")
        assert HOST not in hosts_of(await take(store, now=NOW + LEASE_FOR / 2)), "the first visit is still going on"
        recorded = await record(store, lease.token, [finish(job, SITES) for job in lease.domains], now=NOW)
        assert HOST in recorded.lost
        assert await inspect.service(store, HOST) is None
        assert await rows(store, f"SELECT count(*) FROM bodies WHERE domain = '{HOST}'") == [(0,)]
        if opt_out is None:
            assert HOST in hosts_of(await take(store, now=NOW + 2 * LEASE_FOR))
            await rows(store, f"SELECT 1 FROM domains WHERE domain = '{HOST}'")
            await forget(store, HOST, now=NOW)
            async with store.engine.begin() as connection:
                await connection.exec_driver_sql("UPDATE domains SET lease_token = NULL")


async def test_forgetting_a_host_includes_those_below_it_only(store: Store, backend: EmbeddedBackend) -> None:
    host_below = "v2." + API
    await crawl(
        store, {**SITES, host_below: adp_site(host_below), "notapi.pigeons.com": adp_site("notapi.pigeons.com")}
    )
    forgotten = await forget(store, API, now=NOW)
    assert (forgotten.services, forgotten.stays_out) == ((API, host_below), False)
    service_list = await inspect.list_services(store, Filters())
    assert sorted(card.host for card in service_list.items) == [OTHER, "notapi.pigeons.com", HOST]
    assert (await submit(store, API, now=NOW + HOUR)).state == "new", "without an opt-out it may come back"
    view = await inspect.service(store, HOST, include_details=True)
    assert view is not None and view.service.capabilities[0].detail, "its bodies are its own"
    recorded = await again(store, SITES, NOW + 2 * DAY)
    assert recorded.failed == {}


async def test_the_change_feed_reports_the_removal_without_old_data(store: Store) -> None:
    await crawl(store, SITES)
    await forget(store, HOST, now=NOW, opt_out="operator", reason="a court order")
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
    await forget(store, HOST, now=NOW)
    assert await rows(store, "SELECT how, evidence FROM opt_outs") == [("operator", "")]


async def test_the_daily_budget_survives_forgetting(store: Store) -> None:
    """Otherwise forgetting and submitting a host in turn would allow any number of requests to it."""
    await crawl(store, {HOST: {}})
    async with store.begin() as uow:
        before = await uow.ledger.spent([HOST], since=NOW - DAY)
    await forget(store, HOST, now=NOW)
    await submit(store, HOST, now=NOW)
    lease = await take(store, now=NOW)
    assert lease is not None and lease.domains[0].spent == before[HOST]
    assert before[HOST][Standing.KEPT].requests > 10


async def test_forgetting_an_unknown_host_does_nothing_and_bad_names_are_errors(store: Store) -> None:
    forgotten = await forget(store, "never-heard-of.com", now=NOW)
    assert forgotten.services == () and set(forgotten.rows.values()) == {0}
    with pytest.raises(InvalidName):
        await forget(store, "https://pigeons.com/", now=NOW)


OWNER = "203.0.113.7"
FILE = Declaration("file", f"https://{HOST}/.well-known/waypost-optout.txt")
DNS = Declaration("dns", f"_waypost.{HOST}")
ROBOTS = Declaration("robots", f"https://{HOST}/robots.txt")


async def ask_and_settle(store: Store, host: str, wish: Wish, proof: Proof) -> Verdict:
    await ask(store, host, wish, client=OWNER, now=NOW)
    (request,) = await claim(store, limit=10, now=NOW)
    verdict = await settle(store, request, proof, now=NOW)
    async with store.begin() as uow:
        stored_request = await uow.opt_out_requests.get(request.domain, host)
    assert stored_request is not None and stored_request.verdict == verdict
    return verdict


@pytest.mark.parametrize("declaration", [FILE, DNS])
async def test_a_site_with_a_proof_is_opted_out(store: Store, declaration: Declaration) -> None:
    await crawl(store, SITES)
    assert await ask_and_settle(store, "www." + HOST, "out", Proof((declaration,), ("elsewhere",))) == "opted_out"
    assert await inspect.service(store, HOST) is None and await inspect.service(store, API) is None
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
    assert await inspect.service(store, HOST) is not None
    assert await rows(store, "SELECT * FROM opt_outs") == []


async def test_readmission_needs_all_proofs_to_be_gone(store: Store) -> None:
    robots = Page("User-agent: WaypostBot\nDisallow: /\n", media_type="text/plain")
    await crawl(store, SITES)
    await again(store, {**SITES, HOST: {"/robots.txt": robots}}, NOW + 10 * DAY)
    assert await inspect.service(store, API) is None
    for proof, verdict in (
        (Proof((ROBOTS,)), "still_says_so"),
        (Proof((FILE,)), "still_says_so"),
        (Proof((), ("dns",)), "unanswered"),
    ):
        assert await ask_and_settle(store, HOST, "in", proof) == verdict
        async with store.engine.begin() as connection:
            await connection.exec_driver_sql("DELETE FROM opt_out_requests")
    assert await ask_and_settle(store, API, "in", Proof()) == "still_says_so", "the whole domain opted out, at its apex"
    assert await ask_and_settle(store, HOST, "in", Proof()) == "readmitted"
    assert await rows(store, "SELECT * FROM opt_outs") == []
    later = NOW + 10 * DAY + HOUR
    assert sorted(hosts_of(await take(store, now=later))) == [API, HOST]
    assert "host.readmitted" in await changes_of(store, HOST)


async def test_an_opt_out_by_an_operator_is_undone_by_an_operator_only(store: Store) -> None:
    await crawl(store, SITES)
    await forget(store, HOST, now=NOW, opt_out="operator")
    assert await ask_and_settle(store, HOST, "in", Proof()) == "by_operator"
    assert await readmit(store, HOST, now=NOW) == "readmitted"
    assert hosts_of(await take(store, now=NOW)) == [HOST]
    assert await readmit(store, HOST, now=NOW) == "not_opted_out"


async def test_repeated_requests_cause_one_check(store: Store) -> None:
    await crawl(store, SITES)
    for _ in range(50):
        await ask(store, HOST, "out", client=OWNER, now=NOW)
    (request,) = await claim(store, limit=10, now=NOW)
    await settle(store, request, Proof(), now=NOW)
    for minutes in range(0, 119, 7):
        reply = await ask(store, HOST, "out", client=OWNER, now=NOW + minutes * HOUR / 60)
        assert reply.request is not None and reply.request.verdict == "no_proof"
    assert await claim(store, limit=10, now=NOW) == []
    await ask(store, HOST, "out", client=OWNER, now=NOW + 2 * HOUR)
    assert len(await claim(store, limit=10, now=NOW)) == 1
    assert (await status(store, HOST)).opt_out is None


async def test_requests_for_many_hosts_of_a_domain_are_limited(store: Store) -> None:
    waiting = "SELECT count(*) FROM opt_out_requests WHERE checked_at IS NULL"
    for number in range(30):
        await ask(store, f"h{number}.{HOST}", "out", client=OWNER, now=NOW)
    assert await rows(store, waiting) == [(3,)]
    assert (await ask(store, f"h9.{HOST}", "out", client=OWNER, now=NOW)).request is None
    await ask(store, f"h9.{HOST}", "out", client=OWNER, now=NOW + 2 * DAY)
    assert await rows(store, waiting) == [(4,)]
