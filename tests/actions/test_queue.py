"""How long the longest due domain has waited; a head start in the queue does not count."""

from datetime import timedelta

import pytest

from registry.search.embedded import EmbeddedBackend
from registry.store.unit_of_work import Store
from tests.support.builders import NOW, on


@pytest.mark.parametrize("minutes", [0, 1, 60 * 24 * 30])
async def test_the_wait_of_a_seed_begins_at_its_seeding(store: Store, backend: EmbeddedBackend, minutes: int) -> None:
    await on(store).frontier.seed(["waits.dev"], source="test")
    waited = timedelta(minutes=minutes)
    queue_state = await on(store, NOW + waited, backend=backend).search.queue()
    assert queue_state.age == waited
    assert queue_state.domains["due"] == 1


async def test_the_wait_of_a_submission_begins_at_its_submission(store: Store, backend: EmbeddedBackend) -> None:
    await on(store).frontier.submit("waits.dev")
    assert (await on(store, NOW + timedelta(hours=2), backend=backend).search.queue()).age == timedelta(hours=2)


async def test_the_longest_wait_counts(store: Store, backend: EmbeddedBackend) -> None:
    await on(store).frontier.seed(["old.dev"], source="test")
    await on(store, NOW + timedelta(hours=5)).frontier.submit("new.dev")
    assert (await on(store, NOW + timedelta(hours=6), backend=backend).search.queue()).age == timedelta(hours=6)


async def test_a_leased_domain_does_not_wait(store: Store, backend: EmbeddedBackend) -> None:
    await on(store).frontier.seed(["held.dev"], source="test")
    lease = await on(store).crawl.lease(limit=10, holder=1)
    assert lease is not None
    queue_state = await on(store, NOW + timedelta(minutes=5), backend=backend).search.queue()
    assert queue_state.age == timedelta() and queue_state.domains["leased"] == 1
