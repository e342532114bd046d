"""What pruning deletes, what it never deletes, and that concurrent work loses nothing by it."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from registry.core.access.audit import OPERATOR
from registry.core.model.documents import Outcome
from registry.core.model.reports import CODES, Code, ReportState
from registry.core.model.services import to_json
from registry.core.scheduling.jobs import MIN_LEDGER_AGE, Retention
from registry.store.records import CandidateRecord, ChangeRecord, VisitRecord
from registry.store.unit_of_work import Store
from tests.support.builders import ADP, DAY, HOUR, NOW, Page, adp_manifest, adp_site, again, crawl, on, service_of
from tests.support.database import rows, until_true, waiting_for_locks
from tests.support.hang import HANG_SECONDS

pytestmark = pytest.mark.slow  # histories of visits, through the database

HOST = "parcels.com"

KEEP = Retention(
    visits_days=90,
    visits_per_host=3,
    history_days=400,
    versions=2,
    bodies_days=30,
    scores_days=100,
    changes_days=100,
    candidates_days=50,
    reports_days=60,
    job_runs_days=10,
)
YEARS = 3_000 * DAY


async def count(store: Store, table: str, condition: str = "true") -> int:
    return int((await rows(store, f"SELECT count(*) FROM {table} WHERE {condition}"))[0][0])


def visit_record(at: datetime, host: str = HOST) -> VisitRecord:
    return VisitRecord(HOST, host, at, at, Outcome.FOUND, "", True, 20, None)


async def add_visits(store: Store, *moments: datetime) -> None:
    async with store.begin() as uow:
        await uow.domains.add([HOST], source="test", now=NOW, due=NOW)
        await uow.ledger.add_visits([visit_record(at) for at in moments])


async def make_months(store: Store, now: datetime) -> None:
    async with store.begin() as uow:
        await uow.visit_months.make(now=now)


async def visit_times(store: Store) -> list[datetime]:
    return [at for (at,) in await rows(store, "SELECT started_at FROM visits ORDER BY started_at DESC")]


async def test_old_visits_are_pruned_except_the_last_of_each_host(store: Store) -> None:
    moments = [NOW - days * DAY for days in (80, 95, 100, 200, 300)]
    await add_visits(store, *moments)
    async with store.begin() as uow:
        await uow.ledger.add_visits([visit_record(NOW - 500 * DAY, f"www.{HOST}")])

    assert await on(store).maintenance.prune(KEEP) == {"visits": 2}

    assert await visit_times(store) == [*moments[:3], NOW - 500 * DAY]
    assert await on(store).maintenance.prune(KEEP) == {}


async def test_visits_that_count_for_the_daily_budget_are_always_kept(store: Store) -> None:
    await make_months(store, NOW)
    keep, begin = replace(KEEP, visits_days=0, visits_per_host=1), datetime(2026, 12, 1, tzinfo=UTC)
    moments = [begin + HOUR, *(begin - hours * HOUR for hours in (1, 12, 60))]
    await add_visits(store, *moments)
    await on(store, begin + MIN_LEDGER_AGE - HOUR).maintenance.prune(keep)
    assert await visit_times(store) == moments
    await on(store, begin + MIN_LEDGER_AGE).maintenance.prune(keep)
    assert await visit_times(store) == moments[:1]
    assert timedelta(hours=47) < MIN_LEDGER_AGE


async def test_many_rows_are_pruned_in_small_transactions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("registry.store.pruning.MAX_ROWS", 7)
    monkeypatch.setattr("registry.actions.maintenance.maintenance.MAX_ROWS", 7)
    await add_visits(store, *(NOW - (100 + days) * DAY for days in range(40)))
    assert await on(store).maintenance.prune(KEEP) == {"visits": 37}


async def visit_changing_site(store: Store, versions: int, interval: timedelta = 10 * DAY) -> datetime:
    """Visit a manifest that changes every time; return the time of the last visit."""
    now = NOW
    await crawl(store, {HOST: adp_site(HOST)}, now)
    for number in range(1, versions):
        now = NOW + number * interval
        async with store.begin() as uow:
            await uow.hosts.make_due([(HOST, HOST)], due=now)
            await uow.domains.due_by([HOST], due=now, now=now)
        await again(store, {HOST: adp_site(HOST, name=f"Pigeon post number {number}")}, now)
    return now


async def test_bodies_of_replaced_versions_are_pruned_after_their_time(store: Store) -> None:
    last_visit_at = await visit_changing_site(store, 6)
    bodies = await count(store, "bodies")
    assert bodies == 6 + 1  # six manifests, one detail

    assert await on(store, last_visit_at).maintenance.prune(KEEP) == {
        "bodies": 1
    }  # replaced 40 days ago; the next one, 30

    assert await on(store, last_visit_at + 35 * DAY).maintenance.prune(KEEP) == {"bodies": 4}
    needed = await count(store, "documents", "has_body")
    assert await count(store, "bodies") == needed == 2


async def test_pruning_keeps_the_explanation_of_the_current_score(store: Store) -> None:
    last_visit_at = await visit_changing_site(store, 5)
    later = last_visit_at + YEARS
    before = await service_of(store, HOST, include_details=True)
    assert before.breakdown and before.documents
    status = await on(store, later).queries.status(HOST)

    pruned = await on(store, later).maintenance.prune(replace(KEEP, visits_per_host=1, versions=1))

    assert set(pruned) == {"visits", "document_history", "scores", "bodies", "changes"}
    assert await on(store).queries.service(HOST, include_details=True) == before
    assert await on(store, later).queries.status(HOST) == status
    assert await count(store, "visits") == await count(store, "scores") == 1
    rescored = await on(store, later).maintenance.rescore()
    assert (rescored.changed, rescored.failed) == (0, [])
    after = await service_of(store, HOST, include_details=True)
    assert to_json(after.service) == to_json(before.service)


async def test_the_body_of_a_gone_document_is_kept_for_a_while(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    gone_at = NOW + 20 * DAY
    async with store.begin() as uow:
        await uow.hosts.make_due([(HOST, HOST)], due=gone_at)
        await uow.domains.due_by([HOST], due=gone_at, now=gone_at)
    await again(store, {HOST: {ADP: Page("", 410, media_type="text/plain")}}, gone_at)
    assert "bodies" not in await on(store, gone_at + 29 * DAY).maintenance.prune(KEEP)
    assert (await on(store, gone_at + 31 * DAY).maintenance.prune(KEEP))["bodies"] >= 1


async def test_orphans_are_pruned(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    async with store.begin() as uow:
        for table in ("capabilities", "findings"):
            await uow._connection.exec_driver_sql(f"UPDATE {table} SET host = 'gone.{HOST}'")
    orphan_counts = {table: n for table in ("capabilities", "findings") if (n := await count(store, table))}
    assert "capabilities" in orphan_counts
    assert await on(store).maintenance.prune(KEEP) == orphan_counts


async def test_reports_decided_long_ago_are_pruned_and_open_ones_kept(store: Store) -> None:
    decided: dict[Code, tuple[ReportState, int]] = {
        "spam": ("accepted", 61), "dead": ("rejected", 61), "wrong": ("rejected", 59), "malware": ("in_review", 61),
    }  # fmt: skip
    await crawl(store, {HOST: adp_site(HOST, "create_parcel")}, NOW - 500 * DAY)
    tokens = {}
    for code in CODES:
        token = (await on(store, NOW - 400 * DAY).reports.file(HOST, code, "It is.", client="1")).token
        assert token is not None
        tokens[code] = token
        found = await on(store).reports.filed(token)
        if found is not None and code in decided:
            state, days = decided[code]
            await on(store, NOW - days * DAY).reports.resolve(found.report.id, state, "", actor=OPERATOR)
    assert (await on(store).maintenance.prune(KEEP))["reports"] == 2
    left = {code for code, token in tokens.items() if await on(store).reports.filed(token) is not None}
    assert left == set(CODES) - {"spam", "dead"}
    assert await count(store, "reports") == await count(store, "report_filings") == 4


async def test_old_folded_candidates_are_pruned_and_waiting_ones_kept(store: Store) -> None:
    names = ["old.com", "new.com", "open.com"]
    async with store.begin() as uow:
        await uow.domains.add(names, source="test", now=NOW, due=NOW)
        candidates = [CandidateRecord(name, name, HOST, "link", f"https://{HOST}/", NOW - 90 * DAY) for name in names]
        await uow.candidates.add(candidates)
        await uow.candidates.fold([(candidates[0], "public_suffix")], now=NOW - 60 * DAY)
        await uow.candidates.fold([(candidates[1], None)], now=NOW - 40 * DAY)
    assert await on(store).maintenance.prune(KEEP) == {"candidates": 1}
    assert await rows(store, "SELECT host FROM candidates ORDER BY host") == [("new.com",), ("open.com",)]


async def test_the_change_feed_is_kept_as_long_as_configured(store: Store) -> None:
    moments = [NOW - 100 * DAY - HOUR, NOW - 100 * DAY + HOUR, NOW]
    async with store.begin() as uow:
        await uow.ledger.add_changes([ChangeRecord(HOST, HOST, "service.changed", at, {}) for at in moments])
    assert await on(store).maintenance.prune(KEEP) == {"changes": 1}
    assert [at for (at,) in await rows(store, "SELECT at FROM changes ORDER BY id")] == moments[1:]


async def test_old_job_runs_are_pruned_except_the_last_of_each_job(store: Store) -> None:
    async with store.begin() as uow:
        for days in range(30):
            await uow.jobs.begin("often", now=NOW - days * DAY)
        await uow.jobs.begin("seldom", now=NOW - 300 * DAY)
    assert await on(store).maintenance.prune(KEEP) == {"job_runs": 10}
    assert await count(store, "job_runs", "job = 'seldom'") == 1


async def test_search_targets_without_updates_are_pruned(store: Store) -> None:
    async with store.begin() as uow:
        await uow.search.register("embedded:fed", now=NOW - 6 * DAY)
        await uow.search.register("embedded:left", now=NOW - 8 * DAY)
    assert await on(store).maintenance.prune(KEEP) == {"search_target": 1}
    async with store.begin() as uow:
        assert await uow.search.targets() == ["embedded:fed"]


async def make_idle_body(store: Store) -> tuple[str, bytes]:
    """Return the key of a body that nothing refers to any more, of a document that may come back."""
    await visit_changing_site(store, 2)
    body_keys = await rows(
        store,
        "SELECT b.domain, b.sha256 FROM bodies b LEFT JOIN documents d ON d.sha256 = b.sha256 WHERE d.sha256 IS NULL",
    )
    ((domain, sha256),) = body_keys
    return domain, sha256


async def test_a_body_that_a_visit_is_about_to_refer_to_is_not_lost(store: Store) -> None:
    """The visit found the body stored, so did not write it; prune had seen before that nothing refers to it."""
    key = await make_idle_body(store)
    later = NOW + 400 * DAY
    async with store.begin() as uow:
        await uow.domains.lock([HOST])
        current = next(document for document in await uow.documents.of([HOST]) if document.url.endswith(ADP))
        await uow.documents.add_bodies({key: b"as it was"})  # the body is stored, so nothing is written
        await uow.documents.put([replace(current, sha256=key[1])])
        prune_task = asyncio.create_task(on(store, later).maintenance.prune(KEEP))
        await until_true(lambda: waiting_for_locks(store))
        assert not prune_task.done()
    await prune_task
    async with store.begin() as uow:
        assert key in await uow.documents.bodies([key])


async def test_a_body_that_was_just_deleted_is_written_again(store: Store) -> None:
    """In the other order the visit waits for prune, and then finds no body."""
    key = await make_idle_body(store)
    horizon = KEEP.horizon(NOW + 400 * DAY)

    async def write_body() -> None:
        async with store.begin() as uow:
            await uow.domains.lock([HOST])
            await uow.documents.add_bodies({key: b"as it was"})

    async with store.begin() as uow:
        await uow.domains.lock([HOST])
        assert await uow.pruning.idle("bodies", [HOST], horizon) == 1
        write_task = asyncio.create_task(write_body())
        await until_true(lambda: waiting_for_locks(store))
    await write_task
    async with store.begin() as uow:
        assert await uow.documents.bodies([key]) == {key: b"as it was"}


async def test_prune_locks_no_domain_without_idle_rows(store: Store) -> None:
    """Millions of domains without anything to delete must not be locked every day."""
    await crawl(store, {HOST: adp_site(HOST), "other.com": {ADP: Page(adp_manifest("other.com", "x"))}})
    async with store.begin() as uow:
        await uow.domains.lock([HOST, "other.com"])
        async with asyncio.timeout(HANG_SECONDS):
            assert await on(store).maintenance.prune(KEEP) == {}
