"""Recording visits: found services are listed, lost ones delisted when certain, and one bad domain harms no other.

Longer than other modules because one action decides all of it, and each rule needs the visits that lead to it.
"""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from registry.actions.queries.inspect import capability_view
from registry.core.model.documents import Outcome
from registry.core.model.listing import Filters, TrustLevel
from registry.core.visiting.visits import FinishedDomain
from registry.store.recorded import RecordedListener
from registry.store.unit_of_work import Store
from tests.support.builders import (
    ADP,
    DAY,
    HOUR,
    NOW,
    Page,
    adp_manifest,
    adp_site,
    again,
    awp_manifest,
    changes_of,
    crawl,
    finish,
    hosts_of,
    leased,
    on,
    record,
    service_of,
    status_of,
    take,
    visit,
)  # fmt: skip
from tests.support.database import rows

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

HOST = "pigeons.com"


async def row_versions(store: Store) -> list[tuple[Any, ...]]:
    """Return every row version of the tables that a visit without changes must not touch."""
    tables = ("capabilities", "findings", "scores", "bodies", "document_history")
    return [
        row for table in tables for row in await rows(store, f"SELECT '{table}', ctid::text, xmin::text FROM {table}")
    ]


async def test_a_found_manifest_is_listed_with_its_details(store: Store) -> None:
    recorded = await crawl(store, {HOST: adp_site(HOST, "create_parcel", "track_parcel")})
    assert (recorded.hosts, recorded.listed, recorded.failed) == ([HOST], [HOST], {})

    view = await service_of(store, HOST, include_details=True)
    assert (view.record.name, view.record.formats, view.record.cap_count) == ("Pigeon post of pigeons", ("adp",), 2)
    assert view.record.trust_level is TrustLevel.VERIFIED
    assert view.record.well_known_url == f"https://{HOST}{ADP}"
    assert [capability.name for capability in view.service.capabilities] == ["create_parcel", "track_parcel"]
    detail = view.service.capabilities[1].detail
    assert detail is not None and detail["endpoint"] == "/v1/track_parcel"
    assert view.breakdown["value"] == view.record.score > 0
    assert view.response_ms == 20

    stored = await on(store).queries.stored_capability(HOST, "create_parcel")
    assert stored is not None and capability_view(stored).capability.detail is not None
    assert await on(store).queries.stored_capability(HOST, "no_such") is None
    assert (await status_of(store, HOST, NOW)).state == "listed"
    assert await changes_of(store, HOST) == ["service.listed"]


async def test_a_host_without_documents_has_reasons_and_a_later_visit(store: Store) -> None:
    recorded = await crawl(
        store, {"empty.com": {"/agent.json": Page("<html><p>hi</p></html>", media_type="text/html")}}
    )
    assert recorded.listed == []
    status = await status_of(store, "empty.com", NOW)
    assert (status.state, status.outcome) == ("not_listed", Outcome.ABSENT)
    assert "/agent.json: not a manifest (html)" in status.reasons
    assert status.next_visit_at is not None and 12 * DAY <= status.next_visit_at - NOW <= 16 * DAY
    assert await on(store).queries.status("never-heard-of.com") is None


async def test_two_formats_are_one_service(store: Store) -> None:
    await crawl(store, {HOST: {**adp_site(HOST), "/agent.json": Page(awp_manifest(HOST))}})
    view = await service_of(store, HOST)
    assert view.record.formats == ("adp", "awp")
    assert {capability.name for capability in view.service.capabilities} == {"create_parcel", "rent_bike"}


async def test_a_visit_without_changes_writes_timestamps_only(store: Store) -> None:
    async with store.begin() as uow:
        await uow.search.register("index", now=NOW)
    site = adp_site(HOST, etag='"1"')
    await crawl(store, {HOST: site})
    async with store.begin() as uow:
        (note,) = await uow.search.dirty("index", limit=10)
        await uow.search.done("index", [note])
    before = await row_versions(store)

    await again(store, {HOST: site}, NOW + 26 * HOUR)

    assert await row_versions(store) == before
    assert await rows(store, f"SELECT count(*) FROM document_history WHERE url = 'https://{HOST}{ADP}'") == [(1,)]
    assert await rows(store, f"SELECT seen_at FROM documents WHERE url = 'https://{HOST}{ADP}'") == [(NOW + 26 * HOUR,)]
    assert await rows(store, "SELECT count(*) FROM visits") == [(2,)]
    view = await service_of(store, HOST)
    assert (view.record.updated_at, view.record.seen_at) == (NOW, NOW + 26 * HOUR)
    assert await changes_of(store, HOST) == ["service.listed"]
    async with store.begin() as uow:
        assert [row.host for row in await uow.search.dirty("index", limit=10)] == [HOST], "its date is another one"
        assert view.record.listing.seen_on == (NOW + 26 * HOUR).date()


async def test_a_second_visit_on_the_same_day_leaves_the_index_alone(store: Store) -> None:
    async with store.begin() as uow:
        await uow.search.register("index", now=NOW)
    site = adp_site(HOST, etag='"1"')
    await crawl(store, {HOST: site})
    async with store.begin() as uow:
        await uow.search.done("index", await uow.search.dirty("index", limit=10))
    await rows(store, "SELECT 1")
    async with store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE hosts SET next_visit_at = now() - interval '1 year'")
        await connection.exec_driver_sql("UPDATE domains SET next_visit_at = now() - interval '1 year'")
    await again(store, {HOST: site}, NOW + HOUR)
    async with store.begin() as uow:
        assert await uow.search.count("index") == 0


async def test_a_change_is_kept_in_history_and_in_the_change_feed(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    await again(store, {HOST: adp_site(HOST, name="Carrier pigeons")}, NOW + 2 * DAY)
    view = await service_of(store, HOST)
    assert view.record.name == "Carrier pigeons"
    assert (view.record.created_at, view.record.updated_at) == (NOW, NOW + 2 * DAY)
    assert await changes_of(store, HOST) == ["service.listed", "service.changed"]
    async with store.begin() as uow:
        history = await uow.documents.history(HOST, HOST, f"https://{HOST}{ADP}")
    assert [changed_at for changed_at, *_ in history] == [NOW + 2 * DAY, NOW]
    assert await rows(store, "SELECT count(*) FROM bodies") == [(3,)]
    next_visit_at = (await status_of(store, HOST, NOW)).next_visit_at
    assert next_visit_at is not None and next_visit_at - (NOW + 2 * DAY) < 14 * HOUR, (
        "what changes is looked at twice as often"
    )


async def test_recording_twice_changes_nothing(store: Store) -> None:
    await on(store).frontier.seed([HOST], source="test")
    lease = await leased(store)
    finished = [finish(lease.domains[0], {HOST: adp_site(HOST)})]
    first = await record(store, lease.token, finished)
    second = await record(store, lease.token, finished)
    assert (first.hosts, second.hosts, second.lost) == ([HOST], [], [HOST])
    assert await changes_of(store, HOST) == ["service.listed"]


async def test_copies_of_one_document_are_one_document(store: Store) -> None:
    manifest = awp_manifest(HOST)
    await crawl(store, {HOST: {"/agent.json": Page(manifest), "/.well-known/agent.json": Page(manifest)}})
    aliases = dict(await rows(store, "SELECT url, alias_of FROM documents"))
    assert aliases == {
        f"https://{HOST}/agent.json": None,
        f"https://{HOST}/.well-known/agent.json": f"https://{HOST}/agent.json",
    }
    changed = {**manifest, "intent": "Rents cargo bicycles by the hour in three cities."}
    await again(store, {HOST: {"/agent.json": Page(changed)}}, NOW + 2 * DAY)
    view = await service_of(store, HOST)
    assert view.service.description == changed["intent"]


async def test_a_redirected_host_is_an_alias_and_its_target_is_queued(store: Store) -> None:
    apex = f"https://{HOST}"
    await on(store).frontier.seed(["www." + HOST], source="test")
    lease = await leased(store)
    (www_visit,) = finish(lease.domains[0], {}).visits
    redirected_visit = replace(www_visit, outcome=Outcome.REDIRECTED_AWAY, reason="alias", alias_of=HOST, answers=())
    await record(store, lease.token, [FinishedDomain(HOST, (redirected_visit,))])
    assert (await status_of(store, "www." + HOST, NOW)).alias_of == HOST
    lease = await take(store)
    assert hosts_of(lease) == [HOST] and lease is not None
    await record(store, lease.token, [finish(lease.domains[0], {HOST: adp_site(HOST)})], now=NOW)
    view = await service_of(store, HOST)
    assert view.record.base_url == apex


async def test_documents_name_candidates_that_become_hosts(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    report = await on(store).frontier.fold_candidates()
    assert report.hosts == 3
    lease = await leased(store)
    assert hosts_of(lease) == [f"api.{HOST}", f"docs.{HOST}", f"mcp.{HOST}"]
    assert all(host.short for host in lease.domains[0].hosts)


async def test_details_beyond_the_budget_wait_for_the_next_visit(store: Store) -> None:
    names = [f"cap_{number:02}" for number in range(40)]
    site = adp_site(HOST, *names)
    await crawl(store, {HOST: site})
    next_visit_at = (await status_of(store, HOST, NOW)).next_visit_at
    assert next_visit_at == NOW + HOUR
    lease = await leased(store, now=NOW + HOUR)
    (job,) = lease.domains[0].hosts
    assert job.pending and not job.whole_plan and job.robots is not None
    assert all(probe.via is not None and probe.via.rel == "detail_url" for probe in job.pending)
    await record(store, lease.token, [finish(lease.domains[0], {HOST: site}, NOW + HOUR)], now=NOW + HOUR)
    for hours in (2, 3):
        if (lease := await take(store, now=NOW + hours * HOUR)) is not None:
            later = NOW + hours * HOUR
            await record(store, lease.token, [finish(lease.domains[0], {HOST: site}, later)], now=later)
    view = await service_of(store, HOST, include_details=True)
    assert [capability.name for capability in view.service.capabilities if capability.detail is None] == []


async def test_a_bad_domain_does_not_take_the_others_with_it(store: Store) -> None:
    hosts = [f"site-{number}.com" for number in range(7)]
    await on(store).frontier.seed(hosts, source="test")
    lease = await leased(store)
    finished = [finish(job, {job.domain: adp_site(job.domain)}) for job in lease.domains]
    (original_visit,) = finished[3].visits
    unstorable_visit = replace(original_visit, requests=2**40)  # an integer too large for its column
    finished[3] = FinishedDomain(finished[3].domain, (unstorable_visit,))
    foreign_visit = replace(finished[5].visits[0], host="elsewhere.com")
    finished[5] = FinishedDomain(finished[5].domain, (foreign_visit,))

    recorded = await record(store, lease.token, finished)

    assert set(recorded.failed) == {"site-3.com", "site-5.com"}
    assert sorted(recorded.listed) == [f"site-{number}.com" for number in (0, 1, 2, 4, 6)]
    assert await take(store) is None, "they wait"
    assert sorted(hosts_of(await take(store, now=NOW + 12 * HOUR))) == ["site-3.com", "site-5.com"]


async def test_hostile_values_are_stored_and_read_back_by_every_reader(store: Store) -> None:
    nested: Any = "x"
    for _ in range(900):
        nested = [nested]
    bodies = {
        "/.well-known/agent": b'{"spec_version":"1.0","name":"a\\u0000b"}',
        "/agent.json": b'{"awp_version":"0.2","intent":"Hostile","actions":[],"x":1e5000}',
        "/.well-known/agent.json": str(nested).replace("'", '"').encode(),
        "/.well-known/woa.json": b'{"a":"\\ud800"}',
        "/.well-known/ai-actions.json": b"\x00\xff\xfe",
        "/llms.txt": b"# A\x00B\n\n> text\n",
    }
    odd_headers = {"etag": 'W/"\x00\ud800"', "link": "<\x00>; rel=x", "content-language": "\ud800" * 9_000}
    site: dict[str, Page] = {path: Page(body, headers=odd_headers) for path, body in bodies.items()}
    recorded = await crawl(store, {"hostile.com": site, HOST: adp_site(HOST)})
    assert recorded.failed == {} and set(recorded.hosts) == {"hostile.com", HOST}
    status = await status_of(store, "hostile.com", NOW)
    assert status.state == "not_listed" and len(status.reasons) > 3
    stored_bodies = dict(
        await rows(store, "SELECT d.url, b.body FROM documents d JOIN bodies b USING (domain, sha256)")
    )
    for path in ("/.well-known/agent", "/agent.json", "/.well-known/agent.json"):
        assert stored_bodies[f"https://hostile.com{path}"] == bodies[path]
    lease = await leased(store, now=NOW + 60 * DAY)
    finished = [finish(job, {"hostile.com": site}, NOW + 60 * DAY) for job in lease.domains]
    recorded = await record(store, lease.token, finished, now=NOW + 60 * DAY)
    assert recorded.failed == {}


async def test_an_unreadable_row_affects_only_itself(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST), "other.com": adp_site("other.com")})
    async with store.engine.begin() as connection:
        await connection.exec_driver_sql(
            "UPDATE services SET model = '{\"pricing\": 1e5000}', listing = '{\"score\": 1e5000}'"
            f" WHERE host = '{HOST}'"
        )
        await connection.exec_driver_sql(f"UPDATE capabilities SET data = '[1e5000]' WHERE host = '{HOST}'")
        await connection.exec_driver_sql(f"UPDATE hosts SET pending = '[1e5000]' WHERE host = '{HOST}'")
        await connection.exec_driver_sql("UPDATE hosts SET pending = '[7, {}, {\"via\": 1}]' WHERE host = 'other.com'")
        await connection.exec_driver_sql(f"UPDATE documents SET headers = '[1e5000]' WHERE host = '{HOST}'")
    listed = await on(store).queries.list_services(Filters())
    assert {card.host for card in listed.items} == {HOST, "other.com"}
    assert "other.com" in await store.cards.of([(HOST, HOST), ("other.com", "other.com")])
    async with store.begin() as uow:
        assert [listing.host for listing in await uow.search.all_listings(("", ""), limit=10)] == ["other.com"]
    assert (await status_of(store, HOST, NOW)).state in ("listed", "not_listed")
    site = adp_site(HOST, name="Pigeons again")
    await again(store, {HOST: site, "other.com": adp_site("other.com")}, NOW + 2 * DAY)
    view = await service_of(store, HOST)
    assert view.record.name == "Pigeons again"


async def test_waiters_are_notified_of_a_recorded_visit(store: Store) -> None:
    for name in (HOST, "slow.com"):
        await on(store).frontier.submit(name)
    lease = await leased(store)
    jobs = {job.domain: job for job in lease.domains}
    async with RecordedListener(store) as feed:
        waiters = [asyncio.create_task(feed.wait(HOST, HOST, since=NOW, seconds=120)) for _ in range(3)]
        slow = asyncio.create_task(feed.wait("slow.com", "slow.com", since=NOW, seconds=0.2))
        await asyncio.sleep(0.05)
        await record(store, lease.token, [finish(jobs[HOST], {})])
        assert await asyncio.gather(*waiters) == [True, True, True]
        assert await feed.wait(HOST, HOST, since=NOW, seconds=120), "recorded before it was asked for"
        assert not await slow


async def test_waits_without_time_use_the_connection_that_is_there(store: Store) -> None:
    """A look-up that is cut off costs its connection, and while it connects leaves one open on the server."""
    async with RecordedListener(store) as feed:
        assert not await feed.wait(HOST, HOST, since=NOW, seconds=0.2)  # it listens by now
        before = await rows(store, "SELECT pg_backend_pid()")
        for _ in range(5):
            assert not await feed.wait(HOST, HOST, since=NOW, seconds=0)
        assert await rows(store, "SELECT pg_backend_pid()") == before


async def test_the_visit_log_holds_requests_and_outcomes(store: Store) -> None:
    await crawl(store, {HOST: {ADP: Page(adp_manifest(HOST, "a_thing")), "/caps/a_thing": Page("no", 404)}})
    (row,) = await on(store).queries.visits(HOST)
    assert (row.outcome, row.whole_plan) == (Outcome.FOUND, True)
    assert row.requests == len(row.vector) > 15
    by_url = {entry["url"]: entry for entry in row.vector}
    manifest = by_url[f"https://{HOST}{ADP}"]
    assert (manifest["outcome"], manifest["format"], manifest["status"], manifest["ms"]) == ("found", "adp", 200, 20)
    detail = by_url[f"https://{HOST}/caps/a_thing"]
    assert (detail["outcome"], detail["via"]["rel"]) == ("absent", "detail_url")
    view = await service_of(store, HOST)
    assert "adp.detail_unanswered" in {finding.reason for finding in view.findings}
    overview = await on(store).queries.overview()
    assert (overview.outcomes, overview.formats, overview.services) == ({"found": 1}, {"adp": 1}, 1)
    assert overview.frontier == {"due": 0, "leased": 0, "waiting": 1, "never": 0}


async def test_a_batch_of_hosts_of_one_domain_is_one_lease(store: Store) -> None:
    hosts = [HOST, "api." + HOST, "eu." + HOST]
    recorded = await crawl(store, {host: adp_site(host) for host in hosts})
    assert sorted(recorded.listed) == sorted(hosts)
    frontier = on(store, exempt=hosts).frontier
    assert await frontier.waiting(frontier.hosts_of(hosts)) == 0


async def test_a_revisit_requests_known_documents_only(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST, etag='"7"')})
    lease = await leased(store, now=NOW + 2 * DAY)
    job = lease.domains[0].hosts[0]
    assert (job.whole_plan, [document.etag for document in job.known if document.format == "adp"]) == (False, ['"7"'])
    assert visit(job, adp_site(HOST, etag='"7"'), NOW + 2 * DAY).requests == 2
