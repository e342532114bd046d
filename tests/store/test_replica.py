"""Reads from a streaming standby: as long as it is not too far behind, and of the same database."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from registry.outages import Outage
from registry.store import lane, replica
from registry.store.embedded_postgres.home import find_binaries, find_home, identity
from registry.store.embedded_postgres.watchdog import PID_FILE
from registry.store.engine import StoreUnavailable, libpq, make_engine, sqlalchemy_url
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, NOW, Page, adp_site, again, crawl
from tests.support.cluster import own_server
from tests.support.database import until_true
from tests.support.hang import HANG_SECONDS
from tests.support.pooler import needs_pgbouncer, pooled

pytestmark = pytest.mark.slow

HOST = "doves.com"
ROBOTS = Page("User-agent: WaypostBot\nDisallow: /\n", media_type="text/plain")
IS_STANDBY = "SELECT pg_is_in_recovery()"
STALENESS = 1.0


class Standby:
    """A standby beside the data of an embedded server, reached by a socket. `urls` names the primary first."""

    def __init__(self, primary: str, data: Path, name: str = "standby") -> None:
        self.primary, self.primary_data, self._home = primary, data, find_home(data.parent)
        self._programs, _ = find_binaries(self._home)
        if not (self._programs / "pg_basebackup").exists():
            pytest.skip("needs pg_basebackup of the version of the embedded server")
        self.data, self.sockets = data.parent / name, data.parent / f"{name}-socket"
        self.url = f"postgresql://waypost@/waypost?host={self.sockets}"
        self.urls = f"postgresql://waypost@/waypost?host={self._home.sockets}&host={self.sockets}"

    @contextmanager
    def running(self) -> Iterator[None]:
        account = self._home.account
        for folder in (self.data, self.sockets):
            folder.mkdir(mode=0o700)
            if account is not None:
                os.chown(folder, account.uid, account.gid)
        self._run(
            "pg_basebackup",
            "-h",
            self._home.sockets,
            "-U",
            "postgres",
            "-D",
            self.data,
            "-R",
            "-c",
            "fast",
            "--no-sync",
        )
        self.start()
        try:
            yield
        finally:
            self.kill()

    def start(self) -> None:
        options = (
            f"-c config_file={self._home.home}/postgresql.conf -c unix_socket_directories={self.sockets} "
            "-c logging_collector=off -c max_standby_streaming_delay=0"
        )
        self._run("pg_ctl", "-D", self.data, "-l", self.sockets / "log", "-o", options, "-w", "start")

    def kill(self) -> None:
        """End it as a crash does."""
        self._run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement as its superuser."""
        with psycopg.connect(f"host={self.sockets} user=postgres dbname=waypost", autocommit=True) as admin:
            return admin.execute(statement.encode()).fetchall()

    def _run(self, program: str, *arguments: object) -> None:
        subprocess.run(
            [str(self._programs / program), *map(str, arguments)],
            check=True, stdout=subprocess.DEVNULL, timeout=HANG_SECONDS, **identity(self._home.account),
        )  # fmt: skip


@contextmanager
def frozen(data: Path) -> Iterator[None]:
    """Stop a server."""
    postmaster = int((data / PID_FILE).read_text().split()[0])
    stopped = [postmaster]
    os.kill(postmaster, signal.SIGSTOP)  # first, so that no process is added
    stopped += map(int, Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split())
    try:
        for process in stopped[1:]:
            os.kill(process, signal.SIGSTOP)
        yield
    finally:
        for process in stopped:
            os.kill(process, signal.SIGCONT)


@pytest.fixture(scope="module")
def standby() -> Iterator[Standby]:
    with own_server() as (url, data):
        standby = Standby(url, data)
        with standby.running():
            yield standby


@pytest.fixture
async def store(standby: Standby, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    monkeypatch.setattr(replica, "OPEN_SECONDS", 0.5)
    monkeypatch.setattr(replica, "UNUSED", Outage("database.replica_unused", "database.replica_used"))
    store = Store(make_engine(standby.primary), read_url=standby.urls, staleness=STALENESS)
    yield store
    await store.close()


async def is_used(store: Store) -> bool:
    return await store.lane.rows(IS_STANDBY, {}) == [(True,)]


async def is_unused(store: Store) -> bool:
    return not await is_used(store)


async def test_cards_come_from_the_standby_and_are_never_older_than_the_bound(standby: Standby, store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    await until_true(lambda: is_used(store))
    assert HOST in await store.cards.of([(HOST, HOST)])
    asked = "FROM pg_stat_activity WHERE application_name = 'waypost cards' AND query LIKE '%services%'"
    assert standby.run(f"SELECT count(*) {asked}") == [(1,)]
    standby.run("SELECT pg_wal_replay_pause()")
    try:
        assert await is_used(store)
        with capture_logs() as events:
            await again(store, {HOST: {"/robots.txt": ROBOTS}}, NOW + 2 * DAY)
            opted_out_at = began = time.monotonic()
            stale = 0
            while HOST in await store.cards.of([(HOST, HOST)]):
                assert began - opted_out_at <= STALENESS
                began, stale = time.monotonic(), stale + 1
                await asyncio.sleep(0.01)
            while began - opted_out_at < 2 * STALENESS:
                assert await store.cards.of([(HOST, HOST)]) == {}
                began = time.monotonic()
                await asyncio.sleep(0.01)
        assert stale  # the standby was read while the bound allowed it
        assert of_replica(events) == ["database.replica_unused"]
        assert "more than 1 seconds behind" in events[0]["reason"]
    finally:
        standby.run("SELECT pg_wal_replay_resume()")
    with capture_logs() as events:
        await until_true(lambda: is_used(store))
        await until_true(lambda: is_told(store, events, "database.replica_used"))
    assert await store.cards.of([(HOST, HOST)]) == {}


async def is_told(store: Store, events: list[Any], event: str) -> bool:
    """Read once; return whether this is the only line of this kind."""
    await store.lane.rows(IS_STANDBY, {})
    return of_replica(events) == [event]


def of_replica(events: list[Any]) -> list[str]:
    return [told["event"] for told in events if told["event"].startswith("database.replica")]


@pytest.mark.long
@pytest.mark.parametrize("harm", ["killed", "frozen"])
async def test_a_lost_standby_costs_no_answer_and_is_used_again(standby: Standby, store: Store, harm: str) -> None:
    await until_true(lambda: is_used(store))
    reading = asyncio.create_task(read_on(store))
    if harm == "killed":
        await asyncio.to_thread(standby.kill)
        await asyncio.to_thread(standby.start)
    else:
        with frozen(standby.data):
            assert await is_unused(store)
    await until_true(lambda: is_used(store))
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading


async def read_on(store: Store) -> None:
    """Read without pause. Raise StoreUnavailable."""
    while True:
        await asyncio.gather(*(store.lane.rows(IS_STANDBY, {}) for _ in range(6)))
        await asyncio.sleep(0.01)


@pytest.mark.long
async def test_without_the_primary_reads_end_with_the_bound(
    standby: Standby, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "ANSWER_SECONDS", 0.3)
    await until_true(lambda: is_used(store))
    with frozen(standby.primary_data):
        frozen_at, reads = time.monotonic(), 0
        with pytest.raises(StoreUnavailable):
            while began := time.monotonic():
                assert await is_used(store)
                assert began - frozen_at <= STALENESS
                reads += 1
                await asyncio.sleep(0.01)
    assert reads
    await until_true(lambda: is_used(store))


@pytest.mark.long
async def test_a_query_in_the_way_of_the_replay_is_answered_by_the_primary(store: Store) -> None:
    await until_true(lambda: is_used(store))
    query = asyncio.create_task(store.lane.rows("SELECT pg_is_in_recovery(), count(*) FROM domains, pg_sleep(0.5)", {}))
    await asyncio.sleep(0.1)
    async with store.begin() as uow:
        await uow._connection.exec_driver_sql("LOCK TABLE domains")
    assert [is_standby for is_standby, _ in await query] == [False]
    assert await is_used(store)


NO_STANDBY = "no standby of this database and its timeline"


@pytest.mark.parametrize(
    ("other", "reason"),
    [("primary", NO_STANDBY), ("database", NO_STANDBY), ("system", NO_STANDBY), ("nobody", "No such file")],
)
async def test_what_is_no_standby_of_the_database_is_not_read(
    standby: Standby, store: Store, database_server: str, other: str, reason: str
) -> None:
    primary, read_url = {
        "primary": (standby.primary, standby.primary),
        "database": (standby.primary, standby.url.replace("/waypost?", "/postgres?")),
        "system": (database_server, standby.url),
        "nobody": (standby.primary, standby.url + "-nobody"),
    }[other]
    await assert_unused(primary, read_url, reason)


@needs_pgbouncer
async def test_a_pooler_is_not_read(standby: Standby, store: Store) -> None:
    """It may lead each transaction to another standby."""
    with pooled(standby.url, "transaction") as url:
        await assert_unused(standby.primary, url, "leads to a pooler")


async def assert_unused(primary: str, read_url: str, reason: str) -> None:
    where = "SELECT pg_is_in_recovery(), current_database()::text, system_identifier FROM pg_control_system()"
    with psycopg.connect(libpq(sqlalchemy_url(primary))) as direct:
        expected = direct.execute(where).fetchall()
    store = Store(make_engine(primary), read_url=read_url, staleness=STALENESS)
    with capture_logs() as events, pytest.MonkeyPatch.context() as patched:
        patched.setattr(replica, "UNUSED", Outage("database.replica_unused", "database.replica_used"))
        for _ in range(20):
            assert await store.lane.rows(where, {}) == expected
            await asyncio.sleep(0.02)
        await until_true(lambda: is_told(store, events, "database.replica_unused"))
    assert [reason in event["reason"] for event in events if event["event"] == "database.replica_unused"] == [True]
    await store.close()


@pytest.mark.long
async def test_a_promoted_standby_is_not_read_and_its_own_standbys_alone_are(standby: Standby, store: Store) -> None:
    """It is the last test: it promotes the standby. Another one goes on with the old primary."""
    await until_true(lambda: is_used(store))
    other = Standby(standby.primary, standby.primary_data, "other")
    with other.running():
        standby.run("SELECT pg_promote()")
        await until_true(lambda: is_unused(store))
        for _ in range(20):
            assert await is_unused(store)
            await asyncio.sleep(0.02)
        await assert_unused(standby.url, other.url, NO_STANDBY)
