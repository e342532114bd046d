"""Clients take turns in the queue of visits: whatever one of them submits delays another's host by one visit."""

from datetime import timedelta

from registry.store.unit_of_work import Store
from tests.support.builders import NOW, domains_of, on, take
from tests.support.database import execute, rows

FLOOD, HONEST, OTHER = "198.51.100.1", "203.0.113.7", "203.0.113.8"
SECOND = timedelta(seconds=1)


async def submitted(store: Store, client: str | None, *names: str, now: object = NOW) -> None:
    for name in names:
        assert (await on(store).frontier.submit(name, client=client)).state in ("new", "queued")


async def order_of(store: Store, number: int) -> list[str]:
    """Lease one domain after the other; return them in this order."""
    order: list[str] = []
    for _ in range(number):
        order += domains_of(await take(store, limit=1))
    return order


async def test_clients_take_turns(store: Store) -> None:
    await submitted(store, FLOOD, *(f"flood-{number}.com" for number in range(6)))
    assert await order_of(store, 2) == ["flood-0.com", "flood-1.com"]
    await submitted(store, HONEST, "honest-0.com", "honest-1.com")
    order = await order_of(store, 6)
    assert sorted(order[:2]) == ["flood-2.com", "honest-0.com"]
    assert sorted(order[2:4]) == ["flood-3.com", "honest-1.com"]
    assert order[4:] == ["flood-4.com", "flood-5.com"]


async def test_ten_thousand_submissions_of_one_client_delay_another_by_one(store: Store) -> None:
    """The flood is written as rows. Its places are ten minutes apart in all, so that writing them may take long."""
    await submitted(store, FLOOD, "flood-0.com")
    async with store.engine.begin() as connection:
        for statement in (
            "INSERT INTO domains (domain, source, created_at, next_visit_at)"
            " SELECT 'flood-' || n || '.com', 'submission', created_at,"
            " next_visit_at + n * interval '60 milliseconds' FROM domains, generate_series(1, 9999) n",
            "INSERT INTO hosts (domain, host, source, created_at, next_visit_at, submitted_at, next_visit_why)"
            " SELECT d.domain, d.domain, 'submission', d.created_at, d.next_visit_at, d.created_at, 'asked'"
            " FROM domains d WHERE NOT EXISTS (SELECT FROM hosts h WHERE h.domain = d.domain)",
            "UPDATE turns SET due = due + 9999 * interval '60 milliseconds'",
        ):
            await connection.exec_driver_sql(statement)
    await submitted(store, FLOOD, "flood-10000.com")
    await submitted(store, HONEST, "honest.com")
    await submitted(store, OTHER, "other.com", "flood-7777.com")
    first = domains_of(await take(store, limit=4))
    assert {"honest.com", "other.com"} <= set(first)
    assert "flood-7777.com" in first + domains_of(await take(store, limit=2)), "it is somebody else's first turn too"
    last = await rows(
        store,
        "SELECT domain FROM domains ORDER BY next_visit_at DESC LIMIT 1",
    )
    assert last != [("honest.com",)]
    waiting = "SELECT domain FROM domains WHERE lease_token IS NULL ORDER BY next_visit_at DESC LIMIT 1"
    assert await rows(store, waiting) == [("flood-10000.com",)]


async def test_a_waiting_host_comes_forward_when_another_client_submits_it(store: Store) -> None:
    await submitted(store, FLOOD, *(f"flood-{number}.com" for number in range(4)), "victim.com")
    await submitted(store, FLOOD, "victim.com")
    assert (await order_of(store, 1)) == ["flood-0.com"]
    await submitted(store, HONEST, "victim.com")
    assert "victim.com" in await order_of(store, 2)


async def test_the_operator_waits_for_nobody(store: Store) -> None:
    await submitted(store, FLOOD, *(f"flood-{number}.com" for number in range(4)))
    await submitted(store, None, "urgent.com")
    assert "urgent.com" in await order_of(store, 2)


async def test_submissions_come_before_seeds_however_many_there_are(store: Store) -> None:
    await on(store, NOW - timedelta(days=1)).frontier.seed(["seeded.com"], source="test")
    await submitted(store, FLOOD, "flood-0.com")
    await execute(store, "UPDATE turns SET due = due + interval '10 years'")
    await submitted(store, FLOOD, "flood-1.com")
    assert await order_of(store, 3) == ["flood-0.com", "flood-1.com", "seeded.com"]


async def test_places_begin_anew_when_nobody_waits(store: Store) -> None:
    await submitted(store, FLOOD, "flood-0.com")
    assert await order_of(store, 1) == ["flood-0.com"]
    later = NOW + 60 * SECOND
    await on(store, later).frontier.submit("late.com", client=HONEST)
    ((due,),) = await rows(store, "SELECT next_visit_at FROM domains WHERE domain = 'late.com'")
    assert due == later - timedelta(days=730)
