"""The schedule with jobs of a test's own: who leads, what is due, and what a job that goes wrong does to the others."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from registry.core.documents import Fetched
from registry.core.jobs import Outcome
from registry.settings import Settings
from registry.store.engine import libpq, sqlalchemy_url
from registry.store.holder import LEAD, STAND_BY_SECONDS
from registry.store.jobs import RunRecord
from registry.store.unit_of_work import Store
from registry.wiring import Waypost, open_waypost, schedule
from registry.wiring.schedule import Job, JobFailed, Schedule, Tools
from tests.support.builders import NOW
from tests.support.database import rows, until_true
from tests.support.running import PATIENCE, until

pytestmark = pytest.mark.slow  # sessions of the database that end

DAY = 86_400


class Work:
    """A job that counts its runs and does what it is told to."""

    def __init__(self, does: Callable[[], Awaitable[Mapping[str, Any]]] | None = None) -> None:
        self.runs = 0
        self.running = 0
        self.most_at_once = 0
        self.began = asyncio.Event()
        self._does = does

    async def __call__(self, _: Tools) -> Mapping[str, Any]:
        self.runs += 1
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        self.began.set()
        try:
            return {"run": self.runs} if self._does is None else await self._does()
        finally:
            self.running -= 1

    def job(self, name: str = "job", interval: int = DAY) -> Job:
        return Job(name, "does what a test says", lambda _: interval, self)


async def for_ever() -> Mapping[str, Any]:
    await asyncio.Event().wait()
    return {}


async def wrong() -> Mapping[str, Any]:
    raise ZeroDivisionError("with words of a stranger")


@asynccontextmanager
async def house(url: str, folder: Path) -> AsyncIterator[Waypost]:
    async with open_waypost(Settings(database_url=SecretStr(url), data=folder)) as waypost:
        yield waypost


@pytest.fixture
async def waypost(database_url: str, tmp_path: Path) -> AsyncIterator[Waypost]:
    async with house(database_url, tmp_path) as opened:
        yield opened


def with_jobs(waypost: Waypost, *jobs: Job) -> Schedule:
    async def fetch(url: str, *, cap: int, etag: str | None, last_modified: str | None) -> Fetched:
        raise AssertionError("no job of these asks anybody")

    return Schedule(Tools(waypost, waypost.settings, fetch), jobs)


@asynccontextmanager
async def running(plan: Schedule) -> AsyncIterator[asyncio.Event]:
    stop = asyncio.Event()
    task = asyncio.create_task(plan.run(stop))
    try:
        async with asyncio.timeout(PATIENCE):
            yield stop
    finally:
        stop.set()
        async with asyncio.timeout(PATIENCE):
            await task


async def outcomes(waypost: Waypost, job: str = "job") -> list[Outcome]:
    """Of the runs of a job, the oldest first."""
    return [run.outcome for run in reversed(await waypost.last_runs(job))]


async def eventually(waypost: Waypost, wanted: list[Outcome], job: str = "job") -> None:
    async def are_there() -> bool:
        return await outcomes(waypost, job) == wanted

    await until_true(are_there)


async def drop_sessions(store: Store) -> None:
    """As a database that restarts does to those who hold locks."""
    await rows(
        store, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'waypost lock' AND datname = current_database()",
    )  # fmt: skip


async def test_what_is_due_runs_and_is_kept(waypost: Waypost) -> None:
    work, never = Work(), Work()
    plan = with_jobs(waypost, work.job(), never.job("never", 0))
    async with running(plan):
        await eventually(waypost, [Outcome.DONE])
    (run,) = await waypost.last_runs("job")
    assert run.finished_at is not None and run.figures == {"run": 1} and run.error is None
    line, off = await plan.lines()
    assert line.next_at == run.started_at + timedelta(days=1)
    assert off.next_at is None and never.runs == 0


async def test_of_two_one_leads_and_the_other_takes_over(waypost: Waypost, database_url: str, tmp_path: Path) -> None:
    first, second = Work(for_ever), Work(for_ever)
    async with (
        house(database_url, tmp_path / "other") as elsewhere,
        running(with_jobs(waypost, first.job())) as stop_first,
    ):
        await first.began.wait()
        async with running(with_jobs(elsewhere, second.job())):
            await asyncio.sleep(2 * STAND_BY_SECONDS)
            assert second.runs == 0
            stop_first.set()
            await second.began.wait()
            assert first.running == 0
    assert await outcomes(waypost) == [Outcome.STOPPED, Outcome.STOPPED]


async def test_who_loses_the_lead_ends_what_runs_under_it_at_once(waypost: Waypost, store: Store) -> None:
    work = Work(for_ever)
    async with running(with_jobs(waypost, work.job(interval=DAY))):
        await work.began.wait()
        await drop_sessions(store)
        await eventually(waypost, [Outcome.LOST])
        assert work.running == 0
        # the lead is taken again; the job is tried again after a pause only
        here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        await until_true(lambda: rows(store, f"SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND {here}"))
        assert work.runs == 1


async def test_a_job_that_goes_wrong_is_tried_again_later_and_harms_no_other(
    waypost: Waypost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "LOOK_SECONDS", 0.1)
    bad, good = Work(wrong), Work()
    async with running(with_jobs(waypost, bad.job("bad"), good.job("good", 1))):
        await until(lambda: good.runs >= 3, PATIENCE, lambda: f"it ran {good.runs} times")
    assert bad.runs == 1
    (run,) = await waypost.last_runs("bad")
    assert (run.outcome, run.error) == (Outcome.FAILED, "ZeroDivisionError")  # its words may be a stranger's
    line = (await with_jobs(waypost, bad.job("bad")).lines())[0]
    assert run.finished_at is not None and line.next_at == run.finished_at + timedelta(minutes=1)


async def test_a_job_that_did_only_half_of_it_says_which(waypost: Waypost) -> None:
    async def half() -> Mapping[str, Any]:
        raise JobFailed("one of two", {"done": 1})

    runs = await with_jobs(waypost, Work(half).job()).once(None, asyncio.Event())
    assert runs is not None
    assert [(run.outcome, run.error, run.figures) for run in runs] == [(Outcome.FAILED, "one of two", {"done": 1})]
    assert await waypost.last_runs("job") == runs


async def test_a_run_whose_process_died_is_found_and_settled(waypost: Waypost, store: Store) -> None:
    async with store.begin() as uow:
        await uow.jobs.begin("job", now=NOW)
    work = Work()
    runs = await with_jobs(waypost, work.job()).once(None, asyncio.Event())
    assert runs == [] and work.runs == 0  # it may be what killed its process: a minute later
    assert await outcomes(waypost) == [Outcome.LOST]
    forced = await with_jobs(waypost, work.job()).once(["job"], asyncio.Event())
    assert forced is not None and work.runs == 1


async def test_once_runs_what_is_due_once(waypost: Waypost) -> None:
    work, other = Work(), Work()
    plan = with_jobs(waypost, work.job(), other.job("other"))
    assert await names(plan.once(["other"], asyncio.Event())) == ["other"]
    assert await names(plan.once(None, asyncio.Event())) == ["job"]
    assert await names(plan.once(None, asyncio.Event())) == []
    assert await names(plan.once(["job", "other"], asyncio.Event())) == ["job", "other"]
    assert (work.runs, other.runs) == (2, 2)


async def names(once: Awaitable[list[RunRecord] | None]) -> list[str]:
    runs = await once
    assert runs is not None
    return [run.job for run in runs]


async def test_once_leaves_what_is_due_to_who_leads_and_runs_what_is_named(waypost: Waypost) -> None:
    work, named = Work(for_ever), Work()
    plan = with_jobs(waypost, work.job(), named.job("named", 0))
    async with running(plan):
        await work.began.wait()
        assert await plan.once(None, asyncio.Event()) is None
        assert await names(plan.once(["named"], asyncio.Event())) == ["named"]
        assert await names(plan.once(["job"], asyncio.Event())) == []  # it runs, and never twice at a time
        assert (work.runs, work.most_at_once) == (1, 1)


async def test_who_leads_asks_now_and_then_for_a_job_that_runs_elsewhere(
    waypost: Waypost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "AGAIN_SECONDS", 0.2)
    work, other, tries = Work(for_ever), Work(), 0
    really = Waypost.hold_job

    def counted(self: Waypost, job: str, **more: Any) -> Any:
        nonlocal tries
        tries += job == "job"
        return really(self, job, **more)

    monkeypatch.setattr(Waypost, "hold_job", counted)
    stop = asyncio.Event()
    once = asyncio.create_task(with_jobs(waypost, work.job()).once(["job"], stop))
    await work.began.wait()
    async with running(with_jobs(waypost, other.job())):
        await until(lambda: tries >= 2, PATIENCE, lambda: "nobody asks")  # the first of the two is the run itself
        before, began = tries, asyncio.get_running_loop().time()
        await asyncio.sleep(1)
        seconds = asyncio.get_running_loop().time() - began
        assert other.runs == 0
        assert tries - before <= 1 + seconds / schedule.AGAIN_SECONDS  # without the pause it is hundreds
        stop.set()
        await once
        await other.began.wait()


async def test_once_can_be_stopped(waypost: Waypost) -> None:
    work, stop = Work(for_ever), asyncio.Event()
    once = asyncio.create_task(with_jobs(waypost, work.job()).once(["job"], stop))
    await work.began.wait()
    stop.set()
    async with asyncio.timeout(PATIENCE):
        assert await once == []
    assert await outcomes(waypost) == [Outcome.STOPPED]
    line = (await with_jobs(waypost, work.job()).lines())[0]
    assert line.last is not None and line.next_at is not None and line.next_at > line.last.started_at  # due at once


async def test_a_schedule_without_a_database_waits_for_it(waypost: Waypost, store: Store, database_server: str) -> None:
    name = store.engine.url.database or ""
    work = Work()
    with psycopg.connect(libpq(sqlalchemy_url(database_server)), autocommit=True) as admin:

        def allow(connections: bool) -> None:
            allowed = sql.SQL("true" if connections else "false")
            admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format(sql.Identifier(name), allowed))

        allow(False)
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        try:
            async with running(with_jobs(waypost, work.job())):
                await asyncio.sleep(2 * schedule.AGAIN_SECONDS)
                assert work.runs == 0
                allow(True)
                await work.began.wait()
                await eventually(waypost, [Outcome.DONE])
        finally:
            allow(True)


async def test_the_lead_is_let_go_of(waypost: Waypost) -> None:
    async with running(with_jobs(waypost, Work().job())):
        await eventually(waypost, [Outcome.DONE])
    async with waypost.hold_job(LEAD) as hold:
        assert hold is not None
