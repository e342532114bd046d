"""Any process may be killed at any moment; a restart continues without loss.

The test itself serves the web, so that it outlives what is killed. The moments are drawn from a seed.
"""

import asyncio
import json
import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests.support.consistency import faults
from tests.support.database import until_true
from tests.support.demo import run_demo
from tests.support.hang import HANG_SECONDS, pause
from tests.support.running import DataFolder, new_data_folder, until
from tests.support.sites import Exchange, Reply, Sites

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

HOSTS = [f"site{number:02}.example" for number in range(60)]

PAUSE = 0.03
"""Delay of each response in seconds, so that a crawl is in progress when something dies: 25 requests a host."""


def manifest(host: str) -> bytes:
    names = ["send_letter", "track_letter", "cancel_letter"]
    capabilities = [
        {"name": name, "description": f"{name} of {host}", "detail_url": f"/capabilities/{name}"} for name in names
    ]
    return json.dumps(
        {
            "aid_version": "0.1",
            "name": f"Letters by {host}",
            "domain": host,
            "description": "Sends letters for agents",
            "base_url": f"https://{host}",
            "auth": {"type": "none"},
            "capabilities": capabilities,
        }
    ).encode()


class Web(Sites):
    """Answer slowly. A visit uses one connection to a host, so requests on an older connection show a second visit."""

    def __init__(self, hosts: Sequence[str] = HOSTS, pause: float = PAUSE) -> None:
        super().__init__(dict.fromkeys(hosts, self.answer_slowly))
        self._pause = pause

    async def answer_slowly(self, exchange: Exchange) -> None:
        await asyncio.sleep(self._pause)
        is_manifest = exchange.path == "/.well-known/agent"
        reply = Reply(manifest(exchange.host)) if is_manifest else Reply(b"nothing here", 404, "text/plain")
        await exchange.send(reply.encode())

    def interleaved(self) -> dict[str, list[int]]:
        connections: dict[str, list[int]] = defaultdict(list)
        for exchange in self.seen:
            connections[exchange.host].append(exchange.connection)
        return {host: numbers for host, numbers in connections.items() if numbers != sorted(numbers)}


@asynccontextmanager
async def at_work(
    folder: Path, database_url: str = "", hosts: Sequence[str] = HOSTS, seconds: float | None = HANG_SECONDS
) -> AsyncIterator[tuple[Web, DataFolder]]:
    """Yield the web and a registry in which these hosts are due; nothing runs yet. Raise TimeoutError after `seconds`.

    Without the URL of a database, commands start one of their own, and `serve` a worker.
    """
    async with Web() as web, asyncio.timeout(seconds):
        with new_data_folder(folder / "data", web, web.write_authority(folder), database_url) as data_folder:
            async with data_folder.opened() as waypost:
                report = await waypost.frontier.seed(hosts, source="test")
                assert report.hosts == len(hosts)
            yield web, data_folder


async def requests(web: Web, number: int) -> None:
    """Wait until the web has had this many more requests."""
    await asyncio.wait_for(web.asked(len(web.seen) + number), HANG_SECONDS)


async def all_visited(data_folder: DataFolder) -> None:
    """Wait until every host is visited, no domain is leased, and the index is current."""
    async with data_folder.opened() as waypost:
        hosts = waypost.frontier.hosts_of(HOSTS)

        async def nothing_is_left() -> bool:
            return not (await waypost.frontier.waiting(hosts) or await waypost.search.index_lag())

        await until_true(nothing_is_left, HANG_SECONDS)


async def assert_complete(data_folder: DataFolder, web: Web) -> None:
    """Assert, after everything has stopped, that the registry is complete and consistent."""
    await data_folder.until_unused()
    async with data_folder.opened() as waypost:
        assert await faults(waypost, HOSTS) == {}
        overview = await waypost.queries.overview()
        assert overview.outcomes == {"found": len(HOSTS)}
        assert overview.services == len(HOSTS)
    assert web.interleaved() == {}
    assert all("Traceback" not in command.output for command in data_folder.commands), [
        command.output for command in data_folder.commands
    ]
    await data_folder.until_unused()


@pytest.mark.long
async def test_serve_replaces_a_killed_worker_and_nothing_is_lost(tmp_path: Path) -> None:
    rng = random.Random(1)
    async with at_work(tmp_path) as (web, data_folder):
        serving = data_folder.start("serve", "--port", "0")
        for _ in range(2):
            await requests(web, rng.randrange(1, 600))
            (worker,) = data_folder.workers()
            os.kill(worker, signal.SIGKILL)
        await all_visited(data_folder)
        serving.send_signal(signal.SIGTERM)
        assert await serving.exit_code() == 0
        await assert_complete(data_folder, web)


@pytest.mark.long
async def test_a_killed_database_is_restarted_while_the_api_and_the_worker_run(tmp_path: Path) -> None:
    """Meanwhile the API responds 503 and recovers without a restart; the worker crawls on."""
    rng = random.Random(3)
    async with at_work(tmp_path) as (web, data_folder):
        serving = data_folder.start("serve", "--port", "0")
        url = (await serving.line_with("the API answers at")).split()[4]
        responses: list[httpx2.Response] = []
        async with httpx2.AsyncClient(base_url=url, timeout=HANG_SECONDS) as client:
            polling = asyncio.create_task(poll_services(client, responses))
            for _ in range(2):
                await requests(web, rng.randrange(1, 500))
                await data_folder.kill_postmaster()
            await all_visited(data_folder)
            await until(lambda: responses[-1].status_code == 200, HANG_SECONDS, lambda: responses[-1].text)
            assert not polling.done(), polling.exception()
            polling.cancel()
        for response in responses:
            assert response.status_code in (200, 503), response.text
            if response.status_code == 503:
                assert response.headers["content-type"] == "application/problem+json"
                assert int(response.headers["retry-after"]) > 0
        serving.send_signal(signal.SIGTERM)
        assert await serving.exit_code() == 0
        await assert_complete(data_folder, web)


async def poll_services(client: httpx2.AsyncClient, responses: list[httpx2.Response]) -> None:
    while True:
        began = time.monotonic()
        responses.append(await client.get("/api/services"))
        await asyncio.sleep(pause(time.monotonic() - began, 0.02))


@pytest.mark.long
@pytest.mark.parametrize("everything", [False, True])
async def test_a_server_starts_again_after_it_was_killed(tmp_path: Path, everything: bool) -> None:
    """Killed alone, its worker and its database stop by themselves; all killed at once, nothing is lost either."""
    async with at_work(tmp_path) as (web, data_folder):
        first = data_folder.start("serve", "--port", "0")
        await requests(web, random.Random(7).randrange(100, 1_000))
        postmaster = data_folder.postmaster()
        assert postmaster is not None
        for process in (first.process.pid, *([*data_folder.workers(), postmaster] if everything else [])):
            os.kill(process, signal.SIGKILL)
        if not everything:
            await data_folder.until_unused()
        second = data_folder.start("serve", "--port", "0")
        await all_visited(data_folder)
        second.send_signal(signal.SIGTERM)
        assert await second.exit_code() == 0
        await assert_complete(data_folder, web)


async def test_a_killed_crawl_does_not_keep_the_next_one_waiting(tmp_path: Path, database_url: str) -> None:
    """The next crawl does not wait for the half hour for which the killed crawl's leases would be valid."""
    async with at_work(tmp_path, database_url) as (web, data_folder):
        first = data_folder.start("crawl", *HOSTS)
        await requests(web, 300)
        first.send_signal(signal.SIGKILL)
        await first.exit_code()
        second = data_folder.start("crawl", *HOSTS)
        assert await second.exit_code() == 0, second.output
        await assert_complete(data_folder, web)


@pytest.mark.long
async def test_workers_on_one_queue_never_visit_a_domain_at_the_same_time(tmp_path: Path) -> None:
    """Also while one worker is killed and others take over, and while the database restarts."""
    rng = random.Random(8)
    async with at_work(tmp_path) as (web, data_folder):
        data_folder.environment["WAYPOST_LEASE_BATCH"] = "7"
        data_folder.environment["WAYPOST_HOSTS_IN_FLIGHT"] = "14"
        first, second = data_folder.start("worker"), data_folder.start("worker")
        await requests(web, rng.randrange(100, 500))
        first.send_signal(signal.SIGKILL)
        third = data_folder.start("worker")
        await requests(web, rng.randrange(100, 300))
        await data_folder.kill_postmaster()
        await all_visited(data_folder)
        await third.line_with("worker.started")  # before that, the signal would kill it without a clean stop
        for worker in (second, third):
            worker.send_signal(signal.SIGTERM)
            assert await worker.exit_code() == 0
        await assert_complete(data_folder, web)


@pytest.mark.long
async def test_the_demo_completes_after_earlier_runs_were_killed(tmp_path: Path) -> None:
    rng, sites = random.Random(9), tmp_path / "sites"
    for host in HOSTS:
        (sites / host / ".well-known").mkdir(parents=True)
        (sites / host / ".well-known" / "agent").write_bytes(manifest(host))
    async with Web() as web, asyncio.timeout(HANG_SECONDS):
        with new_data_folder(tmp_path / "data", web, web.write_authority(tmp_path)) as data_folder:
            for _ in range(3):
                demo = data_folder.start("demo", "--no-serve", "--data", str(data_folder.data), "--sites", str(sites))
                await until(data_folder.workers, HANG_SECONDS, lambda: str(data_folder.commands))
                await asyncio.sleep(rng.uniform(0.5, 4))
                demo.send_signal(signal.SIGKILL)
                await demo.exit_code()
            ran = await asyncio.to_thread(run_demo, data_folder.data, "--sites", str(sites))
            assert {host_report["outcome"] for host_report in ran.report["hosts"].values()} == {"found"}
            assert len(ran.report["hosts"]) == len(HOSTS)
            await data_folder.until_unused()
            async with ran.opened() as waypost:
                assert await faults(waypost, HOSTS) == {}
