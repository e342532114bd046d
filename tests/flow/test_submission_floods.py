"""Nobody can use submissions against another site: not its listing, its revisits, its opt-out, nor its name servers.

Strangers submit through the API, each from an address of its own; a real crawler visits what was accepted. Names that
are not in the connect-to table do not resolve.
"""

import itertools
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from crawler import resources
from crawler.guards import ResolutionError, Resolver
from crawler.run import crawl
from registry.settings import Settings
from registry.wiring import Waypost, open_waypost
from tests.crawler.support import settings, trust
from tests.support.api import make_client
from tests.support.builders import ADP, adp_detail, adp_manifest
from tests.support.database import rows
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


@pytest.fixture(name="open_registry")
def _open_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str) -> Any:
    @asynccontextmanager
    async def opened(sites: Mapping[str, Site], **overrides: Any) -> AsyncIterator[Registry]:
        async with AsyncExitStack() as stack:
            web = await stack.enter_async_context(Sites(sites))
            trust(monkeypatch, tmp_path, web)
            defaults = {"database_url": database_url, "data": tmp_path, "submit_rate": 10**6}
            config = settings(*web.connect_to(), **(defaults | overrides))
            waypost = await stack.enter_async_context(open_waypost(config))
            yield Registry(web, waypost, config, stack)

    return opened


def addresses(number: int) -> list[str]:
    return [f"198.51.100.{last}" for last in range(1, number + 1)]


OWNER = "203.0.113.7"


@pytest.mark.parametrize("strangers", [pytest.param(1, marks=pytest.mark.long), 30])
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


async def test_a_flood_of_names_that_exist_leaves_half_of_the_budget(open_registry: Any) -> None:
    wild = [f"a{number}.{DOMAIN}" for number in range(60)]
    async with open_registry(dict.fromkeys(wild, NOTHING)) as registry:
        await registry.flood(wild, addresses(30))
        assert 30 < len(registry.web.seen) <= registry.config.domain_daily_budget / 2
        reasons = await rows(registry.waypost._store, "SELECT DISTINCT reason FROM visits WHERE requests = 0")
        assert reasons == [("new_hosts_budget",)]


class Asked(Resolver):
    """Record every name to be resolved, and resolve none."""

    names: list[str]

    async def addresses(self, host: str) -> tuple[str, ...]:
        self.names.append(host)
        raise ResolutionError("nxdomain")


async def test_a_flood_of_submissions_is_no_flood_of_dns_queries(
    open_registry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Asked.names = []
    monkeypatch.setattr(resources, "Resolver", Asked)
    async with open_registry({"other.com": NOTHING}, resolve="system") as registry:
        await registry.flood([f"nope{number}.{DOMAIN}" for number in range(150)], addresses(50))
        assert 20 <= len(Asked.names) <= 40
        await registry.submit(DOMAIN, OWNER)
        await registry.crawl()
        assert Asked.names[-1] == DOMAIN, "the domain itself is looked up whatever was before"


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
