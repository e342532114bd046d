"""Submissions are no weapon: whatever their number, a site sees the requests of one visit; none if it opted out.

WAYPOST_TEST_SUBMISSIONS=10000 makes it ten thousand, which takes half a minute on a quiet machine.
"""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from crawler import visit
from crawler.guards import Resolver, Unresolved
from crawler.run import crawl
from registry.settings import Settings
from registry.store.records import OptOutRecord
from registry.wiring import Waypost, open_waypost
from tests.api.conftest import make_client
from tests.crawler.support import settings
from tests.support.database import database_server, database_template, database_url, rows, until_true
from tests.support.sites import Reply, Site, Sites

__all__ = ["database_server", "database_template", "database_url"]

pytestmark = pytest.mark.slow  # thousands of transactions

HOST = "victim.example"
SUBS = [f"s{number}.{HOST}" for number in range(25)]
MANY = int(os.environ.get("WAYPOST_TEST_SUBMISSIONS", "2000"))
NOTHING = Reply(b"nothing", 404)
SPELLINGS = (HOST, HOST.upper(), "Victim.Example", f"{HOST}.", "VICTIM.example.", "vIcTiM.eXaMpLe")


@asynccontextmanager
async def opened(
    monkeypatch: pytest.MonkeyPatch, folder: Path, url: str, sites: Mapping[str, Site], **more: Any
) -> AsyncIterator[tuple[Sites, Waypost, Settings]]:
    async with Sites(sites) as served:
        monkeypatch.setenv("SSL_CERT_FILE", str(served.write_authority(folder)))
        monkeypatch.delenv("SSL_CERT_DIR", raising=False)
        defaults = {"database_url": url, "data": folder, "submit_rate": 10**6}
        chosen = settings(*served.connect_to(), **(defaults | more))
        async with open_waypost(chosen) as waypost:
            yield served, waypost, chosen


async def test_thousands_of_submissions_are_one_visit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    sites = {HOST: NOTHING, "control.example": NOTHING}
    async with opened(monkeypatch, tmp_path, database_url, sites) as (served, waypost, chosen):
        await waypost.submit("control.example")
        spellings = itertools.cycle(SPELLINGS)
        asked = iter(range(MANY))

        async def ask() -> list[str]:
            return [(await waypost.submit(next(spellings))).state for _ in asked]

        states = [state for part in await asyncio.gather(*(ask() for _ in range(4))) for state in part]
        assert (len(states), states.count("new")) == (MANY, 1) and set(states) == {"new", "queued"}
        assert await rows(waypost._store, "SELECT count(*) FROM hosts") == [(2,)]
        await crawl(waypost, chosen, until_idle=True)
        assert len(served.paths(HOST)) == len(served.paths("control.example")) > 10
        assert {(await waypost.submit(name)).state for name in SPELLINGS} == {"known"}
        await crawl(waypost, chosen, until_idle=True)
        assert len(served.paths(HOST)) == len(served.paths("control.example"))


async def test_submissions_during_the_visit_add_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    """Through the API, while a crawler is at work."""
    sites = {HOST: NOTHING, "control.example": NOTHING}
    more = {"request_delay": 0.05}
    async with opened(monkeypatch, tmp_path, database_url, sites, **more) as (served, waypost, chosen):
        stop = asyncio.Event()
        crawling = asyncio.create_task(crawl(waypost, chosen, until_idle=False, stop=stop))
        async with make_client(waypost, chosen) as client, asyncio.timeout(120):
            await client.post("/api/services?wait=0", json={"domain": "control.example"})
            for name in itertools.islice(itertools.cycle(SPELLINGS), 300):
                await client.post("/api/services?wait=0", json={"domain": name})
            visited = "SELECT 1 FROM hosts HAVING count(last_visit_at) = 2"
            await until_true(lambda: rows(waypost._store, visited), 120)
            assert (await client.post("/api/services?wait=0", json={"domain": HOST})).status_code == 409
        stop.set()
        await crawling
        assert len(served.paths(HOST)) == len(served.paths("control.example")) > 10
        assert await rows(waypost._store, "SELECT count(*) FROM visits") == [(2,)]


async def test_sub_hosts_of_one_domain_share_its_budget_of_the_day(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    async with opened(monkeypatch, tmp_path, database_url, dict.fromkeys(SUBS, NOTHING)) as (served, waypost, chosen):
        states = [(await waypost.submit(SUBS[number % len(SUBS)])).state for number in range(500)]
        assert (states.count("new"), states.count("too_many")) == (20, 100)
        for _ in range(3):
            await crawl(waypost, chosen, until_idle=True)
            for name in SUBS:
                await waypost.submit(name)
        assert 100 < len(served.seen) <= chosen.domain_daily_budget
        assert (await rows(waypost._store, "SELECT sum(requests) FROM visits"))[0][0] <= chosen.domain_daily_budget
        assert await rows(waypost._store, "SELECT DISTINCT reason FROM visits WHERE requests = 0") == [
            ("domain_budget",)
        ]


class Recording(Resolver):
    """Remembers every name that it is asked for, and knows none."""

    asked: list[str]

    async def addresses(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        raise Unresolved("nxdomain")


async def test_who_opted_out_is_not_even_looked_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    Recording.asked = []
    monkeypatch.setattr(visit, "Resolver", Recording)
    async with opened(monkeypatch, tmp_path, database_url, {HOST: NOTHING}, resolve="system") as (_, waypost, chosen):
        names = ["open.com", "shut.com", "www.shut.com", "api.half.com", "blog.half.com", "deep.blog.half.com"]
        await waypost.seed(names, source="test")
        now = datetime.now(UTC)
        async with waypost._store.begin() as uow:
            await uow.opt_outs.add([OptOutRecord("shut.com", "shut.com", "operator", "", now)])
            await uow.opt_outs.add([OptOutRecord("half.com", "blog.half.com", "operator", "", now)])
        await waypost.submit("shut.com")
        await waypost.make_due(names)
        await crawl(waypost, chosen, until_idle=True)
    assert sorted(Recording.asked) == ["api.half.com", "open.com"]


async def test_a_redirect_to_a_host_that_opted_out_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    blog = f"blog.{HOST}"
    moved = Reply(b"", 301, None, (("Location", f"https://{blog}/agent.json"),))
    sites: dict[str, Site] = {HOST: {"/agent.json": moved}, blog: NOTHING}
    async with opened(monkeypatch, tmp_path, database_url, sites) as (served, waypost, chosen):
        await waypost.submit(HOST)
        async with waypost._store.begin() as uow:
            await uow.opt_outs.add([OptOutRecord(HOST, blog, "operator", "", datetime.now(UTC))])
        await crawl(waypost, chosen, until_idle=True)
        assert "/agent.json" in served.paths(HOST) and served.paths(blog) == []
