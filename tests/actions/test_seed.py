"""Lists of names become hosts of the frontier: complete, in order, once, and safely beside other writers."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.actions.frontier.frontier import KEPT, MAX_HOSTS_NAMED, SeedReport, canonical_hosts
from registry.actions.frontier.submit import SEED_HEAD_START
from registry.core.names.domains import InvalidName, canonical_host
from registry.core.names.seeds import Refusal, Seed
from registry.core.names.suffixes import SHIPPED
from registry.store.records import CandidateRecord, OptOutRecord
from registry.store.unit_of_work import Store
from tests.support.builders import (
    DAY,
    HOUR,
    LEASE_FOR,
    NOW,
    crawl,
    domains_of,
    finish,
    hosts_of,
    leased,
    on,
    record,
    take,
)
from tests.support.database import rows, until_true, waiting_for_locks
from tests.support.hang import HANG_SECONDS
from tests.support.shared import shared

SMALL = 7


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use many transactions for few names."""
    monkeypatch.setattr("registry.actions.frontier.frontier.CHUNK", SMALL)


async def test_names_of_a_list_are_leased_in_its_order(store: Store, small_chunks: None) -> None:
    names = [f"site-{number}.com" for number in range(30)]
    random.Random(5).shuffle(names)
    await on(store).frontier.seed(names, source="test")
    order = []
    while lease := await take(store, limit=1):
        order += domains_of(lease)
    assert order == names


async def test_a_later_list_is_leased_after_an_earlier_one(store: Store) -> None:
    await on(store).frontier.seed(["b.com", "a.com"], source="test")
    await on(store, NOW + timedelta(seconds=1)).frontier.seed(["c.com"], source="test")
    order = []
    while lease := await take(store, limit=1, now=NOW + HOUR):
        order += domains_of(lease)
    assert order == ["b.com", "a.com", "c.com"]


async def test_source_and_referrer_are_stored(store: Store) -> None:
    seeds = [
        Seed("One.com", "top.csv", 1),
        Seed("api.one.com", "a\tb\\N\n\x1b[1md\r\0\ud800", 2),
        Seed("two.com", None, 3),
    ]
    await on(store).frontier.seed(seeds, source="csv")
    assert await rows(
        store, "SELECT host, domain, source, referrer, created_at, next_visit_why FROM hosts ORDER BY 1"
    ) == [
        ("api.one.com", "one.com", "csv", "a b\\N [1md", NOW, "new"),
        ("one.com", "one.com", "csv", "top.csv", NOW, "new"),
        ("two.com", "two.com", "csv", None, NOW, "new"),
    ]
    await on(store, NOW + HOUR).frontier.seed([Seed("one.com", "other.csv", 1)], source="file")
    assert await rows(store, "SELECT source, referrer FROM hosts WHERE host = 'one.com'") == [("csv", "top.csv")]


async def test_every_name_is_counted_or_refused(store: Store, small_chunks: None) -> None:
    bad_entries: list[Seed | Refusal] = [
        Seed("co.uk", "l", 8),
        Refusal("x" * 5, "line_too_long", "it is long", "l", 9),
        Seed("a b", "l", 10),
    ]
    refusals: list[Refusal] = []
    name_counts: list[int] = []

    async def names() -> AsyncIterator[Seed | Refusal]:
        for number in range(20):
            yield Seed(f"n{number % 15}.com")
        for entry in bad_entries:
            yield entry

    report = await on(store).frontier.seed(
        names(), source="test", on_refusal=refusals.append, progress=lambda r: name_counts.append(r.names)
    )
    assert (report.hosts, report.domains, report.known, report.names) == (15, 15, 5, 23)
    assert [(refusal.name, refusal.code, refusal.line) for refusal in refusals] == [
        ("co.uk", "public_suffix", 8), ("xxxxx", "line_too_long", 9), ("a b", "whitespace", 10),
    ]  # fmt: skip
    assert report.refusals == {"public_suffix": 1, "line_too_long": 1, "whitespace": 1}
    assert name_counts == [7, 14, 21, 23]


async def test_a_report_counts_all_refusals_and_keeps_a_few(store: Store) -> None:
    refusals: list[Refusal] = []
    report = await on(store).frontier.seed(["com"] * (KEPT + 50), source="test", on_refusal=refusals.append)
    assert (report.refusals["single_label"], len(report.refused), len(refusals)) == (KEPT + 50, KEPT, KEPT + 50)


async def test_an_interrupted_load_can_be_repeated(store: Store, small_chunks: None) -> None:
    names = [f"n{number}.com" for number in range(30)]

    def failing_names() -> Iterator[str]:
        yield from names[: 2 * SMALL + 3]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk"):
        await on(store).frontier.seed(failing_names(), source="test")
    assert {host for (host,) in await rows(store, "SELECT host FROM hosts")} == set(names[: 2 * SMALL])
    report = await on(store, NOW + HOUR).frontier.seed(names, source="test")
    assert (report.hosts, report.known) == (30 - 2 * SMALL, 2 * SMALL)


async def test_seeding_known_hosts_neither_changes_nor_locks_them(store: Store) -> None:
    await crawl(store, {"one.com": {}})
    before = await rows(store, "SELECT * FROM hosts"), await rows(store, "SELECT * FROM domains")
    async with store.begin() as uow:
        await uow.domains.lock(["one.com"])
        async with asyncio.timeout(HANG_SECONDS):
            report = await on(store, NOW + DAY).frontier.seed(["one.com", "www.one.com."[4:]], source="test")
    assert (report.hosts, report.known) == (0, 2)
    assert (await rows(store, "SELECT * FROM hosts"), await rows(store, "SELECT * FROM domains")) == before


async def test_a_new_host_of_a_known_domain_makes_it_due_but_no_running_lease(store: Store) -> None:
    await crawl(store, {"one.com": {}, "two.com": {}})
    later = NOW + HOUR
    await on(store, later).frontier.submit("www.two.com")
    lease = await leased(store, now=later)
    assert domains_of(lease) == ["two.com"]
    await on(store, later).frontier.seed(["api.one.com", "api.two.com"], source="test")
    moments = dict(await rows(store, "SELECT domain, next_visit_at FROM domains"))
    assert moments == {"one.com": later - SEED_HEAD_START, "two.com": later + LEASE_FOR}
    await record(store, lease.token, [finish(lease.domains[0], {}, later)], now=later)
    assert hosts_of(await take(store, now=later)) == ["api.one.com", "api.two.com"]


async def test_a_host_that_opted_out_is_refused_with_all_below_it(store: Store) -> None:
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("one.com", "one.com", "robots", "", NOW)])
        await uow.opt_outs.add([OptOutRecord("two.com", "blog.two.com", "robots", "", NOW)])
    names = [Seed("one.com", "l"), Seed("a.b.one.com", "l"), Seed("x.blog.two.com", "l"), Seed("myblog.two.com", "l")]
    report = await on(store).frontier.seed(names, source="test")
    assert {(refusal.name, refusal.code, refusal.referrer) for refusal in report.refused} == {
        ("one.com", "opted_out", "l"), ("a.b.one.com", "opted_out", "l"), ("x.blog.two.com", "opted_out", "l"),
    }  # fmt: skip
    assert await rows(store, "SELECT host FROM hosts") == [("myblog.two.com",)]
    assert await rows(store, "SELECT domain FROM domains") == [("two.com",)]


@pytest.mark.slow
async def test_concurrent_writers_of_the_frontier_never_deadlock(store: Store, small_chunks: None) -> None:
    """All write the same domains in different orders; a deadlock would raise StoreUnavailable."""
    names = [f"{label}n{number:02}.com" for number in range(60) for label in ("", "api.", "www.")]
    await on(store).frontier.seed(names[::5], source="before")
    async with store.begin() as uow:
        await uow.candidates.add(
            CandidateRecord(name.split(".", name.count(".") - 1)[-1], name, "x.com", "item", "https://x.com/", NOW)
            for name in names[::2]
        )

    async def load(order: int) -> None:
        shuffled = names[:]
        random.Random(order).shuffle(shuffled)
        await on(store).frontier.seed(shuffled, source=f"loader {order}")

    async def submit_some(order: int) -> None:
        shuffled = names[:]
        random.Random(order).shuffle(shuffled)
        for name in shuffled[:40]:
            await on(store).frontier.submit(name)

    async def fold() -> None:
        for _ in range(12):
            await on(store).frontier.fold_candidates(limit=11)

    async def work() -> None:
        for _ in range(12):
            if lease := await take(store, limit=9):
                await record(store, lease.token, [finish(job, {}) for job in lease.domains])

    await asyncio.gather(load(1), load(2), load(3), submit_some(4), fold(), work())
    assert {host for (host,) in await rows(store, "SELECT host FROM hosts")} == set(names)
    assert len(await rows(store, "SELECT domain FROM domains")) == 60
    orphans_statement = "SELECT h.host FROM hosts h LEFT JOIN domains d USING (domain) WHERE d.domain IS NULL"
    assert await rows(store, orphans_statement) == []


async def _until_waiting(store: Store, number: int, *tasks: "asyncio.Task[SeedReport]") -> None:
    """Wait until this many transactions wait for a lock, or one of the tasks has ended."""

    async def do_wait() -> bool:
        return any(task.done() for task in tasks) or await waiting_for_locks(store) >= number

    await until_true(do_wait)


async def test_concurrent_loaders_of_the_same_names_count_each_once(store: Store) -> None:
    """A lock on one name in the middle makes all loaders wait."""
    names = [f"n{number:03}.com" for number in range(60)]
    shuffled_lists = [random.Random(order).sample(names, len(names)) for order in range(3)]
    async with store.begin() as uow:
        await uow.domains.add(["n030.com"], source="somebody", now=NOW, due=NOW)
        tasks = [
            asyncio.create_task(on(store).frontier.seed(shuffled, source=f"{n}"))
            for n, shuffled in enumerate(shuffled_lists)
        ]
        await _until_waiting(store, len(tasks), *tasks)
    assert sum([(await task).hosts for task in tasks]) == len(names)


async def test_a_new_host_waits_while_its_domain_is_released(store: Store) -> None:
    """Otherwise the next visit of the domain would be computed without it."""
    await on(store).frontier.seed(["one.com"], source="test")
    lease = await leased(store)
    async with store.begin() as uow:
        assert await uow.domains.lock_leased([(lease.token, "one.com")])
        loading = asyncio.create_task(on(store).frontier.seed(["api.one.com"], source="test"))
        await _until_waiting(store, 1, loading)
        assert not loading.done()
        await uow.hosts.unschedule("one.com", "one.com")
        await uow.domains.end_lease(["one.com"])
    await loading
    assert hosts_of(await take(store)) == ["api.one.com"]


@given(
    st.lists(st.text(max_size=12) | st.from_regex(r"[a-z0-9.-]{1,12}\.(com|co\.uk|de\.)", fullmatch=True), max_size=20)
)
@settings(max_examples=100)
def test_names_are_canonicalised_like_single_names(names: list[str]) -> None:
    hosts, refused = canonical_hosts(names, (), 100)
    expected: dict[str, str] = {}
    codes = []
    for name in names:
        try:
            canonical = canonical_host(name.strip())
        except InvalidName as error:
            codes.append((name, error.code))
        else:
            expected.setdefault(canonical.host, canonical.domain)
    assert [(host.host, host.domain) for host in hosts] == list(expected.items())
    assert [(refusal.name, refusal.code) for refusal in refused] == codes


async def test_recorded_hosts_load_unless_they_are_public_suffixes(store: Store) -> None:
    hosts = [line.split("\t")[0] for line in shared("corpus", "domains", "hosts.tsv").read_text().splitlines()[1:]]
    report = await on(store).frontier.seed(hosts, source="test")
    assert [refusal.name for refusal in report.refused] == [host for host in hosts if host in SHIPPED.names]
    assert report.hosts + report.known + len(report.refused) == len(hosts)
    host_rows = await rows(store, "SELECT host, domain FROM hosts")
    assert len(host_rows) == report.hosts
    assert all(canonical_host(host).domain == domain for host, domain in host_rows)


async def test_candidates_of_one_domain_are_limited(store: Store) -> None:
    candidates = [
        CandidateRecord("big.com", f"s{n}.big.com", "x.com", "item", "https://x.com/", NOW) for n in range(30)
    ]
    async with store.begin() as uow:
        await uow.candidates.add(candidates)
    for _ in range(3):
        await on(store).frontier.fold_candidates()
    assert await rows(store, "SELECT count(*) FROM hosts WHERE domain = 'big.com'") == [(MAX_HOSTS_NAMED,)]


async def test_a_host_that_opted_out_while_it_waited_is_not_leased(store: Store) -> None:
    await on(store).frontier.seed(["shop.com", "open.com"], source="test")
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("shop.com", "shop.com", "robots", "", NOW)])
    assert hosts_of(await take(store)) == ["open.com"]
