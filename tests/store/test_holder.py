"""Locks that live as long as their session."""

import asyncio
from pathlib import Path

import pytest

from registry.store.engine import make_engine
from registry.store.errors import StoreUnavailable
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


async def test_who_loses_the_lock_learns_of_it_at_once_and_who_asks_in_vain_keeps_it(store: Store) -> None:
    async with hold_leases(store.engine) as holder:
        asking = asyncio.create_task(holder.until_lost())
        done, _ = await asyncio.wait({asking}, timeout=0.2)
        assert not done
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert await holder.is_alive()
        asking = asyncio.create_task(holder.until_lost())
        async with store.engine.begin() as connection:
            await connection.exec_driver_sql(
                "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
                " WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()"
            )
        await asyncio.wait_for(asking, 20)


async def test_without_a_server_there_is_no_lock(tmp_path: Path) -> None:
    engine = make_engine(f"postgresql://nobody@/nothing?host={tmp_path}")
    with pytest.raises(StoreUnavailable):
        async with hold_leases(engine):
            pytest.fail("held")
    with pytest.raises(StoreUnavailable):
        async with hold_target(engine, "one"):
            pytest.fail("held")
    await engine.dispose()
