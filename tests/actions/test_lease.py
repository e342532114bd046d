"""Leases: no domain is visited twice at once and none is lost, whatever process dies."""

import asyncio
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from registry.actions.frontier.submit import MAX_WAITING
from registry.actions.recording.record import CrawlActions
from registry.core.names.domains import InvalidName
from registry.core.visiting.shares import Standing
from registry.core.visiting.visits import FinishedDomain
from registry.store.domains import MAX_ATTEMPTS, SUSPECT_FOR, WrongClock
from registry.store.holder import hold_leases
from registry.store.records import CandidateRecord, OptOutRecord
from registry.store.unit_of_work import Store
from registry.wiring import MAX_SKEW, utc_now
from tests.support.builders import (
    DAY,
    HOUR,
    LEASE_FOR,
    NOW,
    adp_site,
    crawl,
    domains_of,
    finish,
    hosts_of,
    leased,
    on,
    record,
    take,
)  # fmt: skip
from tests.support.database import execute, rows, until_true, waiting_for_locks

pytestmark = pytest.mark.slow  # processes and waits

ROOT = Path(__file__).parents[2]
NAMES = [f"site-{number:03}.com" for number in range(200)]


async def _seed(store: Store, *names: str) -> None:
    report = await on(store, exempt=names).frontier.seed(names, source="test")
    assert not report.refused


async def test_four_workers_share_the_domains_without_taking_one_twice(store: Store) -> None:
    await _seed(store, *NAMES)

    async def worker() -> list[str]:
        leased_domains: list[str] = []
        while lease := await take(store, limit=7):
            leased_domains += domains_of(lease)
            await asyncio.sleep(0)
        return leased_domains

    shares = await asyncio.gather(*(worker() for _ in range(4)))
    assert sorted(domain for share in shares for domain in share) == NAMES
    assert sum(bool(share) for share in shares) > 1


async def test_an_expired_lease_is_taken_again_and_its_first_holder_cannot_complete_it(store: Store) -> None:
    await _seed(store, "a.com")
    first_lease = await take(store)
    assert await take(store) is None
    second_lease = await take(store, now=NOW + LEASE_FOR)
    assert first_lease is not None and second_lease is not None and domains_of(second_lease) == ["a.com"]

    first_recorded = await record(
        store, first_lease.token, [finish(first_lease.domains[0], {"a.com": adp_site("a.com")})], now=NOW
    )
    assert (first_recorded.lost, first_recorded.hosts) == (["a.com"], [])
    assert await on(store).crawl.release(first_lease.token) == 0
    second_recorded = await record(
        store, second_lease.token, [finish(second_lease.domains[0], {"a.com": adp_site("a.com")})], now=NOW
    )
    assert (second_recorded.lost, second_recorded.listed) == ([], ["a.com"])


@pytest.mark.parametrize("off", [DAY, -DAY])
async def test_a_worker_with_a_wrong_clock_takes_no_lease_and_gives_up_those_it_has(
    store: Store, off: timedelta
) -> None:
    await _seed(store, "a.com")
    wrong = CrawlActions(store, lambda: utc_now() + off, LEASE_FOR, "owned", MAX_SKEW)
    with pytest.raises(WrongClock, match=f"is .{DAY.total_seconds():.0f} s"):
        await wrong.lease(limit=1, holder=1)
    lease = await CrawlActions(store, utc_now, LEASE_FOR, "owned", MAX_SKEW).lease(limit=1, holder=1)
    assert lease is not None
    with pytest.raises(WrongClock):
        await wrong.lost_leases(1, [lease.token])


async def test_a_second_record_of_a_lease_waits_and_finds_it_released(store: Store) -> None:
    """A worker that lost its connection retries while its first call may still run in the database."""
    await _seed(store, "a.com")
    lease = await leased(store)
    async with store.begin() as uow:
        await uow.domains.end_lease(await uow.domains.lock_leased([(lease.token, "a.com")]))
        recording = asyncio.create_task(
            record(store, lease.token, [finish(lease.domains[0], {"a.com": adp_site("a.com")})], now=NOW)
        )

        async def waits_or_has_ended() -> bool:
            return recording.done() or bool(await waiting_for_locks(store))

        await until_true(waits_or_has_ended)
    recorded = await recording
    assert (recorded.lost, recorded.hosts) == (["a.com"], [])
    assert await rows(store, "SELECT count(*) FROM visits") == [(0,)]


async def test_a_lease_holds_all_due_hosts_of_a_domain(store: Store) -> None:
    await _seed(store, "shop.co.uk", "api.shop.co.uk", "other.co.uk")
    lease = await leased(store, limit=2)
    assert {job.domain: [host.host for host in job.hosts] for job in lease.domains} == {
        "other.co.uk": ["other.co.uk"],
        "shop.co.uk": ["shop.co.uk", "api.shop.co.uk"],
    }
    assert all(host.whole_plan for job in lease.domains for host in job.hosts)


async def test_new_domains_come_first_then_the_longest_overdue(store: Store) -> None:
    await crawl(store, {"old.com": {}})
    await crawl(store, {"older.com": {}}, NOW - DAY)
    later = NOW + 100 * DAY
    await on(store, later).frontier.seed(["new.com"], source="test")
    order = []
    while lease := await take(store, limit=1, now=later):
        order += domains_of(lease)
    assert order == ["new.com", "older.com", "old.com"]


async def test_seeding_twice_changes_nothing_and_bad_names_are_refused(store: Store) -> None:
    names = ["Shop.com", "shop.com", "https://shop.com", "co.uk", "127.0.0.1", "fine.org"]
    report = await on(store).frontier.seed(names, source="test")
    assert (report.domains, report.hosts, report.known) == (2, 2, 1)
    assert [(refusal.name, refusal.code) for refusal in report.refused] == [
        ("https://shop.com", "has_scheme"),
        ("co.uk", "public_suffix"),
        ("127.0.0.1", "ip_address"),
    ]
    await crawl(store, {})
    second_report = await on(store, NOW + HOUR).frontier.seed(["shop.com", "fine.org"], source="test")
    assert (second_report.domains, second_report.hosts, second_report.known) == (0, 0, 2)
    assert await take(store, now=NOW + HOUR) is None


async def test_a_new_host_makes_its_waiting_domain_due(store: Store) -> None:
    await crawl(store, {"shop.com": {}})
    assert await take(store, now=NOW + HOUR) is None
    await on(store, NOW + HOUR).frontier.seed(["api.shop.com"], source="test")
    assert hosts_of(await take(store, now=NOW + HOUR)) == ["api.shop.com"]


async def test_a_host_submitted_while_its_domain_is_leased_is_not_lost(store: Store) -> None:
    await _seed(store, "shop.com")
    lease = await leased(store)
    submission = await on(store).frontier.submit("api.shop.com")
    assert submission.state == "new"
    assert await take(store) is None, "the running lease is left alone"
    await record(store, lease.token, [finish(lease.domains[0], {})])
    assert hosts_of(await take(store)) == ["api.shop.com"]


async def test_a_host_submitted_during_its_visit_is_visited_once_more(store: Store) -> None:
    await _seed(store, "shop.com")
    lease = await leased(store)
    (visit,) = finish(lease.domains[0], {}, NOW + timedelta(seconds=30)).visits
    await on(store, NOW + timedelta(seconds=20)).frontier.submit("shop.com")
    visits = (replace(visit, started_at=NOW + timedelta(seconds=10)),)
    await record(store, lease.token, [FinishedDomain("shop.com", visits)], now=NOW + timedelta(seconds=31))
    assert hosts_of(await take(store, now=NOW + timedelta(seconds=32))) == ["shop.com"]


async def test_many_submissions_cause_no_more_than_one_visit(store: Store) -> None:
    states = [(await on(store).frontier.submit("Shop.com.")).state for _ in range(50)]
    assert states == ["new"] + ["queued"] * 49
    lease = await take(store)
    assert hosts_of(lease) == ["shop.com"] and lease is not None
    await record(store, lease.token, [finish(lease.domains[0], {})])
    submission = await on(store, NOW + timedelta(seconds=59)).frontier.submit("shop.com")
    assert (submission.state, submission.bound) == ("known", "too_soon")
    assert submission.retry_at == NOW + timedelta(minutes=1)
    assert submission.next_visit_at is not None and submission.next_visit_at > NOW
    assert await take(store, now=NOW + timedelta(minutes=5)) is None


async def test_a_submission_of_a_known_host_is_a_visit_with_the_whole_plan(store: Store) -> None:
    await crawl(store, {"empty.com": {}, "shop.com": adp_site("shop.com")})
    later = NOW + 2 * HOUR
    for host, charged in (("empty.com", 0), ("shop.com", 1)):
        assert (await on(store, later).frontier.submit(host)).state == "queued"
        lease = await leased(store, now=later)
        assert hosts_of(lease) == [host]
        assert lease.domains[0].hosts[0].whole_plan
        assert await rows(store, "SELECT count(*) FROM rechecks") == [(charged,)]


async def test_submissions_are_leased_before_seeds(store: Store) -> None:
    await _seed(store, *NAMES[:20])
    await on(store).frontier.submit("wanted.com")
    assert domains_of(await take(store, limit=1)) == ["wanted.com"]


async def test_sub_hosts_of_one_domain_cannot_fill_the_queue(store: Store) -> None:
    states = [(await on(store).frontier.submit(f"s{number}.shop.com")).state for number in range(MAX_WAITING + 3)]
    assert states == ["new"] * MAX_WAITING + ["too_many"] * 3


async def test_bad_names_are_refused(store: Store) -> None:
    with pytest.raises(InvalidName):
        await on(store).frontier.submit("shop.example")
    assert (await on(store, exempt=["shop.example"]).frontier.submit("shop.example")).state == "new"


async def test_released_domains_are_due_again_at_once_or_later(store: Store) -> None:
    await _seed(store, "a.com", "b.com", "c.com")
    lease = await leased(store)
    assert await on(store).crawl.release(lease.token, ["a.com"]) == 1
    assert await on(store).crawl.release(lease.token, ["b.com"], later=HOUR) == 1
    assert domains_of(await take(store)) == ["a.com"]
    assert domains_of(await take(store, now=NOW + HOUR)) == ["a.com", "b.com", "c.com"]


async def test_a_domain_with_several_expired_leases_is_set_aside_despite_submissions(store: Store) -> None:
    await _seed(store, "killer.com", "fine.com")
    now = NOW
    for _ in range(MAX_ATTEMPTS):
        assert "killer.com" in domains_of(await take(store, now=now))
        now += LEASE_FOR
    assert await take(store, now=now) is None
    await on(store, now).frontier.submit("www.killer.com")
    assert await take(store, now=now + SUSPECT_FOR / 2) is None
    lease = await leased(store, now=now + SUSPECT_FOR)
    assert "killer.com" in domains_of(lease), "one more try after the back-off"
    now += SUSPECT_FOR + LEASE_FOR
    assert await take(store, now=now) is None
    assert await take(store, now=now + SUSPECT_FOR) is None, "twice as long the second time"
    last_lease = await leased(store, now=now + 2 * SUSPECT_FOR)
    assert "killer.com" in domains_of(last_lease)
    await record(store, last_lease.token, [finish(job, {}) for job in last_lease.domains], now=now + DAY)
    assert (await take(store, now=now + 200 * DAY)) is not None, "a completed visit ends the count"


async def test_make_due_restores_domains_that_were_set_aside(store: Store) -> None:
    """A user who kills the demo during each crawl must still see the next one finish."""
    await _seed(store, "aside.com", "held.com")
    for _ in range(MAX_ATTEMPTS):
        await take(store, holder=1)
        await on(store).crawl.recover()
    assert await take(store) is None
    await on(store).frontier.make_due(["aside.com"])
    assert domains_of(await take(store, holder=1)) == ["aside.com"]
    assert domains_of(await take(store, now=NOW + SUSPECT_FOR, holder=1)) == ["held.com"]
    await on(store).frontier.make_due(["held.com"])
    assert await on(store).crawl.recover() == 2
    assert domains_of(await take(store)) == ["aside.com", "held.com"]


async def test_only_leases_of_dead_holders_are_recovered(store: Store) -> None:
    await _seed(store, "a.com", "b.com")
    async with hold_leases(store.engine) as live_holder:
        async with hold_leases(store.engine) as dead_holder:
            assert live_holder.id != dead_holder.id and await dead_holder.is_alive()
            first_lease = await take(store, limit=1, holder=dead_holder.id)
            second_lease = await take(store, limit=1, holder=live_holder.id)
            assert first_lease is not None and second_lease is not None
            assert await on(store).crawl.recover() == 0
        assert await on(store).crawl.recover() == 1
        assert domains_of(await take(store)) == domains_of(first_lease)
        assert await on(store).crawl.recover() == 1, "that lease names a holder that never was"
    recorded = await record(store, first_lease.token, [finish(first_lease.domains[0], {})])
    assert recorded.lost == domains_of(first_lease)


async def test_a_lease_of_a_killed_process_is_recovered(store: Store, database_url: str) -> None:
    await _seed(store, "a.com")
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DOOMED, database_url, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    try:
        assert worker.stdout is not None and await worker.stdout.readline() == b"a.com\n"
        assert await on(store).crawl.recover() == 0
    finally:
        worker.kill()
        await worker.wait()
    await until_true(lambda: on(store).crawl.recover())  # the server needs a moment to notice
    assert domains_of(await take(store)) == ["a.com"]


DOOMED = """
import asyncio, sys
from registry.store.engine import make_engine
from registry.store.holder import hold_leases
from registry.store.unit_of_work import Store
from tests.support.builders import domains_of, take

async def work():
    store = Store(make_engine(sys.argv[1]))
    async with hold_leases(store.engine) as holder:
        print(*domains_of(await take(store, holder=holder.id)), flush=True)
        await asyncio.sleep(60)

asyncio.run(work())
"""


async def test_a_holder_whose_session_is_killed_is_not_alive(store: Store) -> None:
    async with hold_leases(store.engine) as holder:
        assert await holder.is_alive()
        await execute(
            store,
            "SELECT pg_terminate_backend(l.pid, 60000) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
            " WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()",
        )
        assert not await holder.is_alive()


async def test_a_lease_can_be_limited_to_named_hosts(store: Store) -> None:
    await _seed(store, "a.com", "b.com")
    lease = await on(store).crawl.lease(limit=10, holder=1, only=["www.b.com"])
    assert domains_of(lease) == ["b.com"]


async def test_next_due_ignores_leased_domains(store: Store) -> None:
    assert await on(store).crawl.next_due() is None
    await _seed(store, "a.com")
    assert (await on(store).crawl.next_due() or NOW) < NOW
    await take(store)
    assert await on(store).crawl.next_due() is None


async def test_candidates_become_hosts_after_all_due_ones(store: Store) -> None:
    names = ["good.com", "10.0.0.1", *(f"h{n}.many.com" for n in range(12)), "api.shop.com"]
    async with store.begin() as uow:
        await uow.candidates.add(
            CandidateRecord(".".join(name.split(".")[-2:]), name, "shop.com", "sub-host", "https://shop.com/", NOW)
            for name in names
        )
    await _seed(store, "seeded.com")
    report = await on(store).frontier.fold_candidates()
    assert report.hosts == 12
    assert sorted(refusal.code for refusal in report.refused) == ["ip_address", "too_many_hosts", "too_many_hosts"]
    lease = await take(store, limit=1)
    assert domains_of(lease) == ["seeded.com"]
    second_lease = await leased(store)
    assert {"good.com", "many.com", "shop.com"} == set(domains_of(second_lease))
    assert all(host.short for job in second_lease.domains for host in job.hosts)
    assert (await on(store).frontier.fold_candidates()).hosts == 0


async def test_hosts_that_opted_out_are_not_queued(store: Store) -> None:
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("shop.com", "shop.com", "robots", "", NOW)])
        await uow.opt_outs.add([OptOutRecord("big.com", "blog.big.com", "robots", "", NOW)])
        await uow.candidates.add([CandidateRecord("shop.com", "api.shop.com", "x.com", "item", "https://x.com/", NOW)])
    report = await on(store).frontier.seed(["www.shop.com", "a.blog.big.com", "notblog.big.com"], source="test")
    assert [(refusal.name, refusal.code) for refusal in report.refused] == [
        ("www.shop.com", "opted_out"),
        ("a.blog.big.com", "opted_out"),
    ]
    assert (await on(store).frontier.submit("shop.com")).state == "opted_out"
    assert [refusal.code for refusal in (await on(store).frontier.fold_candidates()).refused] == ["opted_out"]
    assert await on(store).frontier.make_due(["shop.com"]) == 0
    assert hosts_of(await take(store)) == ["notblog.big.com"]


async def test_make_due_requests_the_whole_plan_for_known_hosts(store: Store) -> None:
    await crawl(store, {"shop.com": adp_site("shop.com", etag='"1"')})
    assert await take(store, now=NOW + HOUR) is None
    assert await on(store, NOW + HOUR).frontier.make_due(["shop.com", "unknown.com"]) == 1
    lease = await leased(store, now=NOW + HOUR)
    (job,) = lease.domains[0].hosts
    assert job.whole_plan and job.robots is None
    assert {document.url for document in job.known} == {
        "https://shop.com/.well-known/agent",
        "https://shop.com/caps/create_parcel",
    }
    assert lease.domains[0].spent[Standing.KEPT].requests > 10
