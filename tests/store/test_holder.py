"""Locks that live as long as their session."""

from registry.store.holder import hold_leases, hold_target
from registry.store.unit_of_work import Store


async def test_a_target_has_one_drainer_at_a_time_and_is_free_as_soon_as_it_lets_go(store: Store) -> None:
    for _ in range(20):
        async with hold_target(store.engine, "one") as first:
            assert first is not None and await first.is_alive()
            async with hold_target(store.engine, "one") as second, hold_target(store.engine, "two") as other:
                assert second is None
                assert other is not None


async def test_every_worker_has_a_number_of_its_own(store: Store) -> None:
    async with hold_leases(store.engine) as one, hold_leases(store.engine) as two:
        assert one.id != two.id
        assert await one.is_alive() and await two.is_alive()
