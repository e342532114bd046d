"""Nobody can use submissions against another site: not its listing, its revisits, its opt-out, nor its name servers.

Strangers submit through the API, each from an address of its own; a real crawler visits what was accepted. Names that
are not in the connect-to table do not resolve. Whatever their number, a site gets the requests of one visit.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from crawler import session
from crawler.guards import ResolutionError, Resolver
from crawler.run import crawl
from registry.settings import Settings
from registry.store.records import OptOutRecord
from registry.wiring import Waypost, open_waypost
from tests.crawler.support import settings, trust
from tests.support.api import make_client
from tests.support.builders import ADP, adp_detail, adp_manifest
from tests.support.database import rows, until_true
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Reply, Site, Sites

pytestmark = pytest.mark.slow  # API, crawler and sites

DOMAIN = "newshop-fresh.com"
NOPES = [f"nope{number}.{DOMAIN}" for number in range(114)]
NOTHING = Reply(b"nothing", 404)
OPT_OUT = Reply("User-agent: WaypostBot\nDisallow: /\n", type="text/plain")


def shop(host: str, **members: str) -> dict[str, Reply]:
    """Return the pages of a host that serves a valid manifest."""
    return {
        ADP: Reply(json.dumps(adp_manifest(host, "buy", **members))),
        "/caps/buy": Reply(json.dumps(adp_detail("buy"))),
    }


class Registry:
    """A registry, its crawler, and clients of its API at different addresses."""

    def __init__(self, web: Sites, waypost: Waypost, config: Settings, stack: AsyncExitStack) -> None:
        self.web, self.waypost, self.config = web, waypost, config
        self._stack = stack
        self._clients: dict[str, httpx2.AsyncClient] = {}

    async def client(self, address: str) -> httpx2.AsyncClient:
        if address not in self._clients:
            client = make_client(self.waypost, self.config, address)
            self._clients[address] = await self._stack.enter_async_context(client)
        return self._clients[address]

    async def submit(self, name: str, address: str) -> httpx2.Response:
        client = await self.client(address)
        return await client.post("/api/services?wait=0", json={"domain": name})

    async def flood(self, names: Sequence[str], addresses: Sequence[str]) -> list[int]:
        """Submit the names from the addresses in turn, with a visit of what is due after every tenth."""
        statuses = []
        for number, (name, address) in enumerate(zip(names, itertools.cycle(addresses), strict=False), 1):
            statuses.append((await self.submit(name, address)).status_code)
            if number % 10 == 0:
                await self.crawl()
        await self.crawl()
        return statuses

    async def crawl(self) -> None:
        await crawl(self.waypost, self.config, until_idle=True)

    async def revisit(self, host: str) -> None:
        """Let the host be due by itself now, and visit what is due."""
        async with self.waypost._store.engine.begin() as connection:
            due = "next_visit_at = now(), robots_at = NULL"
            await connection.exec_driver_sql(f"UPDATE hosts SET {due} WHERE host = '{host}'")
            await connection.exec_driver_sql("UPDATE domains SET next_visit_at = now()")
        await self.crawl()

    async def state(self, host: str) -> dict[str, Any]:
        client = await self.client("192.0.2.250")
        data: dict[str, Any] = (await client.get(f"/api/services/{host}/status")).json()["data"]
        return data

    async def hosts(self) -> list[str]:
        return [host for (host,) in await rows(self.waypost._store, "SELECT host FROM hosts")]


@asynccontextmanager
async def opened(
    monkeypatch: pytest.MonkeyPatch, folder: Path, url: str, sites: Mapping[str, Site], **overrides: Any
) -> AsyncIterator[tuple[Sites, Waypost, Settings]]:
    """Serve the sites, and open an empty registry that reaches them."""
    async with Sites(sites) as web:
        trust(monkeypatch, folder, web)
        defaults = {"database_url": url, "data": folder, "submit_rate": 10**6}
        config = settings(*web.connect_to(), **(defaults | overrides))
        async with open_waypost(config) as waypost:
            yield web, waypost, config


@pytest.fixture(name="open_registry")
def _open_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str) -> Any:
    @asynccontextmanager
    async def new(sites: Mapping[str, Site], **overrides: Any) -> AsyncIterator[Registry]:
        async with opened(monkeypatch, tmp_path, database_url, sites, **overrides) as parts, AsyncExitStack() as stack:
            yield Registry(*parts, stack)

    return new


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names that the crawler wants to resolve; none has an address."""
    names: list[str] = []

    class Recording(Resolver):
        async def addresses(self, host: str) -> tuple[str, ...]:
            names.append(host)
            raise ResolutionError("nxdomain")

    monkeypatch.setattr(session, "Resolver", Recording)
    return names


def addresses(number: int) -> list[str]:
    return [f"198.51.100.{last}" for last in range(1, number + 1)]


OWNER = "203.0.113.7"


@pytest.mark.long
@pytest.mark.parametrize("strangers", [1, 30])
async def test_names_that_do_not_exist_cannot_block_the_listing_of_their_domain(
    open_registry: Any, strangers: int
) -> None:
    async with open_registry({DOMAIN: shop(DOMAIN)}) as registry:
        await registry.flood(NOPES, addresses(strangers))
        assert (await registry.submit(DOMAIN, OWNER)).status_code == 202
        await registry.crawl()
        assert (await registry.state(DOMAIN))["state"] == "listed"


@pytest.mark.parametrize("strangers", [1, pytest.param(30, marks=pytest.mark.long)])
async def test_a_listed_domain_is_visited_again_during_a_flood(open_registry: Any, strangers: int) -> None:
    """Both kinds of names: some do not exist, the others are served, as with a wildcard record in DNS."""
    wild = [f"a{number}.{DOMAIN}" for number in range(30)]
    sites: dict[str, Site] = {DOMAIN: shop(DOMAIN, name="Old name"), **dict.fromkeys(wild, NOTHING)}
    async with open_registry(sites) as registry:
        await registry.submit(DOMAIN, OWNER)
        await registry.crawl()
        await registry.flood([name for pair in zip(wild, NOPES, strict=False) for name in pair], addresses(strangers))
        registry.web.sites[DOMAIN] = shop(DOMAIN, name="New name")
        await registry.revisit(DOMAIN)
        assert await rows(registry.waypost._store, "SELECT name FROM services") == [("New name",)]


@pytest.mark.long
async def test_an_opt_out_by_robots_is_seen_during_a_flood(open_registry: Any) -> None:
    wild = [f"a{number}.{DOMAIN}" for number in range(60)]
    sites: dict[str, Site] = {DOMAIN: shop(DOMAIN), **dict.fromkeys(wild, NOTHING)}
    async with open_registry(sites) as registry:
        await registry.submit(DOMAIN, OWNER)
        await registry.crawl()
        await registry.flood([*wild, *NOPES[:30]], addresses(30))
        registry.web.sites[DOMAIN] = {"/robots.txt": OPT_OUT}
        await registry.revisit(DOMAIN)
        assert (await registry.state(DOMAIN))["state"] == "opted_out"


@pytest.mark.parametrize("exist", [True, False])
async def test_a_new_sub_host_of_the_owner_is_visited_during_a_flood(open_registry: Any, exist: bool) -> None:
    """One stranger submits before the owner, names that come first in the alphabet, and goes on for days."""
    strange = [f"a{number}.{DOMAIN}" for number in range(60)]
    own = f"shop.{DOMAIN}"
    sites: dict[str, Site] = {own: shop(own), **(dict.fromkeys(strange, NOTHING) if exist else {})}
    async with open_registry(sites) as registry:
        statuses = [(await registry.submit(name, addresses(1)[0])).status_code for name in strange]
        assert statuses == [202] * 5 + [429] * 55
        assert (await registry.submit(own, OWNER)).status_code == 202
        await registry.crawl()
        assert (await registry.state(own))["state"] == "listed"


@pytest.mark.long
async def test_a_flood_of_names_that_exist_leaves_half_of_the_budget(open_registry: Any) -> None:
    wild = [f"a{number}.{DOMAIN}" for number in range(60)]
    async with open_registry(dict.fromkeys(wild, NOTHING)) as registry:
        await registry.flood(wild, addresses(30))
        assert 30 < len(registry.web.seen) <= registry.config.domain_daily_budget / 2
        reasons = await rows(registry.waypost._store, "SELECT DISTINCT reason FROM visits WHERE requests = 0")
        assert reasons == [("new_hosts_budget",)]


@pytest.mark.long
async def test_a_flood_of_submissions_is_no_flood_of_dns_queries(open_registry: Any, resolved: list[str]) -> None:
    async with open_registry({"other.com": NOTHING}, resolve="system") as registry:
        await registry.flood([f"nope{number}.{DOMAIN}" for number in range(150)], addresses(50))
        assert 20 <= len(resolved) <= 40
        await registry.submit(DOMAIN, OWNER)
        await registry.crawl()
        assert resolved[-1] == DOMAIN, "the domain itself is looked up whatever was before"


async def test_names_that_do_not_resolve_are_charged_to_the_client_that_submits_them(open_registry: Any) -> None:
    """They are all of different domains: no bound per domain applies."""
    stranger, *others = addresses(2)
    known = "known-shop.com"
    async with open_registry({DOMAIN: shop(DOMAIN), known: NOTHING}) as registry:
        await registry.submit(known, OWNER)
        names = [f"no-such-name-{number}.com" for number in range(60)]
        statuses = await registry.flood(names, [stranger])
        accepted = statuses.count(202)
        assert 20 <= accepted <= 30 and statuses[accepted:] == [429] * (60 - accepted)
        refused = await registry.submit(DOMAIN, stranger)
        assert (refused.status_code, refused.json()["code"]) == (429, "client_unresolved")
        assert 0 < int(refused.headers["retry-after"]) <= 86_400
        assert (await registry.submit(known, stranger)).status_code == 409, "not an unknown host"
        assert (await registry.submit(DOMAIN, others[0])).status_code == 202, "another client"


VICTIM = "victim.example"
SUBS = [f"s{number}.{VICTIM}" for number in range(25)]
SPELLINGS = (VICTIM, VICTIM.upper(), "Victim.Example", f"{VICTIM}.", "VICTIM.example.", "vIcTiM.eXaMpLe")


async def test_hundreds_of_submissions_cause_one_visit(open_registry: Any) -> None:
    sites = {VICTIM: NOTHING, "control.example": NOTHING}
    async with open_registry(sites) as registry:
        web, waypost = registry.web, registry.waypost
        await waypost.frontier.submit("control.example")
        spellings = itertools.cycle(SPELLINGS)
        submissions = iter(range(500))

        async def submit_share() -> list[str]:
            return [(await waypost.frontier.submit(next(spellings))).state for _ in submissions]

        states = [state for part in await asyncio.gather(*(submit_share() for _ in range(4))) for state in part]
        assert (len(states), states.count("new")) == (500, 1) and set(states) == {"new", "queued"}
        assert await rows(waypost._store, "SELECT count(*) FROM hosts") == [(2,)]
        await registry.crawl()
        assert len(web.paths(VICTIM)) == len(web.paths("control.example")) > 10
        assert {(await waypost.frontier.submit(name)).state for name in SPELLINGS} == {"known"}
        await registry.crawl()
        assert len(web.paths(VICTIM)) == len(web.paths("control.example"))


async def test_submissions_during_a_visit_cause_no_further_requests(open_registry: Any) -> None:
    """The submissions come through the API while a crawler works."""
    sites = {VICTIM: NOTHING, "control.example": NOTHING}
    async with open_registry(sites, request_delay=0.05) as registry:
        web, waypost = registry.web, registry.waypost
        stop = asyncio.Event()
        crawling = asyncio.create_task(crawl(waypost, registry.config, until_idle=False, stop=stop))
        async with make_client(waypost, registry.config) as client, asyncio.timeout(HANG_SECONDS):
            await client.post("/api/services?wait=0", json={"domain": "control.example"})
            for name in itertools.islice(itertools.cycle(SPELLINGS), 300):
                await client.post("/api/services?wait=0", json={"domain": name})
            visited = "SELECT 1 FROM hosts HAVING count(last_visit_at) = 2"
            await until_true(lambda: rows(waypost._store, visited), 120)
            assert (await client.post("/api/services?wait=0", json={"domain": VICTIM})).status_code == 409
        stop.set()
        await crawling
        assert len(web.paths(VICTIM)) == len(web.paths("control.example")) > 10
        assert await rows(waypost._store, "SELECT count(*) FROM visits") == [(2,)]


async def test_sub_hosts_share_the_daily_budget_of_their_domain(open_registry: Any) -> None:
    async with open_registry(dict.fromkeys(SUBS, NOTHING)) as registry:
        web, waypost = registry.web, registry.waypost
        states = [(await waypost.frontier.submit(SUBS[number % len(SUBS)])).state for number in range(500)]
        assert (states.count("new"), states.count("too_many")) == (20, 100)
        for _ in range(3):
            await registry.crawl()
            for name in SUBS:
                await waypost.frontier.submit(name)
        assert 50 < len(web.seen) <= registry.config.domain_daily_budget / 2, "the rest is for known hosts"
        assert (await rows(waypost._store, "SELECT sum(sent) FROM visits"))[0][0] == len(web.seen)
        assert await rows(waypost._store, "SELECT DISTINCT reason FROM visits WHERE requests = 0") == [
            ("new_hosts_budget",)
        ]


async def test_a_host_that_opted_out_is_not_resolved(open_registry: Any, resolved: list[str]) -> None:
    async with open_registry({VICTIM: NOTHING}, resolve="system") as registry:
        waypost = registry.waypost
        names = ["open.com", "shut.com", "www.shut.com", "api.half.com", "blog.half.com", "deep.blog.half.com"]
        await waypost.frontier.seed(names, source="test")
        now = datetime.now(UTC)
        async with waypost._store.begin() as uow:
            await uow.opt_outs.add([OptOutRecord("shut.com", "shut.com", "operator", "", now)])
            await uow.opt_outs.add([OptOutRecord("half.com", "blog.half.com", "operator", "", now)])
        await waypost.frontier.submit("shut.com")
        await waypost.frontier.make_due(names)
        await registry.crawl()
    assert sorted(resolved) == ["api.half.com", "open.com"]


async def test_a_redirect_to_a_host_that_opted_out_is_not_followed(open_registry: Any) -> None:
    blog = f"blog.{VICTIM}"
    redirect = Reply(b"", 301, None, (("Location", f"https://{blog}/agent.json"),))
    sites: dict[str, Site] = {VICTIM: {"/agent.json": redirect}, blog: NOTHING}
    async with open_registry(sites) as registry:
        web, waypost = registry.web, registry.waypost
        await waypost.frontier.submit(VICTIM)
        async with waypost._store.begin() as uow:
            await uow.opt_outs.add([OptOutRecord(VICTIM, blog, "operator", "", datetime.now(UTC))])
        await registry.crawl()
        assert "/agent.json" in web.paths(VICTIM) and web.paths(blog) == []


@pytest.mark.long
async def test_a_host_is_visited_soon_while_long_lists_of_another_client_wait(open_registry: Any) -> None:
    """Half of the listed hosts answer; the others have no address."""
    flood = [f"flood{number}.com" for number in range(400)]
    sites: dict[str, Site] = dict.fromkeys([VICTIM, *flood[:200]], NOTHING)
    limits = {"request_delay": 0.2, "hosts_in_flight": 16, "lease_batch": 8, "read_rate": 10**6}
    async with open_registry(sites, **limits) as registry:
        flooder, owner = await registry.client("198.51.100.1"), await registry.client(OWNER)
        listed = await flooder.post("/api/submissions", json={"hosts": flood})
        assert listed.json()["data"]["accepted"] == len(flood), listed.text
        stop = asyncio.Event()
        crawling = asyncio.create_task(crawl(registry.waypost, registry.config, until_idle=False, stop=stop))
        await registry.web.asked(20)  # the flood is being visited
        await owner.post("/api/submissions", json={"hosts": [VICTIM]})
        while not registry.web.paths(VICTIM):
            await registry.web.asked(len(registry.web.seen) + 1)
        visited = {exchange.host for exchange in registry.web.seen} - {VICTIM}
        stop.set()
        await crawling
    assert len(visited) < 100, "it waited for the list of another client"
