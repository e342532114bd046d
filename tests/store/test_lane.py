"""The lane of every answer: what the driver is told, and what becomes of it when connections are cut."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.store.engine import libpq, sqlalchemy_url
from registry.store.errors import StoreUnavailable, Unstorable
from registry.store.lane import Lane, texts
from registry.store.unit_of_work import Store
from tests.support.database import rows

WHO = "SELECT pg_backend_pid()"
STORABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@pytest.fixture
async def lane(database_url: str) -> AsyncIterator[Lane]:
    opened = Lane(libpq(sqlalchemy_url(database_url)), connections=3)
    yield opened
    await opened.close()


async def cut(store: Store) -> int:
    """Every connection to this database but our own, as a restart would; gives their number."""
    cutting = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
    others = "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    return len(await rows(store, f"{cutting} {others}"))


@given(st.lists(STORABLE))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_an_array_arrives_as_it_was_said(lane: Lane, values: list[str]) -> None:
    assert await lane.rows("SELECT %(values)s::text[]", {"values": texts(values)}) == [(values,)]


async def test_jsonb_comes_undecoded(lane: Lane) -> None:
    assert await lane.rows("SELECT '[1e5000]'::jsonb, NULL::jsonb", {}) == [(b"[1" + 5000 * b"0" + b"]", None)]


async def test_connections_are_kept_and_few(lane: Lane) -> None:
    assert await lane.rows(WHO, {}) == await lane.rows(WHO, {})
    used = await asyncio.gather(*(lane.rows("SELECT pg_backend_pid() FROM pg_sleep(0.01)", {}) for _ in range(12)))
    assert len({one[0] for one in used}) == 3


async def test_who_was_cut_asks_again(lane: Lane, store: Store) -> None:
    before = await asyncio.gather(*(lane.rows("SELECT pg_backend_pid() FROM pg_sleep(0.01)", {}) for _ in range(3)))
    assert await cut(store) == 3
    after = await asyncio.gather(*(lane.rows(WHO, {}) for _ in range(6)))
    assert not {one[0] for one in before} & {one[0] for one in after}


async def test_a_connection_that_is_cut_under_a_question(lane: Lane, store: Store) -> None:
    await lane.rows(WHO, {})
    asked = asyncio.create_task(lane.rows("SELECT pg_backend_pid() FROM pg_sleep(0.5)", {}))
    await asyncio.sleep(0.2)
    assert await cut(store) == 1
    assert len(await asked) == 1


async def test_a_server_that_is_away_is_unavailable(database_url: str) -> None:
    url = sqlalchemy_url(database_url)
    lane = Lane(libpq(url.set(database="nobody_made_this")))
    for _ in range(5):  # no slot is lost
        with pytest.raises(StoreUnavailable):
            await lane.rows(WHO, {})
    await lane.close()


async def test_a_refused_value_and_a_fault_of_ours_cost_no_slot(lane: Lane) -> None:
    for _ in range(4):
        with pytest.raises(Unstorable):
            await lane.rows("SELECT %(values)s::text[]", {"values": texts(["\0"])})
        with pytest.raises(psycopg.errors.UndefinedColumn):
            await lane.rows("SELECT nothing", {})
    assert await lane.rows("SELECT 1", {}) == [(1,)]


async def test_who_gives_up_waiting_leaves_a_lane_that_works(lane: Lane) -> None:
    for _ in range(4):
        asked = asyncio.create_task(lane.rows("SELECT pg_sleep(5)", {}))
        await asyncio.sleep(0.05)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
    assert await lane.rows("SELECT 1", {}) == [(1,)]


async def test_a_database_that_does_not_answer_is_not_waited_for(
    lane: Lane, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with store.begin() as uow:
        await uow._connection.exec_driver_sql("LOCK TABLE services")
        with monkeypatch.context() as impatient, pytest.raises(StoreUnavailable, match="not answered"):
            impatient.setattr("registry.store.lane.ANSWER_SECONDS", 0.1)
            await lane.rows("SELECT count(*) FROM services", {})
    assert await lane.rows("SELECT count(*) FROM services", {}) == [(0,)]
