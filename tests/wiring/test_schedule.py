"""The schedule with jobs made by the tests: who leads, what is due, and what a failing job does to the others."""

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

from registry.actions.jobs import JobActions
from registry.core.model.documents import FetchResult
from registry.core.scheduling.jobs import RunOutcome
from registry.settings import Settings
from registry.store.engine import libpq, sqlalchemy_url
from registry.store.holder import LEAD, STAND_BY_SECONDS
from registry.store.jobs import RunRecord
from registry.store.unit_of_work import Store
from registry.wiring import Waypost, open_waypost, schedule
from registry.wiring.schedule import IncompleteJob, Job, JobTools, Schedule
from tests.support.builders import NOW
from tests.support.database import rows, until_true
from tests.support.hang import HANG_SECONDS
from tests.support.running import until

pytestmark = pytest.mark.slow  # sessions of the database that end

DAY = 86_400


class Work:
    """A job that counts its runs and does what a test wants."""

    def __init__(self, action: Callable[[], Awaitable[Mapping[str, Any]]] | None = None) -> None:
        self.runs = 0
        self.running = 0
        self.most_at_once = 0
        self.began = asyncio.Event()
        self._action = action

    async def __call__(self, _: JobTools) -> Mapping[str, Any]:
        self.runs += 1
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        self.began.set()
        try:
            return {"run": self.runs} if self._action is None else await self._action()
        finally:
            self.running -= 1

    def job(self, name: str = "job", interval: int = DAY) -> Job:
        return Job(name, "does what a test says", lambda _: interval, self)


async def run_forever() -> Mapping[str, Any]:
    await asyncio.Event().wait()
    return {}


async def raise_error() -> Mapping[str, Any]:
    raise ZeroDivisionError("with words of a stranger")


@asynccontextmanager
async def opened_registry(url: str, folder: Path) -> AsyncIterator[Waypost]:
    async with open_waypost(Settings(database_url=SecretStr(url), data=folder)) as waypost:
        yield waypost


@pytest.fixture
async def waypost(database_url: str, tmp_path: Path) -> AsyncIterator[Waypost]:
    async with opened_registry(database_url, tmp_path) as opened:
        yield opened


def with_jobs(waypost: Waypost, *jobs: Job) -> Schedule:
    async def fetch(url: str, *, cap: int, etag: str | None, last_modified: str | None) -> FetchResult:
        raise AssertionError("no job of these asks anybody")

    return Schedule(JobTools(waypost, waypost.settings, fetch), jobs)


@asynccontextmanager
async def running(plan: Schedule) -> AsyncIterator[asyncio.Event]:
    stop = asyncio.Event()
    task = asyncio.create_task(plan.run(stop))
    try:
        async with asyncio.timeout(HANG_SECONDS):
            yield stop
    finally:
        stop.set()
        async with asyncio.timeout(HANG_SECONDS):
            await task


async def outcomes(waypost: Waypost, job: str = "job") -> list[RunOutcome]:
    """Return the outcomes of the runs of a job, oldest first."""
    return [run.outcome for run in reversed(await waypost.jobs.last_runs(job))]


async def until_outcomes(waypost: Waypost, expected: list[RunOutcome], job: str = "job") -> None:
    async def outcomes_match() -> bool:
        return await outcomes(waypost, job) == expected

    await until_true(outcomes_match)


async def drop_sessions(store: Store) -> None:
    """Terminate the sessions that hold locks, as a restart of the database would."""
    await rows(
        store, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'waypost lock' AND datname = current_database()",
    )  # fmt: skip


async def test_a_due_job_runs_and_its_run_is_recorded(waypost: Waypost) -> None:
    work, disabled_work = Work(), Work()
    plan = with_jobs(waypost, work.job(), disabled_work.job("never", 0))
    async with running(plan):
        await until_outcomes(waypost, [RunOutcome.DONE])
    (run,) = await waypost.jobs.last_runs("job")
    assert run.finished_at is not None and run.figures == {"run": 1} and run.error is None
    line, disabled_line = await plan.lines()
    assert line.next_at == run.started_at + timedelta(days=1)
    assert disabled_line.next_at is None and disabled_work.runs == 0


async def test_one_schedule_leads_and_the_other_takes_over(waypost: Waypost, database_url: str, tmp_path: Path) -> None:
    first, second = Work(run_forever), Work(run_forever)
    async with (
        opened_registry(database_url, tmp_path / "other") as other_waypost,
        running(with_jobs(waypost, first.job())) as stop_first,
    ):
        await first.began.wait()
        async with running(with_jobs(other_waypost, second.job())):
            await asyncio.sleep(2 * STAND_BY_SECONDS)
            assert second.runs == 0
            stop_first.set()
            await second.began.wait()
            assert first.running == 0
    assert await outcomes(waypost) == [RunOutcome.STOPPED, RunOutcome.STOPPED]


async def test_losing_the_lead_cancels_the_running_job_at_once(waypost: Waypost, store: Store) -> None:
    work = Work(run_forever)
    async with running(with_jobs(waypost, work.job(interval=DAY))):
        await work.began.wait()
        await drop_sessions(store)
        await until_outcomes(waypost, [RunOutcome.LOST])
        assert work.running == 0
        # the lead is acquired again, but the job is retried only after a pause
        in_this_database = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        await until_true(
            lambda: rows(store, f"SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND {in_this_database}")
        )
        assert work.runs == 1


async def test_a_failing_job_is_retried_later_and_does_not_affect_others(
    waypost: Waypost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "LOOK_SECONDS", 0.1)
    failing_work, work = Work(raise_error), Work()
    async with running(with_jobs(waypost, failing_work.job("bad"), work.job("good", 1))):
        await until(lambda: work.runs >= 3, HANG_SECONDS, lambda: f"it ran {work.runs} times")
    assert failing_work.runs == 1
    (run,) = await waypost.jobs.last_runs("bad")
    assert (run.outcome, run.error) == (RunOutcome.FAILED, "ZeroDivisionError")  # its message may be foreign text
    line = (await with_jobs(waypost, failing_work.job("bad")).lines())[0]
    assert run.finished_at is not None and line.next_at == run.finished_at + timedelta(minutes=1)


async def test_a_partly_failed_job_keeps_its_error_and_figures(waypost: Waypost) -> None:
    async def fail_partly() -> Mapping[str, Any]:
        raise IncompleteJob("one of two", {"done": 1})

    runs = await with_jobs(waypost, Work(fail_partly).job()).once(None, asyncio.Event())
    assert runs is not None
    assert [(run.outcome, run.error, run.figures) for run in runs] == [(RunOutcome.FAILED, "one of two", {"done": 1})]
    assert await waypost.jobs.last_runs("job") == runs


async def test_a_run_of_a_dead_process_is_recorded_as_lost(waypost: Waypost, store: Store) -> None:
    async with store.begin() as uow:
        await uow.jobs.begin("job", now=NOW)
    work = Work()
    runs = await with_jobs(waypost, work.job()).once(None, asyncio.Event())
    assert runs == [] and work.runs == 0  # the job may have killed its process, so it is retried a minute later
    assert await outcomes(waypost) == [RunOutcome.LOST]
    forced = await with_jobs(waypost, work.job()).once(["job"], asyncio.Event())
    assert forced is not None and work.runs == 1


async def test_once_runs_what_is_due_once(waypost: Waypost) -> None:
    work, other_work = Work(), Work()
    plan = with_jobs(waypost, work.job(), other_work.job("other"))
    assert await job_names(plan.once(["other"], asyncio.Event())) == ["other"]
    assert await job_names(plan.once(None, asyncio.Event())) == ["job"]
    assert await job_names(plan.once(None, asyncio.Event())) == []
    assert await job_names(plan.once(["job", "other"], asyncio.Event())) == ["job", "other"]
    assert (work.runs, other_work.runs) == (2, 2)


async def job_names(pending_runs: Awaitable[list[RunRecord] | None]) -> list[str]:
    runs = await pending_runs
    assert runs is not None
    return [run.job for run in runs]


async def test_once_runs_only_named_jobs_while_another_schedule_leads(waypost: Waypost) -> None:
    work, named_work = Work(run_forever), Work()
    plan = with_jobs(waypost, work.job(), named_work.job("named", 0))
    async with running(plan):
        await work.began.wait()
        assert await plan.once(None, asyncio.Event()) is None
        assert await job_names(plan.once(["named"], asyncio.Event())) == ["named"]
        assert await job_names(plan.once(["job"], asyncio.Event())) == []  # it is running already
        assert (work.runs, work.most_at_once) == (1, 1)


async def test_the_leader_retries_at_intervals_a_job_that_runs_elsewhere(
    waypost: Waypost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "AGAIN_SECONDS", 0.2)
    work, other_work, attempts = Work(run_forever), Work(), 0
    original_hold = JobActions.hold

    def counting_hold(self: JobActions, job: str, **options: Any) -> Any:
        nonlocal attempts
        attempts += job == "job"
        return original_hold(self, job, **options)

    monkeypatch.setattr(JobActions, "hold", counting_hold)
    stop = asyncio.Event()
    single_pass = asyncio.create_task(with_jobs(waypost, work.job()).once(["job"], stop))
    await work.began.wait()
    async with running(with_jobs(waypost, other_work.job())):
        # The first of the two is the run itself.
        await until(lambda: attempts >= 2, HANG_SECONDS, lambda: "nobody asks")
        before, began = attempts, asyncio.get_running_loop().time()
        await asyncio.sleep(1)
        seconds = asyncio.get_running_loop().time() - began
        assert other_work.runs == 0
        assert attempts - before <= 1 + seconds / schedule.AGAIN_SECONDS  # without the pause there would be hundreds
        stop.set()
        await single_pass
        await other_work.began.wait()


async def test_a_single_pass_can_be_stopped(waypost: Waypost) -> None:
    work, stop = Work(run_forever), asyncio.Event()
    single_pass = asyncio.create_task(with_jobs(waypost, work.job()).once(["job"], stop))
    await work.began.wait()
    stop.set()
    async with asyncio.timeout(HANG_SECONDS):
        assert await single_pass == []
    assert await outcomes(waypost) == [RunOutcome.STOPPED]
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
                await until_outcomes(waypost, [RunOutcome.DONE])
        finally:
            allow(True)


async def test_a_stopped_schedule_releases_the_lead(waypost: Waypost) -> None:
    async with running(with_jobs(waypost, Work().job())):
        await until_outcomes(waypost, [RunOutcome.DONE])
    async with waypost.jobs.hold(LEAD) as hold:
        assert hold is not None
