"""The direct database connections of the read path: values as the driver gets them, and recovery of cut connections."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.store.engine import StoreUnavailable, Unstorable, libpq, sqlalchemy_url
from registry.store.lane import QueryPool, texts
from registry.store.unit_of_work import Store
from tests.support.database import rows, until_true, waiting_for_locks

BACKEND_PID = "SELECT pg_backend_pid()"
STORABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@pytest.fixture
async def lane(database_url: str) -> AsyncIterator[QueryPool]:
    pool = QueryPool(libpq(sqlalchemy_url(database_url)), connections=3)
    yield pool
    await pool.close()


async def cut_connections(store: Store) -> int:
    """Terminate every other connection to this database, as a restart would; return their number."""
    statement = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
    condition = "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    return len(await rows(store, f"{statement} {condition}"))


@given(st.lists(STORABLE))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_an_array_of_texts_is_passed_unchanged(lane: QueryPool, values: list[str]) -> None:
    assert await lane.rows("SELECT %(values)s::text[]", {"values": texts(values)}) == [(values,)]


async def test_jsonb_is_returned_undecoded(lane: QueryPool) -> None:
    assert await lane.rows("SELECT '[1e5000]'::jsonb, NULL::jsonb", {}) == [(b"[1" + 5000 * b"0" + b"]", None)]


async def test_connections_are_reused_and_limited(lane: QueryPool) -> None:
    assert await lane.rows(BACKEND_PID, {}) == await lane.rows(BACKEND_PID, {})
    pid_rows = await asyncio.gather(*(lane.rows("SELECT pg_backend_pid() FROM pg_sleep(0.01)", {}) for _ in range(12)))
    assert len({row[0] for row in pid_rows}) == 3


async def test_a_query_is_repeated_on_a_new_connection_after_a_cut(lane: QueryPool, store: Store) -> None:
    before = await asyncio.gather(*(lane.rows("SELECT pg_backend_pid() FROM pg_sleep(0.01)", {}) for _ in range(3)))
    assert await cut_connections(store) == 3
    after = await asyncio.gather(*(lane.rows(BACKEND_PID, {}) for _ in range(6)))
    assert not {row[0] for row in before} & {row[0] for row in after}


async def test_a_query_is_repeated_if_its_connection_is_cut_meanwhile(lane: QueryPool, store: Store) -> None:
    await lane.rows(BACKEND_PID, {})  # leaves an idle connection
    waiting_sessions = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with store.begin() as uow:
        await uow._connection.exec_driver_sql("LOCK TABLE services")
        query = asyncio.create_task(lane.rows("SELECT count(*) FROM services", {}))
        await until_true(lambda: waiting_for_locks(store))
        assert await rows(store, f"SELECT pg_terminate_backend(pid, 60000) {waiting_sessions}") == [(True,)]
    assert await query == [(0,)]


async def test_a_missing_database_is_unavailable(database_url: str) -> None:
    url = sqlalchemy_url(database_url)
    lane = QueryPool(libpq(url.set(database="nobody_made_this")))
    for _ in range(5):  # no slot is lost
        with pytest.raises(StoreUnavailable):
            await lane.rows(BACKEND_PID, {})
    await lane.close()


async def test_failing_queries_free_their_connections(lane: QueryPool) -> None:
    for _ in range(4):
        with pytest.raises(Unstorable):
            await lane.rows("SELECT %(values)s::text[]", {"values": texts(["\0"])})
        with pytest.raises(psycopg.errors.UndefinedColumn):
            await lane.rows("SELECT nothing", {})
    assert await lane.rows("SELECT 1", {}) == [(1,)]


async def test_cancelled_queries_free_their_connections(lane: QueryPool) -> None:
    for _ in range(4):
        query = asyncio.create_task(lane.rows("SELECT pg_sleep(5)", {}))
        await asyncio.sleep(0.05)
        query.cancel()
        with pytest.raises(asyncio.CancelledError):
            await query
    assert await lane.rows("SELECT 1", {}) == [(1,)]


async def test_a_query_without_an_answer_times_out(
    lane: QueryPool, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with store.begin() as uow:
        await uow._connection.exec_driver_sql("LOCK TABLE services")
        with monkeypatch.context() as patched, pytest.raises(StoreUnavailable, match="not answered"):
            patched.setattr("registry.store.lane.ANSWER_SECONDS", 0.1)
            await lane.rows("SELECT count(*) FROM services", {})
    assert await lane.rows("SELECT count(*) FROM services", {}) == [(0,)]
