"""A database behind PgBouncer in transaction mode: refused in words, or used beside a direct connection."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from pydantic import SecretStr

from registry.settings import Settings
from registry.store.holder import LEAD, SessionsUnusable
from registry.wiring import Waypost, migrate_database, open_waypost
from tests.flow.test_schedule import HOSTS, leaders, registry
from tests.support import forked
from tests.support.hang import HANG_SECONDS
from tests.support.pooler import needs_pgbouncer, pooled
from tests.support.running import until

pytestmark = [pytest.mark.slow, needs_pgbouncer]


@pytest.fixture
def pooler(database_url: str) -> Iterator[str]:
    with pooled(database_url, "transaction") as url:
        yield url


def settings(folder: Path, url: str, session_url: str | None) -> Settings:
    return Settings(
        data=folder, database_url=SecretStr(url), database_session_url=session_url and SecretStr(session_url)
    )


@pytest.mark.parametrize(
    "command",
    ["schedule --once", "worker", "crawl a.example", "serve --port 0", "migrate", "reindex", "status"],
)
def test_a_command_refuses_a_pooler_that_shares_sessions(pooler: str, tmp_path: Path, command: str) -> None:
    environment = {**os.environ, "WAYPOST_DATA": str(tmp_path), "DATABASE_URL": pooler, "WAYPOST_RESOLVE": "table"}
    ended = forked.waypost(command.split(), environment)
    last = ended.stderr.decode().strip().splitlines()[-1]
    assert ended.returncode == 3, ended.stderr.decode()
    assert "DATABASE_URL leads to a pooler" in last and "DATABASE_SESSION_URL" in last


async def test_beside_a_direct_connection_one_of_three_leads_and_everything_else_is_pooled(
    pooler: str, database_url: str, tmp_path: Path
) -> None:
    await migrate_database(settings(tmp_path, pooler, database_url))
    async with AsyncExitStack() as stack, asyncio.timeout(HANG_SECONDS):
        wayposts = [
            await stack.enter_async_context(open_waypost(settings(tmp_path / str(number), pooler, database_url)))
            for number in range(3)
        ]
        holds = [await stack.enter_async_context(waypost.jobs.hold(LEAD)) for waypost in wayposts]
        assert [hold is not None for hold in holds] == [True, False, False]
        assert await wayposts[2].jobs.is_led()
        # More clients than sessions of the pooler, more often than the driver's threshold for prepared statements.
        await asyncio.gather(*(work(waypost) for waypost in wayposts for _ in range(4)))


async def work(waypost: Waypost) -> None:
    for number in range(12):
        assert await waypost._store.lane.rows("SELECT %(n)s::int", {"n": number}) == [(number,)]
        async with waypost._store.snapshot() as uow:
            await uow.domains.next_due()
        await waypost.queries.health()
        await waypost.frontier.seed([f"a{number}.example"], source="test")  # by a temporary table
        async with waypost._store.begin() as uow:
            await uow._connection.exec_driver_sql("SELECT pg_advisory_xact_lock(1)")


@pytest.mark.long
async def test_processes_work_through_a_pooler(pooler: str, database_url: str, tmp_path: Path) -> None:
    async with registry(tmp_path, pooler, recrawl=1, prune=1) as (_, data_folder):
        data_folder.environment |= {"DATABASE_SESSION_URL": database_url, "WAYPOST_DATABASE_POOL": "3"}
        schedules = [data_folder.start("schedule") for _ in range(3)]
        await until(
            lambda: sum('"leader.' in command.output for command in schedules) == 3,
            HANG_SECONDS,
            lambda: str([command.output for command in schedules]),
        )
        assert len(leaders(schedules)) == 1
        crawl = data_folder.start("crawl", *HOSTS)
        assert await crawl.exit_code() == 0, crawl.output
        search = data_folder.start("search", "--json", "send a letter")
        assert await search.exit_code() == 0, search.output
        assert all(host in search.output for host in HOSTS), search.output
        assert len(leaders(schedules)) == 1
        for schedule in schedules:
            schedule.send_signal(signal.SIGTERM)
            assert await schedule.exit_code() == 0
            assert "Traceback" not in schedule.output and "prepared statement" not in schedule.output
        data_folder.environment["DATABASE_URL"] = database_url  # `until_unused` opens the registry


@pytest.mark.parametrize(
    ("session_url", "words"),
    [
        ("pooler", "DATABASE_SESSION_URL leads to a pooler"),
        ("other", "DATABASE_SESSION_URL leads to another database"),
    ],
)
async def test_a_session_url_that_does_not_help_is_refused(
    pooler: str, empty_database_url: str, database_url: str, tmp_path: Path, session_url: str, words: str
) -> None:
    name = {"pooler": pooler + "?application_name=x", "other": empty_database_url}[session_url]
    with pytest.raises(SessionsUnusable, match=words):
        async with open_waypost(settings(tmp_path, pooler, name)):
            pytest.fail("open")
    with pytest.raises(SessionsUnusable, match=words):
        await migrate_database(settings(tmp_path, pooler, name))
