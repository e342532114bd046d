"""Stopping is quick, tells its exit code, gives back what was leased and leaves nothing running."""

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from registry.store.watchdog import START_LOCK, open_lock
from registry.wiring import Waypost
from tests.flow.test_kill import HOSTS, at_work, requests
from tests.support.running import PATIENCE, Command, House, until

pytestmark = pytest.mark.slow

INT, TERM = signal.SIGINT, signal.SIGTERM


async def stopped(made: House, command: Command, *signals: signal.Signals) -> int:
    """Its exit code; nothing of it is left, and its last words are no traceback."""
    for number in signals:
        command.tell(number)
        await asyncio.sleep(0.1)
    code = await command.ended()
    await made.is_empty()
    assert "Traceback" not in command.said
    return code


async def given_back(made: House) -> list[str]:
    """Every domain is either done or due at once, and nobody holds a stop against it; gives those that are due."""
    async with made.opened() as waypost:
        assert await _rows(waypost, "SELECT domain FROM domains WHERE lease_token IS NOT NULL OR attempts > 0") == []
        unvisited = await _rows(waypost, "SELECT host FROM hosts WHERE last_visit_at IS NULL")
        due = await _rows(waypost, "SELECT domain FROM domains WHERE next_visit_at <= now()")
        assert due == unvisited  # hosts of the web are domains
        return due


async def _rows(waypost: Waypost, question: str) -> list[str]:
    async with waypost._store.engine.connect() as connection:
        return sorted((await connection.execute(text(question))).scalars())


async def test_a_worker_gives_back_what_it_holds(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (web, made):
        worker = made.start("worker")
        await requests(web, 300)
        assert await stopped(made, worker, TERM) == 0
        assert await given_back(made)


async def test_a_crawl_that_is_interrupted_says_so(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (web, made):
        crawling = made.start("crawl", *HOSTS)
        await requests(web, 300)
        assert await stopped(made, crawling, INT) == 130
        assert await given_back(made)


async def test_who_cannot_wait_interrupts_twice(tmp_path: Path) -> None:
    """Then nothing is given back; the next worker finds that nobody holds it any more."""
    async with at_work(tmp_path) as (web, made):
        serving = made.start("serve", "--port", "0")
        await requests(web, 300)
        assert await stopped(made, serving, INT, INT) in (0, 130)
        crawling = made.start("crawl", *HOSTS[:3])
        assert await crawling.ended() == 0, crawling.said


async def test_ctrl_c_reaches_parent_and_child_at_once(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (web, made):
        serving = made.start("serve", "--port", "0")
        await requests(web, 100)
        os.killpg(serving.process.pid, INT)
        assert await serving.ended() == 0
        await made.is_empty()
        assert "Traceback" not in serving.said and "Fatal" not in serving.said
        await given_back(made)


async def test_serving_ends_without_waiting_for_clients_that_do_not(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (web, made):
        serving = made.start("serve", "--port", "0")
        url = (await serving.says("the API answers at")).split()[4]
        await requests(web, 100)
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as slow:
            slow.sendall(b"POST /api/services HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            await asyncio.sleep(0.2)
            assert await stopped(made, serving, TERM) == 0
        await given_back(made)


async def test_a_worker_whose_parent_dies_while_it_starts_is_gone(tmp_path: Path) -> None:
    """Whatever it waits for: here for its turn to start the database, which never comes."""
    async with at_work(tmp_path) as (_, made):
        await made.is_empty()
        turn = open_lock(str(made.home()), START_LOCK)
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
            worker = made.start("worker", "--stop-with-stdin", stdin=subprocess.PIPE)
            await until(lambda: _waits_for(turn), PATIENCE, lambda: f"it does not come so far: {worker.said}")
            assert worker.process.stdin is not None
            worker.process.stdin.close()
            assert await worker.ended() == 0
        finally:
            os.close(turn)
        assert worker.said == ""


def _waits_for(lock: int) -> bool:
    """Whether somebody stands in line for a lock that we have (proc_locks(5))."""
    number = f":{os.fstat(lock).st_ino} "
    return any(" -> FLOCK" in line and number in line for line in Path("/proc/locks").read_text().splitlines())


async def test_a_stop_does_not_wait_for_a_database_that_has_gone_silent(tmp_path: Path) -> None:
    """Then nothing can be given back, and whoever comes next finds that nobody holds it any more."""
    async with at_work(tmp_path) as (web, made):
        worker = made.start("worker")
        await requests(web, 300)
        with silent(made):
            worker.tell(TERM)
            assert await worker.ended() == 3
        assert "stop.overdue" in worker.said
        await made.is_empty()
        crawling = made.start("crawl", *HOSTS[:3])
        assert await crawling.ended() == 0, crawling.said


@contextlib.contextmanager
def silent(made: House) -> Iterator[None]:
    """Its first process and all others stand still: connections stay open and nothing comes."""
    postmaster = made.postmaster()
    assert postmaster is not None
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    stopped = [postmaster, *map(int, children)]
    for one in stopped:
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in reversed(stopped):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGCONT)


def test_a_worker_starts_without_the_api() -> None:
    """It is started again and again, and on a busy machine each further import is a second."""
    assert _loaded_with("registry.cli.working", "fastapi", "uvicorn", "starlette") == ""


def test_a_crawl_starts_without_the_search_engine() -> None:
    """Engines and vectors take as much memory as a thousand hosts in flight, and are not needed before its end."""
    heavy = ("numpy", "tantivy", "usearch", "tokenizers", "meilisearch", "alembic")
    assert _loaded_with("registry.cli.onepass", *heavy) == ""


def _loaded_with(module: str, *others: str) -> str:
    """Which of the others a fresh process has loaded when it has imported the module."""
    program = f"import sys, {module}; print(*(set({others!r}) & set(sys.modules)))"
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


async def test_the_demo_can_be_interrupted_at_any_point(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (_, made):
        for words, number, code in (
            ("schema current", INT, 130),
            ("the API answers at", INT, 0),
        ):
            demo = made.start("demo", "--port", "0", "--data", str(made.data))
            await demo.says(words)
            assert await stopped(made, demo, number) == code, demo.said
