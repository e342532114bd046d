"""Every committed event is read exactly once, in one order, whatever transactions, sequencers and clocks do."""

import asyncio
import random
from collections.abc import Sequence
from datetime import timedelta

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from registry.actions.feed import EventPage, ExpiredCursor, sequence
from registry.core.changes.kinds import KINDS, Types
from registry.store import feed
from registry.store.engine import libpq
from registry.store.feed import BEGINNING, FEED_LOCK, Place
from registry.store.records import ChangeRecord
from registry.store.unit_of_work import Store
from tests.actions.test_prune import KEEP
from tests.support.builders import DAY, HOUR, NOW, on
from tests.support.database import execute, rows, until_true, waiting_for_locks
from tests.support.depth import DEPTH


def event(host: str, number: int = 0, *, kind: str = "service.changed", late: float = 0) -> ChangeRecord:
    return ChangeRecord(host, host, kind, NOW + timedelta(seconds=late), {"n": number})


async def add(store: Store, *changes: ChangeRecord) -> None:
    async with store.begin() as uow:
        await uow.ledger.add_changes(changes)


async def read_all(store: Store, limit: int = 3, types: Types | None = None) -> list[EventPage]:
    pages: list[EventPage] = []
    after: Place | None = None
    while not pages or pages[-1].has_more:
        pages.append(await on(store).feed.page(after, types or Types(), limit))
        after = pages[-1].place
    return pages


def hosts(pages: Sequence[EventPage]) -> list[str]:
    return [event.host for one in pages for event in one.events]


async def test_a_transaction_that_began_first_and_commits_last_is_not_missed(store: Store) -> None:
    async with store.begin() as slow:
        await slow.ledger.add_changes([event("slow.example")])
        await add(store, event("fast.example", late=1))
        first = await on(store).feed.page()
        assert hosts([first]) == ["fast.example"]
        assert not first.has_more
    second = await on(store).feed.page(first.place)
    assert hosts([second]) == ["slow.example"]
    assert second.events[0].event_id > first.events[0].event_id
    assert second.events[0].seq == first.events[0].seq + 1
    assert hosts(await read_all(store)) == ["fast.example", "slow.example"]


async def test_events_of_a_transaction_that_is_rolled_back_take_no_place(store: Store) -> None:
    with pytest.raises(RuntimeError):
        async with store.begin() as uow:
            await uow.ledger.add_changes([event("never.example")])
            await add(store, event("a.example"))
            raise RuntimeError
    await add(store, event("b.example"))
    pages = await read_all(store)
    assert [(e.host, e.seq) for one in pages for e in one.events] == [("a.example", 1), ("b.example", 2)]


async def test_events_of_one_host_keep_their_order_though_clocks_disagree(store: Store) -> None:
    """Two processes record the same host one after the other; the clock of the second is behind."""
    await add(store, event("a.example", 1, late=60), event("a.example", 2, late=60))
    await add(store, event("a.example", 3))
    (only,) = await read_all(store, limit=10)
    assert [e.data["n"] for e in only.events] == [1, 2, 3]


async def test_rows_from_before_there_were_places_get_theirs_by_age(store: Store) -> None:
    await add(store, event("new.example"))
    for late in (2, 1):
        await add(store, event(f"old{late}.example", late=late - 100))
    await execute(store, "UPDATE changes SET arrival = 0 WHERE host LIKE 'old%%'")
    assert hosts(await read_all(store)) == ["old1.example", "old2.example", "new.example"]


async def test_a_sequencer_that_dies_leaves_neither_gaps_nor_its_lock(store: Store) -> None:
    await add(store, event("a.example"))
    await sequence(store)
    await add(store, event("b.example"), event("c.example"))
    connection = await psycopg.AsyncConnection.connect(libpq(store.engine.url))
    await connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", [FEED_LOCK])
    await connection.execute("UPDATE changes SET seq = 2 WHERE host = 'b.example'")
    assert await sequence(store) == 0  # another one is at work: nobody waits for it
    assert hosts(await read_all(store)) == ["a.example"]
    pid = connection.info.backend_pid
    await rows(store, f"SELECT pg_terminate_backend({pid}, 10000)")
    assert [(e.host, e.seq) for one in await read_all(store) for e in one.events] == [
        ("a.example", 1), ("b.example", 2), ("c.example", 3),
    ]  # fmt: skip
    await connection.close()


async def test_a_sequencer_that_hangs_loses_its_lock(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "_SHORT", text("SET LOCAL idle_in_transaction_session_timeout = '100ms'"))
    await add(store, event("a.example"))
    async with store.engine.connect() as connection:
        assert await feed.Feed(connection).sequence() == 1  # and never commits

        async def numbered() -> bool:
            return await sequence(store) == 1

        await until_true(numbered)
        await connection.invalidate()
    assert hosts(await read_all(store)) == ["a.example"]


async def test_redaction_and_sequencing_wait_for_each_other_without_a_deadlock(store: Store) -> None:
    await add(store, *(event("a.example", number) for number in range(50)))
    async with store.begin() as uow:
        assert await uow.feed.redact("a.example", "a.example") == 50
        numbering = asyncio.create_task(sequence(store))

        async def waits() -> bool:
            return await waiting_for_locks(store) == 1

        await until_true(waits)
    assert await numbering == 50
    assert {e.data["redacted"] for one in await read_all(store) for e in one.events} == {True}


@pytest.mark.parametrize("clock_set_back", [False, True])
async def test_ids_rise_with_the_places_and_hold_them(store: Store, clock_set_back: bool) -> None:
    await add(store, *(event(f"{number}.example") for number in range(5)))
    await sequence(store)
    if clock_set_back:  # the latest id is of the year 10889, the greatest time that an id can hold
        await execute(
            store, "UPDATE feed_head SET latest_id = CAST('ffffffff-ff' || substr(latest_id::text, 12) AS uuid)"
        )
    await add(store, *(event(f"{number}.example") for number in range(5, 9)))
    events = [e for one in await read_all(store) for e in one.events]
    assert [e.seq for e in events] == list(range(1, 10))
    assert [e.event_id for e in events] == sorted({e.event_id for e in events})
    assert {(e.event_id.version, e.event_id.variant) for e in events} == {(7, "specified in RFC 4122")}
    assert all(e.event_id.int & ((1 << 40) - 1) == e.seq for e in events)


async def test_concurrent_writers_and_sequencers_lose_and_repeat_nothing(store: Store) -> None:
    """Twelve writers with transactions of random lengths, four sequencers, and a reader that follows meanwhile."""
    dice, done = random.Random(7), asyncio.Event()
    plan = [[dice.randint(1, 4) for _ in range(8 * DEPTH)] for _ in range(12)]

    async def write(writer: int) -> None:
        number = 0
        for size in plan[writer]:
            async with store.begin() as uow:
                for _ in range(size):
                    await uow.ledger.add_changes([event(f"{writer}.example", number)])
                    number += 1
                    await asyncio.sleep(dice.random() / 200)

    async def number_events() -> None:
        while not done.is_set():
            await sequence(store)
            await asyncio.sleep(dice.random() / 100)

    async def follow(limit: int) -> list[tuple[int, str, int]]:
        seen: list[tuple[int, str, int]] = []
        after: Place | None = None
        while True:
            is_last = done.is_set()
            one = await on(store).feed.page(after, limit=limit)
            seen += ((e.seq, e.host, e.data["n"]) for e in one.events)
            after = one.place
            if is_last and not one.has_more:
                return seen
            await asyncio.sleep(0)

    readers = [asyncio.create_task(follow(limit)) for limit in (1, 7)]
    sequencers = [asyncio.create_task(number_events()) for _ in range(4)]
    await asyncio.gather(*(write(writer) for writer in range(len(plan))))
    done.set()
    await asyncio.gather(*sequencers)
    first, second = await asyncio.gather(*readers)
    total = sum(map(sum, plan))
    assert first == second
    assert [seq for seq, _, _ in first] == list(range(1, total + 1))
    for writer, sizes in enumerate(plan):
        assert [n for _, host, n in first if host == f"{writer}.example"] == list(range(sum(sizes)))


async def test_a_place_that_was_pruned_is_expired_and_the_one_at_the_edge_is_not(store: Store) -> None:
    await add(store, *(event(f"{days}.example", late=-days * DAY.total_seconds()) for days in (300, 200, 50, 10)))
    pages = await read_all(store, limit=1)
    assert await on(store).maintenance.prune(KEEP) == {"changes": 2}
    for expired in (pages[0].place, 1, 0, BEGINNING):
        with pytest.raises(ExpiredCursor) as refused:
            await on(store).feed.page(expired)
        assert refused.value.ends.pruned == pages[1].place
    for kept in (pages[1].place, 2, None):
        assert hosts([await on(store).feed.page(kept)]) == ["50.example", "10.example"]
    assert await on(store, NOW + 200 * DAY).maintenance.prune(KEEP) == {"changes": 2}
    assert (await on(store).feed.page(pages[3].place)).events == ()
    assert (await on(store).feed.state()).ends.latest == pages[3].place  # an empty feed knows its ends
    await add(store, event("later.example"))
    assert [e.seq for e in (await on(store).feed.page(pages[3].place)).events] == [5]


async def test_pruning_keeps_what_follows_an_event_that_stays(store: Store) -> None:
    """A clock was wrong: an old event has its place after a younger one. The end of the feed stays exact."""
    await add(store, event("young.example"), event("old.example", late=-300 * DAY.total_seconds()))
    assert await on(store, NOW + HOUR).maintenance.prune(KEEP) == {}
    assert hosts(await read_all(store)) == ["young.example", "old.example"]


async def test_a_place_from_before_a_restore_is_expired(store: Store) -> None:
    await add(store, event("a.example"), event("b.example"))
    await on(store).feed.page()
    async with store.engine.begin() as connection:  # a backup from when there was one event
        await connection.exec_driver_sql("DELETE FROM changes WHERE host = 'b.example'")
        await connection.exec_driver_sql(
            "UPDATE feed_head SET latest_seq = 1, latest_id = (SELECT event_id FROM changes)"
        )
    lost = Place(2, feed._NIL)
    with pytest.raises(ExpiredCursor):
        await on(store).feed.page(lost)
    await add(store, event("c.example"))
    with pytest.raises(ExpiredCursor):
        await on(store).feed.page(lost)  # another event has this place now
    assert hosts(await read_all(store)) == ["a.example", "c.example"]


async def test_a_feed_without_any_event(store: Store) -> None:
    one = await on(store).feed.page()
    assert (one.events, one.has_more, one.place) == ((), False, BEGINNING)
    assert (await on(store).feed.latest()).place == BEGINNING
    await add(store, event("a.example"))
    assert hosts([await on(store).feed.page(one.place)]) == ["a.example"]


async def test_the_state_tells_what_waits(store: Store) -> None:
    await add(store, event("a.example"))
    await sequence(store)
    await add(store, event("b.example", late=5), event("c.example", late=9))
    now = await on(store).feed.state()
    assert (now.ends.latest.seq, now.ends.latest_at, now.oldest_at) == (1, NOW, NOW)
    assert (now.unsequenced, now.unsequenced_since) == (2, NOW + timedelta(seconds=5))


async def test_a_filter_that_nothing_matches_moves_on_a_window_at_a_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "WINDOW", 4)
    await add(store, *(event(f"{number}.example") for number in range(10)), event("x.example", kind="host.forgotten"))
    pages = await read_all(store, types=Types.of(["host.*"]))
    assert [len(one.events) for one in pages] == [0, 0, 1]
    assert [one.place.seq for one in pages] == [4, 8, 11]


@settings(max_examples=20)
@given(
    patterns=st.sets(st.sampled_from([*KINDS, "service.*", "host.*"]), min_size=1),
)
def test_a_filter_lets_through_what_it_names(patterns: set[str]) -> None:
    types = Types.of(patterns)
    expected = {kind for kind in KINDS if kind in patterns or f"{kind.split('.')[0]}.*" in patterns}
    assert sorted(types.kinds or ()) == sorted(expected)
