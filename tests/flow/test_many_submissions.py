"""Submissions cannot flood a site: whatever their number, a site gets the requests of one visit; none if it opted out.

WAYPOST_TEST_SUBMISSIONS=10000 sets their number; ten thousand take half a minute on an idle machine.
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

from crawler import resources
from crawler.guards import ResolutionError, Resolver
from crawler.run import crawl
from registry.settings import Settings
from registry.store.records import OptOutRecord
from registry.wiring import Waypost, open_waypost
from tests.crawler.support import settings
from tests.support.api import make_client
from tests.support.database import rows, until_true
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Reply, Site, Sites

pytestmark = pytest.mark.slow  # thousands of transactions

HOST = "victim.example"
SUBS = [f"s{number}.{HOST}" for number in range(25)]
MANY = int(os.environ.get("WAYPOST_TEST_SUBMISSIONS", "500"))
NOTHING = Reply(b"nothing", 404)
SPELLINGS = (HOST, HOST.upper(), "Victim.Example", f"{HOST}.", "VICTIM.example.", "vIcTiM.eXaMpLe")


@asynccontextmanager
async def opened(
    monkeypatch: pytest.MonkeyPatch, folder: Path, url: str, sites: Mapping[str, Site], **overrides: Any
) -> AsyncIterator[tuple[Sites, Waypost, Settings]]:
    async with Sites(sites) as web:
        monkeypatch.setenv("SSL_CERT_FILE", str(web.write_authority(folder)))
        monkeypatch.delenv("SSL_CERT_DIR", raising=False)
        defaults = {"database_url": url, "data": folder, "submit_rate": 10**6}
        config = settings(*web.connect_to(), **(defaults | overrides))
        async with open_waypost(config) as waypost:
            yield web, waypost, config


async def test_thousands_of_submissions_cause_one_visit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    sites = {HOST: NOTHING, "control.example": NOTHING}
    async with opened(monkeypatch, tmp_path, database_url, sites) as (web, waypost, config):
        await waypost.frontier.submit("control.example")
        spellings = itertools.cycle(SPELLINGS)
        submissions = iter(range(MANY))

        async def submit_share() -> list[str]:
            return [(await waypost.frontier.submit(next(spellings))).state for _ in submissions]

        states = [state for part in await asyncio.gather(*(submit_share() for _ in range(4))) for state in part]
        assert (len(states), states.count("new")) == (MANY, 1) and set(states) == {"new", "queued"}
        assert await rows(waypost._store, "SELECT count(*) FROM hosts") == [(2,)]
        await crawl(waypost, config, until_idle=True)
        assert len(web.paths(HOST)) == len(web.paths("control.example")) > 10
        assert {(await waypost.frontier.submit(name)).state for name in SPELLINGS} == {"known"}
        await crawl(waypost, config, until_idle=True)
        assert len(web.paths(HOST)) == len(web.paths("control.example"))


async def test_submissions_during_a_visit_cause_no_further_requests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    """The submissions come through the API while a crawler works."""
    sites = {HOST: NOTHING, "control.example": NOTHING}
    overrides = {"request_delay": 0.05}
    async with opened(monkeypatch, tmp_path, database_url, sites, **overrides) as (web, waypost, config):
        stop = asyncio.Event()
        crawling = asyncio.create_task(crawl(waypost, config, until_idle=False, stop=stop))
        async with make_client(waypost, config) as client, asyncio.timeout(HANG_SECONDS):
            await client.post("/api/services?wait=0", json={"domain": "control.example"})
            for name in itertools.islice(itertools.cycle(SPELLINGS), 300):
                await client.post("/api/services?wait=0", json={"domain": name})
            visited = "SELECT 1 FROM hosts HAVING count(last_visit_at) = 2"
            await until_true(lambda: rows(waypost._store, visited), 120)
            assert (await client.post("/api/services?wait=0", json={"domain": HOST})).status_code == 409
        stop.set()
        await crawling
        assert len(web.paths(HOST)) == len(web.paths("control.example")) > 10
        assert await rows(waypost._store, "SELECT count(*) FROM visits") == [(2,)]


async def test_sub_hosts_share_the_daily_budget_of_their_domain(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    async with opened(monkeypatch, tmp_path, database_url, dict.fromkeys(SUBS, NOTHING)) as (web, waypost, config):
        states = [(await waypost.frontier.submit(SUBS[number % len(SUBS)])).state for number in range(500)]
        assert (states.count("new"), states.count("too_many")) == (20, 100)
        for _ in range(3):
            await crawl(waypost, config, until_idle=True)
            for name in SUBS:
                await waypost.frontier.submit(name)
        assert 50 < len(web.seen) <= config.domain_daily_budget / 2, "the rest is kept for hosts that are known"
        assert (await rows(waypost._store, "SELECT sum(sent) FROM visits"))[0][0] == len(web.seen)
        assert await rows(waypost._store, "SELECT DISTINCT reason FROM visits WHERE requests = 0") == [
            ("new_hosts_budget",)
        ]


class Recording(Resolver):
    """Record every name to be resolved, and resolve none."""

    asked: list[str]

    async def addresses(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        raise ResolutionError("nxdomain")


async def test_a_host_that_opted_out_is_not_resolved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    Recording.asked = []
    monkeypatch.setattr(resources, "Resolver", Recording)
    async with opened(monkeypatch, tmp_path, database_url, {HOST: NOTHING}, resolve="system") as (_, waypost, config):
        names = ["open.com", "shut.com", "www.shut.com", "api.half.com", "blog.half.com", "deep.blog.half.com"]
        await waypost.frontier.seed(names, source="test")
        now = datetime.now(UTC)
        async with waypost._store.begin() as uow:
            await uow.opt_outs.add([OptOutRecord("shut.com", "shut.com", "operator", "", now)])
            await uow.opt_outs.add([OptOutRecord("half.com", "blog.half.com", "operator", "", now)])
        await waypost.frontier.submit("shut.com")
        await waypost.frontier.make_due(names)
        await crawl(waypost, config, until_idle=True)
    assert sorted(Recording.asked) == ["api.half.com", "open.com"]


async def test_a_redirect_to_a_host_that_opted_out_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    blog = f"blog.{HOST}"
    redirect = Reply(b"", 301, None, (("Location", f"https://{blog}/agent.json"),))
    sites: dict[str, Site] = {HOST: {"/agent.json": redirect}, blog: NOTHING}
    async with opened(monkeypatch, tmp_path, database_url, sites) as (web, waypost, config):
        await waypost.frontier.submit(HOST)
        async with waypost._store.begin() as uow:
            await uow.opt_outs.add([OptOutRecord(HOST, blog, "operator", "", datetime.now(UTC))])
        await crawl(waypost, config, until_idle=True)
        assert "/agent.json" in web.paths(HOST) and web.paths(blog) == []
