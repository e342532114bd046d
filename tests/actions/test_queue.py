"""How long the longest due domain has waited; a head start in the queue does not count."""

from datetime import timedelta

import pytest

from registry.actions.frontier.lease import acquire
from registry.actions.frontier.seed import seed
from registry.actions.frontier.submit import submit
from registry.actions.queries.inspect import queue
from registry.store.unit_of_work import Store
from tests.support.builders import NOW

TARGET = "embedded:none"


@pytest.mark.parametrize("minutes", [0, 1, 60 * 24 * 30])
async def test_the_wait_of_a_seed_begins_at_its_seeding(store: Store, minutes: int) -> None:
    await seed(store, ["waits.dev"], source="test", now=NOW)
    waited = timedelta(minutes=minutes)
    queue_state = await queue(store, TARGET, now=NOW + waited)
    assert queue_state.age == waited
    assert queue_state.domains["due"] == 1


async def test_the_wait_of_a_submission_begins_at_its_submission(store: Store) -> None:
    await submit(store, "waits.dev", now=NOW)
    assert (await queue(store, TARGET, now=NOW + timedelta(hours=2))).age == timedelta(hours=2)


async def test_the_longest_wait_counts(store: Store) -> None:
    await seed(store, ["old.dev"], source="test", now=NOW)
    await submit(store, "new.dev", now=NOW + timedelta(hours=5))
    assert (await queue(store, TARGET, now=NOW + timedelta(hours=6))).age == timedelta(hours=6)


async def test_a_leased_domain_does_not_wait(store: Store) -> None:
    await seed(store, ["held.dev"], source="test", now=NOW)
    lease = await acquire(store, limit=10, now=NOW, lease_for=timedelta(hours=1), holder=1)
    assert lease is not None
    queue_state = await queue(store, TARGET, now=NOW + timedelta(minutes=5))
    assert queue_state.age == timedelta() and queue_state.domains["leased"] == 1
