"""Advisory locks that last as long as their session."""

import asyncio
from pathlib import Path

import pytest

from registry.store.engine import StoreUnavailable, make_engine
from registry.store.holder import hold_leases, hold_target
from registry.store.unit_of_work import Store
from tests.support.hang import HANG_SECONDS


async def test_a_target_has_one_holder_and_is_free_at_once_afterwards(store: Store) -> None:
    for _ in range(20):
        async with hold_target(store.engine, "one") as first:
            assert first is not None and await first.is_alive()
            async with hold_target(store.engine, "one") as second, hold_target(store.engine, "two") as other_target:
                assert second is None
                assert other_target is not None


async def test_every_lease_holder_has_its_own_id(store: Store) -> None:
    async with hold_leases(store.engine) as first, hold_leases(store.engine) as second:
        assert first.id != second.id
        assert await first.is_alive() and await second.is_alive()


async def test_a_lost_lock_is_noticed_at_once_and_a_cancelled_wait_keeps_it(store: Store) -> None:
    async with hold_leases(store.engine) as holder:
        loss_wait = asyncio.create_task(holder.until_lost())
        done, _ = await asyncio.wait({loss_wait}, timeout=0.2)
        assert not done
        loss_wait.cancel()
        await asyncio.gather(loss_wait, return_exceptions=True)
        assert await holder.is_alive()
        loss_wait = asyncio.create_task(holder.until_lost())
        async with store.engine.begin() as connection:
            await connection.exec_driver_sql(
                "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
                " WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()"
            )
        await asyncio.wait_for(loss_wait, HANG_SECONDS)


async def test_without_a_server_no_lock_is_held(tmp_path: Path) -> None:
    engine = make_engine(f"postgresql://nobody@/nothing?host={tmp_path}")
    with pytest.raises(StoreUnavailable):
        async with hold_leases(engine):
            pytest.fail("held")
    with pytest.raises(StoreUnavailable):
        async with hold_target(engine, "one"):
            pytest.fail("held")
    await engine.dispose()
