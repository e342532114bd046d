"""What is forgotten, what never is, and that nobody at work loses anything by it."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from registry.actions.answering import inspect
from registry.actions.keeping.prune import prune
from registry.actions.recording.rescore import rescore
from registry.core.documents import Outcome
from registry.core.retention import LEDGER_LEAST, Retention
from registry.core.services import to_json
from registry.store import pruning
from registry.store.records import CandidateRecord, ChangeRecord, VisitRecord
from registry.store.unit_of_work import Store
from tests.support.builders import ADP, DAY, HOUR, NOW, Page, adp_manifest, adp_site, again, crawl
from tests.support.database import rows, until_true, waiting_for_locks

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
    job_runs_days=10,
)
YEARS = 3_000 * DAY


async def count(store: Store, table: str, where: str = "true") -> int:
    return int((await rows(store, f"SELECT count(*) FROM {table} WHERE {where}"))[0][0])


def visited(at: datetime, host: str = HOST) -> VisitRecord:
    return VisitRecord(HOST, host, at, at, Outcome.FOUND, "", True, 20, None)


async def with_visits(store: Store, *moments: datetime) -> None:
    async with store.begin() as uow:
        await uow.domains.add([HOST], source="test", now=NOW, due=NOW)
        await uow.ledger.add_visits([visited(at) for at in moments])


async def kept_visits(store: Store) -> list[datetime]:
    return [at for (at,) in await rows(store, "SELECT started_at FROM visits ORDER BY started_at DESC")]


async def test_old_visits_go_and_the_last_of_each_host_stay(store: Store) -> None:
    moments = [NOW - days * DAY for days in (80, 95, 100, 200, 300)]
    await with_visits(store, *moments)
    async with store.begin() as uow:
        await uow.ledger.add_visits([visited(NOW - 500 * DAY, f"www.{HOST}")])

    assert await prune(store, KEEP, now=NOW) == {"visits": 2}

    assert await kept_visits(store) == [*moments[:3], NOW - 500 * DAY]
    assert await prune(store, KEEP, now=NOW) == {}


async def test_no_setting_takes_what_the_budget_of_a_day_is_counted_from(store: Store) -> None:
    moments = [NOW - hours * HOUR for hours in (1, 12, 23, 30, 47, 49, 60)]
    await with_visits(store, *moments)
    await prune(store, replace(KEEP, visits_days=0, visits_per_host=1), now=NOW)
    assert await kept_visits(store) == moments[:5]
    assert timedelta(hours=47) < LEDGER_LEAST < timedelta(hours=49)


async def test_many_rows_go_in_small_transactions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "MOST", 7)
    monkeypatch.setattr("registry.actions.keeping.prune.MOST", 7)
    await with_visits(store, *(NOW - (100 + days) * DAY for days in range(40)))
    assert await prune(store, KEEP, now=NOW) == {"visits": 37}


async def changing_site(store: Store, versions: int, every: timedelta = 10 * DAY) -> datetime:
    """A manifest that reads differently at every visit; the moment of the last."""
    now = NOW
    await crawl(store, {HOST: adp_site(HOST)}, now)
    for number in range(1, versions):
        now = NOW + number * every
        async with store.begin() as uow:
            await uow.hosts.make_due([(HOST, HOST)], due=now)
            await uow.domains.sooner([HOST], soon=now, now=now)
        await again(store, {HOST: adp_site(HOST, name=f"Pigeon post number {number}")}, now)
    return now


async def test_bodies_of_replaced_versions_go_after_their_time(store: Store) -> None:
    last = await changing_site(store, 6)
    bodies = await count(store, "bodies")
    assert bodies == 6 + 1  # six manifests, one detail

    assert await prune(store, KEEP, now=last) == {"bodies": 1}  # replaced 40 days ago; the next one, 30

    assert await prune(store, KEEP, now=last + 35 * DAY) == {"bodies": 4}
    needed = await count(store, "documents", "has_body")
    assert await count(store, "bodies") == needed == 2


async def test_whatever_is_pruned_the_current_verdict_is_explained_as_before(store: Store) -> None:
    last = await changing_site(store, 5)
    later = last + YEARS
    before = await inspect.service(store, HOST, include_details=True)
    assert before is not None and before.breakdown and before.documents
    status = await inspect.status(store, HOST, now=later)

    done = await prune(store, replace(KEEP, visits_per_host=1, versions=1), now=later)

    assert set(done) == {"visits", "document_history", "scores", "bodies", "changes"}
    assert await inspect.service(store, HOST, include_details=True) == before
    assert await inspect.status(store, HOST, now=later) == status
    assert await count(store, "visits") == await count(store, "scores") == 1
    again_judged = await rescore(store, now=later)
    assert (again_judged.changed, again_judged.failed) == (0, [])
    after = await inspect.service(store, HOST, include_details=True)
    assert after is not None and to_json(after.service) == to_json(before.service)


async def test_what_is_lost_keeps_its_bytes_for_a_while(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    gone = NOW + 20 * DAY
    async with store.begin() as uow:
        await uow.hosts.make_due([(HOST, HOST)], due=gone)
        await uow.domains.sooner([HOST], soon=gone, now=gone)
    await again(store, {HOST: {ADP: Page("", 410, media_type="text/plain")}}, gone)
    assert "bodies" not in await prune(store, KEEP, now=gone + 29 * DAY)
    assert (await prune(store, KEEP, now=gone + 31 * DAY))["bodies"] >= 1


async def test_orphans_go(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    async with store.begin() as uow:
        for table in ("capabilities", "findings"):
            await uow._connection.exec_driver_sql(f"UPDATE {table} SET host = 'gone.{HOST}'")
    lone = {table: n for table in ("capabilities", "findings") if (n := await count(store, table))}
    assert "capabilities" in lone
    assert await prune(store, KEEP, now=NOW) == lone


async def test_folded_candidates_go_and_waiting_ones_stay(store: Store) -> None:
    names = ["old.com", "new.com", "open.com"]
    async with store.begin() as uow:
        await uow.domains.add(names, source="test", now=NOW, due=NOW)
        named = [CandidateRecord(one, one, HOST, "link", f"https://{HOST}/", NOW - 90 * DAY) for one in names]
        await uow.candidates.add(named)
        await uow.candidates.fold([(named[0], "public_suffix")], now=NOW - 60 * DAY)
        await uow.candidates.fold([(named[1], None)], now=NOW - 40 * DAY)
    assert await prune(store, KEEP, now=NOW) == {"candidates": 1}
    assert await rows(store, "SELECT host FROM candidates ORDER BY host") == [("new.com",), ("open.com",)]


async def test_the_feed_reaches_back_as_far_as_it_says(store: Store) -> None:
    moments = [NOW - 100 * DAY - HOUR, NOW - 100 * DAY + HOUR, NOW]
    async with store.begin() as uow:
        await uow.ledger.add_changes([ChangeRecord(HOST, HOST, "service.changed", at, {}) for at in moments])
    assert await prune(store, KEEP, now=NOW) == {"changes": 1}
    assert [at for (at,) in await rows(store, "SELECT at FROM changes ORDER BY id")] == moments[1:]


async def test_runs_of_jobs_go_but_for_those_that_the_next_one_is_told_by(store: Store) -> None:
    async with store.begin() as uow:
        for days in range(30):
            await uow.jobs.begin("often", now=NOW - days * DAY)
        await uow.jobs.begin("seldom", now=NOW - 300 * DAY)
    assert await prune(store, KEEP, now=NOW) == {"job_runs": 10}
    assert await count(store, "job_runs", "job = 'seldom'") == 1


async def test_search_targets_that_nobody_feeds_go(store: Store) -> None:
    async with store.begin() as uow:
        await uow.search.register("embedded:fed", now=NOW - 6 * DAY)
        await uow.search.register("embedded:left", now=NOW - 8 * DAY)
    assert await prune(store, KEEP, now=NOW) == {"search_target": 1}
    async with store.begin() as uow:
        assert await uow.search.targets() == ["embedded:fed"]


async def idle_body(store: Store) -> tuple[str, bytes]:
    """A body that nothing refers to any more, of a document that may come back."""
    await changing_site(store, 2)
    found = await rows(
        store,
        "SELECT b.domain, b.sha256 FROM bodies b LEFT JOIN documents d ON d.sha256 = b.sha256 WHERE d.sha256 IS NULL",
    )
    ((domain, sha256),) = found
    return domain, sha256


async def test_a_body_that_a_visit_is_about_to_refer_to_is_not_lost(store: Store) -> None:
    """The visit found the body there, and so did not write it; prune had seen before that nobody refers to it."""
    key = await idle_body(store)
    later = NOW + 400 * DAY
    async with store.begin() as uow:
        await uow.domains.lock([HOST])
        current = next(one for one in await uow.documents.of([HOST]) if one.url.endswith(ADP))
        await uow.documents.add_bodies({key: b"as it was"})  # it is there: nothing is written
        await uow.documents.put([replace(current, sha256=key[1])])
        pruning_now = asyncio.create_task(prune(store, KEEP, now=later))
        await until_true(lambda: waiting_for_locks(store))
        assert not pruning_now.done()
    await pruning_now
    async with store.begin() as uow:
        assert key in await uow.documents.bodies([key])


async def test_a_body_that_was_just_deleted_is_written_again(store: Store) -> None:
    """The other order: the visit waits for prune, and then finds nothing there."""
    key = await idle_body(store)
    horizon = KEEP.horizon(NOW + 400 * DAY)

    async def recorded() -> None:
        async with store.begin() as uow:
            await uow.domains.lock([HOST])
            await uow.documents.add_bodies({key: b"as it was"})

    async with store.begin() as uow:
        await uow.domains.lock([HOST])
        assert await uow.pruning.idle("bodies", [HOST], horizon) == 1
        recording = asyncio.create_task(recorded())
        await until_true(lambda: waiting_for_locks(store))
    await recording
    async with store.begin() as uow:
        assert await uow.documents.bodies([key]) == {key: b"as it was"}


async def test_nobody_waits_for_prune_where_nothing_is_idle(store: Store) -> None:
    """A million domains without anything to forget are not locked every day."""
    await crawl(store, {HOST: adp_site(HOST), "other.com": {ADP: Page(adp_manifest("other.com", "x"))}})
    async with store.begin() as uow:
        await uow.domains.lock([HOST, "other.com"])
        async with asyncio.timeout(120):
            assert await prune(store, KEEP, now=NOW) == {}
