"""The figures of a worker as a monitoring system reads them."""

import asyncio
import json
import re
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.flow.test_kill import HOSTS, all_visited, at_work
from tests.support.running import Command

pytestmark = pytest.mark.slow

Figures = dict[tuple[str, str], float]


async def scraped(port: int) -> Figures:
    def read() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain")
            return answer.read().decode()

    families = text_string_to_metric_families(await asyncio.to_thread(read))
    return {(one.name, "".join(one.labels.values())): one.value for family in families for one in family.samples}


async def port_of(worker: Command) -> int:
    told = json.loads(await worker.says("metrics.served"))
    assert isinstance(told["port"], int)
    return told["port"]


async def test_a_worker_shows_what_it_did_and_how_the_queue_stands(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (web, made):
        worker = made.start("worker", "--metrics", "127.0.0.1:0")
        port = await port_of(worker)
        await all_visited(made)
        figures = await scraped(port)
        assert figures["waypost_hosts_total", "found"] == len(HOSTS)
        assert figures["waypost_domains_total", "recorded"] == len(HOSTS)
        assert figures["waypost_requests_total", ""] == len(web.seen)
        assert figures["waypost_received_bytes_total", ""] > 0
        assert figures["waypost_domains_in_flight", ""] == 0
        assert figures["process_resident_memory_bytes", ""] > 0
        assert figures["waypost_database_up", ""] == 1
        states = {state for name, state in figures if name == "waypost_frontier_domains"}
        assert states == {"due", "leased", "waiting", "never"}
        assert figures["waypost_queue_age_seconds", ""] >= 0
        worker.process.terminate()
        assert await worker.ended() == 0
        await made.is_empty()


async def test_an_address_that_is_none_is_wrong_usage(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (_, made):
        worker = made.start("worker", "--metrics", "9464")
        assert await worker.ended() == 2
        assert re.search("'9464' is not HOST:PORT", worker.said)
