"""Jobs in other processes: results, errors, deadlines, processes that die, and none that stays behind."""

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog.testing

from registry.wiring.compute import ComputePool, JobError, JobGivenUp, QueueFull
from registry.wiring.compute_process import packed
from tests.support import jobs
from tests.support.hang import HANG_SECONDS

pytestmark = pytest.mark.slow


@pytest.fixture
async def pool() -> AsyncIterator[ComputePool]:
    pool = ComputePool(1)
    yield pool
    await pool.close()


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


@contextlib.contextmanager
def watched(pid: int) -> Iterator[int]:
    """Yield a descriptor of a process that becomes readable when it has ended, whoever its parent is."""
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def has_ended(descriptor: int, seconds: float = HANG_SECONDS) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


async def run(pool: ComputePool, function: object, *arguments: object, client: str = "a") -> object:
    return await pool.run(client, function, *arguments, raises=jobs.Expected)  # type: ignore[arg-type]


async def started(fifo: Path) -> int:
    """Return a descriptor of the FIFO once a job has opened it; closing it ends the job."""
    return await asyncio.to_thread(os.open, fifo, os.O_WRONLY)


async def test_no_process_runs_before_the_first_job_and_one_does_all(pool: ComputePool) -> None:
    assert pool.pids == []
    first = await run(pool, jobs.process_id)
    assert first != os.getpid()
    assert [first] == pool.pids
    assert await run(pool, jobs.process_id) == first
    assert await run(pool, jobs.add, 2, 3) == 5
    assert await run(pool, jobs.print_something) == "answer"


async def test_jobs_have_a_lower_priority(pool: ComputePool) -> None:
    assert await run(pool, jobs.nice_value) == min(19, os.nice(0) + 10)


async def test_an_expected_error_is_raised_here_and_another_is_logged_without_its_text(pool: ComputePool) -> None:
    with pytest.raises(jobs.Expected, match="as it was"):
        await run(pool, jobs.raise_expected, "as it was")
    with structlog.testing.capture_logs() as logged, pytest.raises(JobError):
        await run(pool, jobs.raise_other, "hunter2")
    assert [(event["event"], event["error"]) for event in logged] == [("compute.failed", "RuntimeError")]
    assert "raise_other" in logged[0]["frames"]
    assert "hunter2" not in str(logged)
    assert await run(pool, jobs.add, 1, 1) == 2


async def test_a_job_that_takes_too_long_is_ended_and_the_next_one_works(fifo: Path) -> None:
    deadlines: list[asyncio.Timeout] = []

    def deadline() -> asyncio.Timeout:
        deadlines.append(asyncio.timeout(None))
        return deadlines[-1]

    pool = ComputePool(1, deadline)
    endless = asyncio.create_task(run(pool, jobs.wait_for, fifo))
    descriptor = await started(fifo)
    (pid,) = pool.pids
    with watched(pid) as process:
        deadlines[-1].reschedule(0)
        with pytest.raises(JobGivenUp) as given_up:
            await endless
        assert given_up.value.too_long
        assert await asyncio.to_thread(has_ended, process)
    os.close(descriptor)
    assert await run(pool, jobs.process_id) != pid
    await pool.close()


async def test_a_process_that_dies_gives_up_its_job_only(pool: ComputePool) -> None:
    with pytest.raises(JobGivenUp) as given_up:
        await run(pool, jobs.die)
    assert not given_up.value.too_long
    assert await run(pool, jobs.add, 1, 1) == 2
    (pid,) = pool.pids
    with watched(pid) as process:  # an idle one is replaced without an error
        os.kill(pid, signal.SIGKILL)
        assert await asyncio.to_thread(has_ended, process)
        while pool.pids:  # noqa: ASYNC110  (until the event loop has heard of it)
            await asyncio.sleep(0)
    assert await run(pool, jobs.add, 2, 2) == 4


async def test_a_job_cannot_take_all_memory(pool: ComputePool) -> None:
    with pytest.raises(JobError):
        await run(pool, jobs.allocate, 6 << 30)
    assert await run(pool, jobs.add, 1, 1) == 2


async def test_a_client_that_waits_is_bounded_and_does_not_hold_up_others(pool: ComputePool, fifo: Path) -> None:
    running = asyncio.create_task(run(pool, jobs.wait_for, fifo))
    descriptor = await started(fifo)
    waiting = [asyncio.create_task(run(pool, jobs.add, 1, number)) for number in (1, 2)]
    await asyncio.sleep(0)
    with pytest.raises(QueueFull):
        await run(pool, jobs.add, 1, 3)
    other = asyncio.create_task(run(pool, jobs.add, 1, 4, client="b"))
    await asyncio.sleep(0)
    os.write(descriptor, b"go")
    os.close(descriptor)
    assert await asyncio.gather(running, *waiting, other) == ["go", 2, 3, 5]


async def test_a_cancelled_job_is_ended(pool: ComputePool, fifo: Path) -> None:
    running = asyncio.create_task(run(pool, jobs.wait_for, fifo))
    descriptor = await started(fifo)
    with watched(pool.pids[0]) as process:
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await asyncio.to_thread(has_ended, process)
    os.close(descriptor)
    assert await run(pool, jobs.add, 1, 1) == 2


async def test_closing_ends_idle_and_running_processes_and_starts_none(fifo: Path) -> None:
    pool = ComputePool(2)
    await run(pool, jobs.add, 1, 1)
    running = asyncio.create_task(run(pool, jobs.wait_for, fifo))
    descriptor = await started(fifo)
    await run(pool, jobs.add, 1, 1, client="b")
    waiting = asyncio.create_task(run(pool, jobs.add, 1, 1))
    pids = pool.pids
    assert len(pids) == 2
    await pool.close()
    for job in (running, waiting):
        with pytest.raises(JobGivenUp):
            await job
    os.close(descriptor)
    assert pool.pids == []
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


PARENT = """
import asyncio, sys
from registry.wiring.compute import ComputePool
from tests.support import jobs

async def main():
    pool = ComputePool(1)
    await pool.run("a", jobs.add, 1, 1, raises=jobs.Expected)
    print(*pool.pids, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def test_no_process_outlives_a_killed_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with watched(int(parent.stdout.readline())) as process:
        parent.kill()
        parent.wait(HANG_SECONDS)
        assert has_ended(process)
    parent.stdout.close()


CHILD = "from registry.wiring.compute_process import main; main(1)"


def test_a_process_ends_itself_at_its_deadline_even_outside_of_python() -> None:
    """So a job that runs while the parent is killed does not run for ever."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", CHILD], stdin=pipe, stdout=pipe) as child:
        try:
            assert child.stdin is not None
            child.stdin.write(packed((jobs.hang_outside_python, (), jobs.Expected)))
            child.stdin.flush()
            assert child.wait(HANG_SECONDS) == -signal.SIGALRM
        finally:
            child.kill()


async def test_a_host_whose_job_took_too_long_is_not_tried_again_for_a_while(fifo: Path) -> None:
    deadlines: list[asyncio.Timeout] = []

    def deadline() -> asyncio.Timeout:
        deadlines.append(asyncio.timeout(None))
        return deadlines[-1]

    pool = ComputePool(1, deadline)
    slow = asyncio.create_task(pool.run("a", jobs.wait_for, fifo, raises=jobs.Expected, host="slow.example"))
    descriptor = await started(fifo)
    deadlines[-1].reschedule(0)
    with pytest.raises(JobGivenUp):
        await slow
    os.close(descriptor)
    with pytest.raises(JobGivenUp) as refused:
        await pool.run("b", jobs.add, 1, 2, raises=jobs.Expected, host="slow.example")
    assert refused.value.too_long
    assert await pool.run("b", jobs.add, 1, 2, raises=jobs.Expected, host="other.example") == 3
    assert await run(pool, jobs.add, 1, 1, client="b") == 2
    await pool.close()
