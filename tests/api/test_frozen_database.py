"""A database that accepts connections and says nothing, as a frozen machine does: answers in bounded time."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx2
import pytest
from pydantic import SecretStr

from registry import wiring
from registry.api import health
from registry.settings import Settings
from registry.store import engine, holder, lane
from registry.store.embedded_postgres.watchdog import PID_FILE
from registry.store.engine import NoAnswer, connect, libpq, make_engine, sqlalchemy_url
from registry.store.holder import hold_leases
from registry.store.unit_of_work import Store
from registry.wiring import StoreUnavailable, Waypost, open_waypost
from tests.support.api import make_client
from tests.support.cluster import own_server
from tests.support.database import until_true
from tests.support.hang import HANG_SECONDS

pytestmark = pytest.mark.slow
LIMIT = 2.0


@dataclass
class Frozen:
    """A server, and a registry of it whose clients wait."""

    url: str
    data: Path
    waypost: Waypost
    client: httpx2.AsyncClient

    @contextmanager
    def frozen(self) -> Iterator[None]:
        postmaster = int((self.data / PID_FILE).read_text().split()[0])
        stopped = [postmaster]
        os.kill(postmaster, signal.SIGSTOP)  # first, so that no process is added
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for child in map(int, children):
            os.kill(child, signal.SIGSTOP)
            stopped.append(child)
        try:
            yield
        finally:
            for process in stopped:
                os.kill(process, signal.SIGCONT)


@pytest.fixture
async def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Frozen]:
    for module in (engine, lane, wiring):
        monkeypatch.setattr(module, "ANSWER_SECONDS", LIMIT)
    monkeypatch.setattr(holder, "HEARTBEAT_ANSWER_SECONDS", LIMIT)
    monkeypatch.setattr(engine, "SILENCE_SECONDS", LIMIT)
    monkeypatch.setattr(engine, "CONNECT_SECONDS", LIMIT)
    with own_server() as (url, data):
        settings = Settings(
            data=tmp_path, database_url=SecretStr(url), database_pool=2, database_overflow=1, database_wait=LIMIT
        )
        async with open_waypost(settings, clients_wait=True) as waypost, make_client(waypost, settings) as client:
            yield Frozen(url, data, waypost, client)


async def test_answers_come_in_bounded_time_and_all_goes_on_afterwards(
    registry: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, store = registry.client, registry.waypost._store
    monkeypatch.setattr(health, "READY_SECONDS", LIMIT / 4)
    async with asyncio.timeout(HANG_SECONDS), hold_leases(store.engine) as hold:
        lost = asyncio.create_task(hold.until_lost())
        await until_true(partial(is_ok, client, "/api/services"))
        assert await store.lane.rows("SELECT 1", {}) == [(1,)]
        with registry.frozen():
            ready = await client.get("/readyz")
            assert (ready.status_code, ready.json()["parts"]["database"]) == (503, "no answer")
            assert (await client.get("/healthz")).status_code == 200
            began = time.monotonic()
            answers = await asyncio.gather(*(client.get("/api/services") for _ in range(8)))
            assert {answer.status_code for answer in answers} == {503}
            # Waiting for the pool, checking its connection, making one: doubled, because machines are busy.
            assert time.monotonic() - began < 2 * (3 * LIMIT + engine.CANCEL_SECONDS)
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="not answered"):
                    await store.lane.rows("SELECT 1", {})
            await lost
        await until_true(partial(is_ok, client, "/api/services"))
        await until_true(partial(has_database, client))
        assert await store.lane.rows("SELECT 1", {}) == [(1,)]


async def is_ok(client: httpx2.AsyncClient, path: str) -> bool:
    return (await client.get(path)).status_code == 200


async def has_database(client: httpx2.AsyncClient) -> bool:
    return (await client.get("/readyz")).json()["parts"]["database"] == "ok"


async def test_a_long_statement_goes_on_while_the_server_answers_others(registry: Frozen) -> None:
    async with await connect(libpq(sqlalchemy_url(registry.url)), name="test", autocommit=True) as patient:
        slow = await patient.execute("SELECT 1 FROM pg_sleep(%s)", [2.5 * LIMIT])
        assert await slow.fetchall() == [(1,)]
        with registry.frozen(), pytest.raises(NoAnswer):
            await patient.execute("SELECT 1")
        assert patient.closed


async def test_a_frozen_host_is_left_for_the_next(registry: Frozen, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (engine, lane):
        monkeypatch.setattr(module, "ANSWER_SECONDS", HANG_SECONDS)
    monkeypatch.setattr(holder, "HEARTBEAT_ANSWER_SECONDS", HANG_SECONDS)
    with own_server() as (other, _):
        hosts = [str(sqlalchemy_url(url).query["host"]) for url in (registry.url, other)]
        url = sqlalchemy_url(registry.url).update_query_dict({"host": ",".join(hosts), "connect_timeout": "2"})
        store = Store(make_engine(url.render_as_string(hide_password=False)))

        async def host() -> str:
            async with store.engine.connect() as connection:
                await connection.exec_driver_sql("SELECT 1")
                raw = (await connection.get_raw_connection()).driver_connection
                return str(raw.info.host)

        assert await host() == hosts[0]
        with registry.frozen():
            assert await host() == hosts[1]
            assert await store.lane.rows("SELECT 1", {}) == [(1,)]
            async with hold_leases(store.engine) as hold:
                assert await hold.is_alive()
        await store.close()
