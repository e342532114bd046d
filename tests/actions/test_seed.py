"""Lists of names into the frontier: complete, in order, once, beside everybody else who writes there."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.actions.frontier import seed as seeding
from registry.actions.frontier.seed import KEPT, SEED_HEAD_START, SeedReport, fold_candidates, seed
from registry.actions.frontier.submit import submit
from registry.actions.recording.record import record
from registry.core.domains import InvalidName, canonical_host
from registry.core.seeds import Refusal, Seed
from registry.store.records import CandidateRecord, OptOutRecord
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, HOUR, LEASE_FOR, NOW, crawl, domains_of, finish, hosts_of, take
from tests.support.database import rows, until_true, waiting_for_locks
from tests.support.shared import shared

SMALL = 7


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many transactions for few names."""
    monkeypatch.setattr(seeding, "CHUNK", SMALL)


async def test_the_first_of_a_list_is_visited_first(store: Store, small_chunks: None) -> None:
    names = [f"site-{number}.com" for number in range(30)]
    random.Random(5).shuffle(names)
    await seed(store, names, source="test", now=NOW)
    order = []
    while lease := await take(store, limit=1):
        order += domains_of(lease)
    assert order == names


async def test_a_later_list_comes_behind_an_earlier_one(store: Store) -> None:
    await seed(store, ["b.com", "a.com"], source="test", now=NOW)
    await seed(store, ["c.com"], source="test", now=NOW + timedelta(seconds=1))
    order = []
    while lease := await take(store, limit=1, now=NOW + HOUR):
        order += domains_of(lease)
    assert order == ["b.com", "a.com", "c.com"]


async def test_what_a_source_says_is_kept(store: Store) -> None:
    seeds = [
        Seed("One.com", "top.csv", 1),
        Seed("api.one.com", "a\tb\\N\n\x1b[1md\r\0\ud800", 2),
        Seed("two.com", None, 3),
    ]
    await seed(store, seeds, source="csv", now=NOW)
    assert await rows(
        store, "SELECT host, domain, source, referrer, created_at, next_visit_why FROM hosts ORDER BY 1"
    ) == [
        ("api.one.com", "one.com", "csv", "a b\\N [1md", NOW, "new"),
        ("one.com", "one.com", "csv", "top.csv", NOW, "new"),
        ("two.com", "two.com", "csv", None, NOW, "new"),
    ]
    await seed(store, [Seed("one.com", "other.csv", 1)], source="file", now=NOW + HOUR)
    assert await rows(store, "SELECT source, referrer FROM hosts WHERE host = 'one.com'") == [("csv", "top.csv")]


async def test_every_name_is_accounted_for(store: Store, small_chunks: None) -> None:
    bad: list[Seed | Refusal] = [
        Seed("co.uk", "l", 8),
        Refusal("x" * 5, "line_too_long", "it is long", "l", 9),
        Seed("a b", "l", 10),
    ]
    told: list[Refusal] = []
    known: list[int] = []

    async def names() -> AsyncIterator[Seed | Refusal]:
        for number in range(20):
            yield Seed(f"n{number % 15}.com")
        for one in bad:
            yield one

    report = await seed(
        store, names(), source="test", now=NOW, on_refusal=told.append, progress=lambda r: known.append(r.names)
    )
    assert (report.hosts, report.domains, report.known, report.names) == (15, 15, 5, 23)
    assert [(one.name, one.code, one.place) for one in told] == [
        ("co.uk", "public_suffix", 8), ("xxxxx", "line_too_long", 9), ("a b", "whitespace", 10),
    ]  # fmt: skip
    assert report.refusals == {"public_suffix": 1, "line_too_long": 1, "whitespace": 1}
    assert known == [7, 14, 21, 23]


async def test_a_report_counts_all_refusals_and_keeps_a_few(store: Store) -> None:
    told: list[Refusal] = []
    report = await seed(store, ["com"] * (KEPT + 50), source="test", now=NOW, on_refusal=told.append)
    assert (report.refusals["single_label"], len(report.refused), len(told)) == (KEPT + 50, KEPT, KEPT + 50)


async def test_an_interrupted_load_is_a_prefix_that_can_be_repeated(store: Store, small_chunks: None) -> None:
    names = [f"n{number}.com" for number in range(30)]

    def broken() -> Iterator[str]:
        yield from names[: 2 * SMALL + 3]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk"):
        await seed(store, broken(), source="test", now=NOW)
    assert {host for (host,) in await rows(store, "SELECT host FROM hosts")} == set(names[: 2 * SMALL])
    report = await seed(store, names, source="test", now=NOW + HOUR)
    assert (report.hosts, report.known) == (30 - 2 * SMALL, 2 * SMALL)


async def test_seeding_again_neither_moves_nor_locks_what_is_known(store: Store) -> None:
    await crawl(store, {"one.com": {}})
    before = await rows(store, "SELECT * FROM hosts"), await rows(store, "SELECT * FROM domains")
    async with store.begin() as uow:
        await uow.domains.lock(["one.com"])
        async with asyncio.timeout(120):
            report = await seed(store, ["one.com", "www.one.com."[4:]], source="test", now=NOW + DAY)
    assert (report.hosts, report.known) == (0, 2)
    assert (await rows(store, "SELECT * FROM hosts"), await rows(store, "SELECT * FROM domains")) == before


async def test_a_new_host_of_a_known_domain_makes_it_due_but_no_running_lease(store: Store) -> None:
    await crawl(store, {"one.com": {}, "two.com": {}})
    later = NOW + HOUR
    await submit(store, "www.two.com", now=later)
    lease = await take(store, now=later)
    assert lease is not None and domains_of(lease) == ["two.com"]
    await seed(store, ["api.one.com", "api.two.com"], source="test", now=later)
    moments = dict(await rows(store, "SELECT domain, next_visit_at FROM domains"))
    assert moments == {"one.com": later - SEED_HEAD_START, "two.com": later + LEASE_FOR}
    await record(store, lease.token, [finish(lease.domains[0], {}, later)], now=later)
    assert hosts_of(await take(store, now=later)) == ["api.one.com", "api.two.com"]


async def test_who_opted_out_is_refused_with_everything_below(store: Store) -> None:
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("one.com", "one.com", "robots", "", NOW)])
        await uow.opt_outs.add([OptOutRecord("two.com", "blog.two.com", "robots", "", NOW)])
    names = [Seed("one.com", "l"), Seed("a.b.one.com", "l"), Seed("x.blog.two.com", "l"), Seed("myblog.two.com", "l")]
    report = await seed(store, names, source="test", now=NOW)
    assert {(one.name, one.code, one.referrer) for one in report.refused} == {
        ("one.com", "opted_out", "l"), ("a.b.one.com", "opted_out", "l"), ("x.blog.two.com", "opted_out", "l"),
    }  # fmt: skip
    assert await rows(store, "SELECT host FROM hosts") == [("myblog.two.com",)]
    assert await rows(store, "SELECT domain FROM domains") == [("two.com",)]


@pytest.mark.slow
async def test_loaders_submissions_links_and_workers_never_wait_in_a_circle(store: Store, small_chunks: None) -> None:
    """In opposite orders over the same domains, some of which are there: a deadlock would be StoreUnavailable."""
    names = [f"{label}n{number:02}.com" for number in range(60) for label in ("", "api.", "www.")]
    await seed(store, names[::5], source="before", now=NOW)
    async with store.begin() as uow:
        await uow.candidates.add(
            CandidateRecord(name.split(".", name.count(".") - 1)[-1], name, "x.com", "item", "https://x.com/", NOW)
            for name in names[::2]
        )

    async def load(order: int) -> None:
        mine = names[:]
        random.Random(order).shuffle(mine)
        await seed(store, mine, source=f"loader {order}", now=NOW)

    async def ask(order: int) -> None:
        mine = names[:]
        random.Random(order).shuffle(mine)
        for name in mine[:40]:
            await submit(store, name, now=NOW)

    async def fold() -> None:
        for _ in range(12):
            await fold_candidates(store, now=NOW, limit=11)

    async def work() -> None:
        for _ in range(12):
            if lease := await take(store, limit=9):
                await record(store, lease.token, [finish(job, {}) for job in lease.domains], now=NOW)

    await asyncio.gather(load(1), load(2), load(3), ask(4), fold(), work())
    assert {host for (host,) in await rows(store, "SELECT host FROM hosts")} == set(names)
    assert len(await rows(store, "SELECT domain FROM domains")) == 60
    broken = "SELECT h.host FROM hosts h LEFT JOIN domains d USING (domain) WHERE d.domain IS NULL"
    assert await rows(store, broken) == []


async def _until_waiting(store: Store, number: int, *tasks: "asyncio.Task[SeedReport]") -> None:
    """So many transactions wait for a lock, or one of the tasks has ended."""

    async def do_wait() -> bool:
        return any(task.done() for task in tasks) or await waiting_for_locks(store) >= number

    await until_true(do_wait)


async def test_loaders_of_the_same_names_wait_for_each_other_in_order(store: Store) -> None:
    """Somebody's name in the middle makes all of them meet."""
    names = [f"n{number:03}.com" for number in range(60)]
    mine = [random.Random(order).sample(names, len(names)) for order in range(3)]
    async with store.begin() as uow:
        await uow.domains.add(["n030.com"], source="somebody", now=NOW, due=NOW)
        tasks = [asyncio.create_task(seed(store, one, source=f"{n}", now=NOW)) for n, one in enumerate(mine)]
        await _until_waiting(store, len(tasks), *tasks)
    assert sum([(await task).hosts for task in tasks]) == len(names)


async def test_a_new_host_waits_for_whoever_gives_its_domain_back(store: Store) -> None:
    """Or the next visit of the domain would be computed without it."""
    await seed(store, ["one.com"], source="test", now=NOW)
    lease = await take(store)
    assert lease is not None
    async with store.begin() as uow:
        assert await uow.domains.hold([(lease.token, "one.com")])
        loading = asyncio.create_task(seed(store, ["api.one.com"], source="test", now=NOW))
        await _until_waiting(store, 1, loading)
        assert not loading.done()
        await uow.hosts.never_again("one.com", "one.com")
        await uow.domains.give_back(["one.com"])
    await loading
    assert hosts_of(await take(store)) == ["api.one.com"]


@given(
    st.lists(st.text(max_size=12) | st.from_regex(r"[a-z0-9.-]{1,12}\.(com|co\.uk|de\.)", fullmatch=True), max_size=20)
)
@settings(max_examples=100)
def test_names_mean_what_the_canonicaliser_says(names: list[str]) -> None:
    named, refused = seeding._canonical(names, (), 100)
    expected: dict[str, str] = {}
    codes = []
    for name in names:
        try:
            found = canonical_host(name.strip())
        except InvalidName as error:
            codes.append((name, error.code))
        else:
            expected.setdefault(found.host, found.domain)
    assert [(one.host, one.domain) for one in named] == list(expected.items())
    assert [(one.name, one.code) for one in refused] == codes


async def test_recorded_hosts_load_without_a_refusal(store: Store) -> None:
    lines = shared("corpus", "domains", "hosts.tsv").read_text().splitlines()[1:]
    report = await seed(store, (line.split("\t")[0] for line in lines), source="test", now=NOW)
    assert (report.hosts + report.known, report.refused) == (len(lines), [])
    found = await rows(store, "SELECT host, domain FROM hosts")
    assert len(found) == report.hosts
    assert all(canonical_host(host).domain == domain for host, domain in found)
