"""Any process may be killed at any moment; starting again goes on without loss.

The web is served by the test itself, so that it outlives whatever is killed. The moments are drawn from a seed.
"""

import asyncio
import json
import os
import random
import signal
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests.support.consistency import faults
from tests.support.database import until_true
from tests.support.demo import run_demo
from tests.support.running import PATIENCE, House, house, until
from tests.support.sites import Exchange, Reply, Sites

pytestmark = [pytest.mark.slow]

HOSTS = [f"site{number:02}.example" for number in range(60)]
SECONDS = 240.0
"""Until what hangs is given up."""

PAUSE = 0.03
"""Each answer takes so long, so that there is a crawl to kill something in: two seconds, at 25 requests a host."""


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
    """Answers slowly. A visit has one connection to a host: an older one that speaks again is a second visit."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(HOSTS, self.answer_slowly))

    async def answer_slowly(self, exchange: Exchange) -> None:
        await asyncio.sleep(PAUSE)
        is_manifest = exchange.path == "/.well-known/agent"
        reply = Reply(manifest(exchange.host)) if is_manifest else Reply(b"nothing here", 404, "text/plain")
        await exchange.send(reply.encode())

    def interleaved(self) -> dict[str, list[int]]:
        connections: dict[str, list[int]] = defaultdict(list)
        for exchange in self.seen:
            connections[exchange.host].append(exchange.connection)
        return {host: numbers for host, numbers in connections.items() if numbers != sorted(numbers)}


@asynccontextmanager
async def at_work(folder: Path) -> AsyncIterator[tuple[Web, House]]:
    """The web and a registry that has all its hosts to visit; nothing runs yet."""
    async with Web() as web, asyncio.timeout(SECONDS + PATIENCE):
        with house(folder / "data", web, web.write_authority(folder)) as made:
            async with made.opened() as waypost:
                report = await waypost.seed(HOSTS, source="test")
                assert report.hosts == len(HOSTS)
            yield web, made


async def requests(web: Web, number: int) -> None:
    """Until the web has had so many more."""
    await asyncio.wait_for(web.asked(len(web.seen) + number), SECONDS)


async def all_visited(made: House) -> None:
    """And nobody has a domain any more, and the index has been told."""
    async with made.opened() as waypost:
        hosts = waypost.hosts_of(HOSTS)

        async def nothing_is_left() -> bool:
            return not (await waypost.waiting(hosts) or await waypost.index_lag())

        await until_true(nothing_is_left, SECONDS)


async def sound(made: House, web: Web) -> None:
    """Stops nothing: everything has been stopped. The last word on a run."""
    await made.is_empty()
    async with made.opened() as waypost:
        assert await faults(waypost, HOSTS) == {}
        overview = await waypost.overview()
        assert overview.outcomes == {"found": len(HOSTS)}
        assert overview.services == len(HOSTS)
    assert web.interleaved() == {}
    assert all("Traceback" not in command.said for command in made.commands), [one.said for one in made.commands]
    await made.is_empty()


async def test_a_killed_worker_is_replaced_and_goes_on(tmp_path: Path) -> None:
    moments = random.Random(1)
    async with at_work(tmp_path) as (web, made):
        serving = made.start("serve", "--port", "0")
        for _ in range(2):
            await requests(web, moments.randrange(1, 600))
            (worker,) = made.workers()
            os.kill(worker, signal.SIGKILL)
        await all_visited(made)
        serving.tell(signal.SIGTERM)
        assert await serving.ended() == 0
        await sound(made, web)


async def test_a_killed_database_comes_back_under_everybody(tmp_path: Path) -> None:
    """The API says so meanwhile, and answers again without being restarted; the worker crawls on."""
    moments = random.Random(3)
    async with at_work(tmp_path) as (web, made):
        serving = made.start("serve", "--port", "0")
        url = (await serving.says("the API answers at")).split()[4]
        answers: list[httpx2.Response] = []
        async with httpx2.AsyncClient(base_url=url, timeout=120) as client:
            asking = asyncio.create_task(ask(client, answers))
            for _ in range(2):
                await requests(web, moments.randrange(1, 500))
                await made.kill_postmaster()
            await all_visited(made)
            await until(lambda: answers[-1].status_code == 200, PATIENCE, lambda: answers[-1].text)
            assert not asking.done(), asking.exception()
            asking.cancel()
        for answer in answers:
            assert answer.status_code in (200, 503), answer.text
            if answer.status_code == 503:
                assert answer.headers["content-type"] == "application/problem+json"
                assert int(answer.headers["retry-after"]) > 0
        serving.tell(signal.SIGTERM)
        assert await serving.ended() == 0
        await sound(made, web)


async def ask(client: httpx2.AsyncClient, answers: list[httpx2.Response]) -> None:
    while True:
        answers.append(await client.get("/api/services"))
        await asyncio.sleep(0.02)


async def test_a_killed_server_takes_its_worker_and_the_database_with_it(tmp_path: Path) -> None:
    moments = random.Random(5)
    async with at_work(tmp_path) as (web, made):
        first = made.start("serve", "--port", "0")
        await requests(web, moments.randrange(1, 1_000))
        first.tell(signal.SIGKILL)
        await until(lambda: not made.workers(), PATIENCE, lambda: f"left alone: {made.processes()}")
        await made.is_empty()
        second = made.start("serve", "--port", "0")
        await all_visited(made)
        second.tell(signal.SIGTERM)
        assert await second.ended() == 0
        await sound(made, web)


async def test_everything_killed_at_once_is_found_whole(tmp_path: Path) -> None:
    moments = random.Random(7)
    async with at_work(tmp_path) as (web, made):
        first = made.start("serve", "--port", "0")
        await requests(web, moments.randrange(100, 1_000))
        postmaster = made.postmaster()
        assert postmaster is not None
        for process in (first.process.pid, *made.workers(), postmaster):
            os.kill(process, signal.SIGKILL)
        second = made.start("serve", "--port", "0")
        await all_visited(made)
        second.tell(signal.SIGTERM)
        assert await second.ended() == 0
        await sound(made, web)


async def test_a_killed_crawl_does_not_keep_the_next_one_waiting(tmp_path: Path) -> None:
    """For none of the half hour that its leases would hold."""
    async with at_work(tmp_path) as (web, made):
        first = made.start("crawl", *HOSTS)
        await requests(web, 300)
        first.tell(signal.SIGKILL)
        await first.ended()
        second = made.start("crawl", *HOSTS)
        assert await second.ended() == 0, second.said
        await sound(made, web)


async def test_workers_on_one_queue_never_visit_a_domain_at_the_same_time(tmp_path: Path) -> None:
    """Also while one of them is killed and others take over, and while the database restarts under them."""
    moments = random.Random(8)
    async with at_work(tmp_path) as (web, made):
        made.environment["WAYPOST_LEASE_BATCH"] = "7"
        made.environment["WAYPOST_HOSTS_IN_FLIGHT"] = "14"
        first, second = made.start("worker"), made.start("worker")
        await requests(web, moments.randrange(100, 500))
        first.tell(signal.SIGKILL)
        third = made.start("worker")
        await requests(web, moments.randrange(100, 300))
        await made.kill_postmaster()
        await all_visited(made)
        await third.says("worker.started")  # or it ends by the signal itself
        for worker in (second, third):
            worker.tell(signal.SIGTERM)
            assert await worker.ended() == 0
        await sound(made, web)


async def test_a_demo_that_was_killed_runs_to_its_end_the_next_time(tmp_path: Path) -> None:
    moments, sites = random.Random(9), tmp_path / "sites"
    for host in HOSTS:
        (sites / host / ".well-known").mkdir(parents=True)
        (sites / host / ".well-known" / "agent").write_bytes(manifest(host))
    async with Web() as web, asyncio.timeout(SECONDS + PATIENCE):
        with house(tmp_path / "data", web, web.write_authority(tmp_path)) as made:
            for _ in range(3):
                demo = made.start("demo", "--no-serve", "--data", str(made.data), "--sites", str(sites))
                await until(made.workers, PATIENCE, lambda: str(made.commands))
                await asyncio.sleep(moments.uniform(0.5, 4))
                demo.tell(signal.SIGKILL)
                await demo.ended()
            ran = await asyncio.to_thread(run_demo, made.data, "--sites", str(sites))
            assert {one["outcome"] for one in ran.report["hosts"].values()} == {"found"}
            assert len(ran.report["hosts"]) == len(HOSTS)
            await made.is_empty()
            async with ran.opened() as waypost:
                assert await faults(waypost, HOSTS) == {}
