"""Stopping is quick, has a defined exit code, releases leases and leaves nothing running."""

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from registry.store.embedded_postgres.watchdog import START_LOCK, open_lock
from registry.wiring import Waypost
from tests.flow.test_kill import HOSTS, at_work, requests
from tests.support.hang import HANG_SECONDS
from tests.support.running import Command, DataFolder, until

pytestmark = pytest.mark.slow

INT, TERM = signal.SIGINT, signal.SIGTERM


async def stop(data_folder: DataFolder, command: Command, *signals: signal.Signals) -> int:
    """Send the signals; return the exit code, after checking that no process is left and no traceback was printed."""
    for number in signals:
        command.send_signal(number)
        await asyncio.sleep(0.1)
    code = await command.exit_code()
    await data_folder.until_unused()
    assert "Traceback" not in command.output
    return code


async def assert_released(data_folder: DataFolder) -> list[str]:
    """Assert that each domain is done or due at once, and that no attempt is counted; return those that are due."""
    async with data_folder.opened() as waypost:
        assert await _rows(waypost, "SELECT domain FROM domains WHERE lease_token IS NOT NULL OR attempts > 0") == []
        unvisited = await _rows(waypost, "SELECT host FROM hosts WHERE last_visit_at IS NULL")
        due = await _rows(waypost, "SELECT domain FROM domains WHERE next_visit_at <= now()")
        assert due == unvisited  # hosts of the web are domains
        return due


async def _rows(waypost: Waypost, statement: str) -> list[str]:
    async with waypost._store.engine.connect() as connection:
        return sorted((await connection.execute(text(statement))).scalars())


async def test_a_stopped_worker_releases_its_leases(tmp_path: Path, database_url: str) -> None:
    async with at_work(tmp_path, database_url) as (web, data_folder):
        worker = data_folder.start("worker")
        await requests(web, 300)
        assert await stop(data_folder, worker, TERM) == 0
        assert await assert_released(data_folder)


async def test_an_interrupted_crawl_exits_with_130(tmp_path: Path, database_url: str) -> None:
    async with at_work(tmp_path, database_url) as (web, data_folder):
        crawling = data_folder.start("crawl", *HOSTS)
        await requests(web, 300)
        assert await stop(data_folder, crawling, INT) == 130
        assert await assert_released(data_folder)


@pytest.mark.long
async def test_a_second_interrupt_stops_without_releasing_leases(tmp_path: Path) -> None:
    """A second signal skips the release of leases; the next worker frees them because their holder is gone."""
    async with at_work(tmp_path) as (web, data_folder):
        serving = data_folder.start("serve", "--port", "0")
        await requests(web, 300)
        assert await stop(data_folder, serving, INT, INT) in (0, 130)
        crawling = data_folder.start("crawl", *HOSTS[:3])
        assert await crawling.exit_code() == 0, crawling.output


@pytest.mark.long
async def test_ctrl_c_reaches_parent_and_child_at_once(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (web, data_folder):
        serving = data_folder.start("serve", "--port", "0")
        await requests(web, 100)
        os.killpg(serving.process.pid, INT)
        assert await serving.exit_code() == 0
        await data_folder.until_unused()
        assert "Traceback" not in serving.output and "Fatal" not in serving.output
        await assert_released(data_folder)


async def test_serve_stops_without_waiting_for_slow_clients(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (web, data_folder):
        serving = data_folder.start("serve", "--port", "0")
        url = (await serving.line_with("the API answers at")).split()[4]
        await requests(web, 100)
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as slow:
            slow.sendall(b"POST /api/services HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            await asyncio.sleep(0.2)
            assert await stop(data_folder, serving, TERM) == 0
        await assert_released(data_folder)


async def test_a_starting_worker_ends_when_its_parent_dies(tmp_path: Path) -> None:
    """A starting worker ends with its parent whatever it waits for: here the database's start lock, held forever."""
    async with at_work(tmp_path) as (_, data_folder):
        await data_folder.until_unused()
        start_lock = open_lock(str(data_folder.home()), START_LOCK)
        try:
            fcntl.flock(start_lock, fcntl.LOCK_EX)
            worker = data_folder.start("worker", "--stop-with-stdin", stdin=subprocess.PIPE)
            await until(
                lambda: _waits_for(start_lock), HANG_SECONDS, lambda: f"it does not come so far: {worker.output}"
            )
            assert worker.process.stdin is not None
            worker.process.stdin.close()
            assert await worker.exit_code() == 0
        finally:
            os.close(start_lock)
        assert worker.output == ""


def _waits_for(lock: int) -> bool:
    """True when a process waits for a lock that this one holds (proc_locks(5))."""
    number = f":{os.fstat(lock).st_ino} "
    return any(" -> FLOCK" in line and number in line for line in Path("/proc/locks").read_text().splitlines())


@pytest.mark.long
async def test_a_stop_does_not_wait_for_an_unresponsive_database(tmp_path: Path) -> None:
    """Leases cannot be released then; the next worker frees them because their holder is gone."""
    async with at_work(tmp_path) as (web, data_folder):
        worker = data_folder.start("worker")
        await requests(web, 300)
        with stopped_database(data_folder):
            worker.send_signal(TERM)
            assert await worker.exit_code() == 3
        assert "shutdown.overdue" in worker.output
        await data_folder.until_unused()
        crawling = data_folder.start("crawl", *HOSTS[:3])
        assert await crawling.exit_code() == 0, crawling.output


@contextlib.contextmanager
def stopped_database(data_folder: DataFolder) -> Iterator[None]:
    """Stop all processes of the database: connections stay open and no response comes."""
    postmaster = data_folder.postmaster()
    assert postmaster is not None
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    stopped = [postmaster, *map(int, children)]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in reversed(stopped):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@pytest.mark.long
async def test_the_demo_can_be_interrupted_at_any_point(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (_, data_folder):
        for words, number, code in (("starting the crawler", INT, 130), ("The registry answers", INT, 0)):
            demo = data_folder.start("demo", "--port", "0", "--data", str(data_folder.data))
            await demo.line_with(words)
            assert await stop(data_folder, demo, number) == code, demo.output
