"""One client's long lists do not delay another's host: a real crawler visits what came through the API.

WAYPOST_TEST_SUBMISSIONS=10000 sets the number of hosts in the lists, and `-s` shows how long the other client waited.
"""

import asyncio
import os
import sys
from pathlib import Path
from time import monotonic

import pytest

from crawler.run import crawl
from registry.wiring import open_waypost
from tests.crawler.support import settings, trust
from tests.support.api import make_client
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Reply, Site, Sites

pytestmark = pytest.mark.slow  # API, crawler and sites

MANY = int(os.environ.get("WAYPOST_TEST_SUBMISSIONS", "400"))
SERVED = 200
"""Hosts of the flood that answer; all others have no address."""

HONEST, FLOODER = "203.0.113.7", "198.51.100.1"
HOST = "honest.example"
NOTHING = Reply(b"nothing", 404)


async def test_a_host_is_visited_soon_while_long_lists_of_another_client_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    flood = [f"flood{number}.example" for number in range(MANY)]
    sites: dict[str, Site] = dict.fromkeys([HOST, *flood[:SERVED]], NOTHING)
    limits = {"request_delay": 0.2, "hosts_in_flight": 16, "lease_batch": 8, "submit_rate": 10**6, "read_rate": 10**6}
    async with Sites(sites) as web:
        trust(monkeypatch, tmp_path, web)
        names = (f"{host}:443:127.0.0.1:9" for host in flood[SERVED:])
        config = settings(*web.connect_to(), *names, database_url=database_url, data=tmp_path, **limits)
        async with open_waypost(config) as waypost, asyncio.timeout(20 * HANG_SECONDS):
            async with make_client(waypost, config, FLOODER) as client:
                for start in range(0, MANY, 1_000):
                    batch = flood[start : start + 1_000]
                    response = await client.post("/api/submissions", json={"hosts": batch})
                    assert response.json()["data"]["accepted"] == len(batch), response.text
            stop = asyncio.Event()
            crawling = asyncio.create_task(crawl(waypost, config, until_idle=False, stop=stop))
            await web.asked(20)  # the flood is being visited
            began = monotonic()
            async with make_client(waypost, config, HONEST) as client:
                await client.post("/api/submissions", json={"hosts": [HOST]})
            while not web.paths(HOST):
                await web.asked(len(web.seen) + 1)
            seconds = monotonic() - began
            sys.stderr.write(f"{seconds:.1f} s until the visit began; {MANY} of another client were submitted\n")
            visited = {exchange.host for exchange in web.seen} - {HOST}
            stop.set()
            await crawling
        assert len(visited) < SERVED / 2, "it waited for the list of another client"
