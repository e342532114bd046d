"""How long the longest due domain has waited, whatever head start it was given."""

from datetime import timedelta

import pytest

from registry.actions.answering.inspect import queue
from registry.actions.frontier.due import due
from registry.actions.frontier.seed import seed
from registry.actions.frontier.submit import submit
from registry.store.unit_of_work import Store
from tests.support.builders import NOW

TARGET = "embedded:none"


@pytest.mark.parametrize("minutes", [0, 1, 60 * 24 * 30])
async def test_a_seed_waits_since_it_was_named(store: Store, minutes: int) -> None:
    await seed(store, ["waits.dev"], source="test", now=NOW)
    waited = timedelta(minutes=minutes)
    stands = await queue(store, TARGET, now=NOW + waited)
    assert stands.age == waited
    assert stands.domains["due"] == 1


async def test_a_submission_waits_since_it_was_made(store: Store) -> None:
    await submit(store, "waits.dev", now=NOW)
    assert (await queue(store, TARGET, now=NOW + timedelta(hours=2))).age == timedelta(hours=2)


async def test_the_longest_wait_counts(store: Store) -> None:
    await seed(store, ["old.dev"], source="test", now=NOW)
    await submit(store, "new.dev", now=NOW + timedelta(hours=5))
    assert (await queue(store, TARGET, now=NOW + timedelta(hours=6))).age == timedelta(hours=6)


async def test_what_is_being_visited_does_not_wait(store: Store) -> None:
    await seed(store, ["held.dev"], source="test", now=NOW)
    lease = await due(store, limit=10, now=NOW, lease_for=timedelta(hours=1), holder=1)
    assert lease is not None
    stands = await queue(store, TARGET, now=NOW + timedelta(minutes=5))
    assert stands.age == timedelta() and stands.domains["leased"] == 1
