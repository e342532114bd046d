"""Checks of sites by a worker over real TLS: what is found, what is respected, and what stays as it was."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from crawler.site_checks import running_site_checks
from crawler.visit import Visitor
from registry.actions.site_checks import SiteCheckRefusal, SiteCheckView
from registry.store.unit_of_work import Store
from registry.wiring import Waypost, open_waypost
from tests.crawler.support import Web
from tests.support.builders import adp_manifest, adp_site, awp_manifest, crawl
from tests.support.database import rows, until_true
from tests.support.sites import Reply, Site, moved

pytestmark = pytest.mark.slow

HOST, CLOSED, EMPTY, WALLED = HOSTS = "kiosk.example", "closed.example", "empty.example", "walled.example"
FLAWED = adp_manifest(HOST, "order") | {"base_url": f"http://{HOST}"}
ROBOTS = "User-agent: *\nDisallow: /private/\n"


def sites() -> dict[str, Site]:
    return {
        HOST: {
            "/.well-known/agent": Reply(orjson.dumps(FLAWED)),
            "/robots.txt": Reply(ROBOTS, type="text/plain"),
            "/open.json": Reply(orjson.dumps(awp_manifest(HOST))),
            "/private/agent.json": Reply(orjson.dumps(awp_manifest(HOST))),
            "/leads-there": moved(f"https://{HOST}/private/agent.json"),
            "/leads-away": moved(f"https://www.{HOST}/agent.json"),
        },
        CLOSED: {"/robots.txt": Reply("User-agent: WaypostBot\nDisallow: /\n", type="text/plain")},
        EMPTY: {},
        WALLED: Reply("no", 403, "text/html", (("CF-Mitigated", "challenge"),)),
    }


async def checked(waypost: Waypost, target: str, client: str = "203.0.113.7") -> SiteCheckView:
    """Return the check when a worker has made it."""
    asked = await waypost.site_checks.ask(target, client=client)
    assert not isinstance(asked, SiteCheckRefusal), asked
    found: list[SiteCheckView] = []

    async def is_done() -> bool:
        view = await waypost.site_checks.status(asked[1].text)
        assert view is not None
        found[:] = [view]
        return view.state == "done"

    await until_true(is_done)
    return found[0]


TABLES = ("domains", "hosts", "visits", "documents", "services", "changes", "candidates", "submissions", "audit_log")


async def stored(store: Store) -> list[Any]:
    names = await rows(store, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    return [(name, await rows(store, f"SELECT * FROM {name} ORDER BY 1, 2")) for (name,) in names if name in TABLES]


async def test_a_worker_checks_sites_and_changes_nothing(
    web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Store, database_url: str
) -> None:
    monkeypatch.setattr("crawler.checks.POLL_SECONDS", 0.02)
    await crawl(store, {"other.example": adp_site("other.example")})
    async with (
        web(sites(), database_url=database_url, data=tmp_path) as (served, config),
        open_waypost(config) as waypost,
        Visitor(config) as visitor,
        running_site_checks(waypost, visitor),
    ):
        before = await stored(store)
        assert [name for name, found in before if found]
        view = await checked(waypost, HOST)
        assert (view.result["outcome"], view.result["host"], view.is_listed) == ("found", HOST, False)
        causes = {cause["reason"]: cause for cause in view.result["causes"]}
        assert causes["adp.base_url"]["document"] == f"https://{HOST}/.well-known/agent"
        assert causes["adp.base_url"]["places"][0]["line"] == 1
        assert view.result["score"] < 100 and view.result["name"] == FLAWED["name"]
        assert view.record.sent == len(served.paths(HOST)) > 5
        assert not [path for path in served.paths(HOST) if path.startswith("/private/")]

        ends = {f"https://{EMPTY}": "absent", CLOSED: "disallowed", f"https://{WALLED}/": "refused_by_firewall"}
        for target, outcome in ends.items():
            assert (await checked(waypost, target)).result["outcome"] == outcome, target
        assert set(served.paths(CLOSED)) == {"/robots.txt"}
        assert await stored(store) == before, "neither listed, nor recorded, nor scheduled"
        [(sent,)] = await rows(store, f"SELECT sent FROM site_checks WHERE host = '{HOST}'")
        spent = await rows(store, "SELECT count(*) FROM site_checks WHERE checked_at IS NOT NULL")
        assert (sent, spent) == (view.record.sent, [(4,)])


@pytest.mark.parametrize(
    ("path", "outcome", "reason", "requested"),
    [
        ("/open.json", "found", "", ["/robots.txt", "/open.json"]),
        ("/private/agent.json", "disallowed", "robots", ["/robots.txt"]),
        ("/leads-there", "disallowed", "robots", ["/robots.txt", "/leads-there"]),
        ("/leads-away", "skipped", "redirect_other_host", ["/robots.txt", "/leads-away"]),
        ("/missing.json", "absent", "status_404", ["/robots.txt", "/missing.json"]),
    ],
)
async def test_one_url_is_requested_after_robots_txt(
    web: Web,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    database_url: str,
    path: str,
    outcome: str,
    reason: str,
    requested: list[str],
) -> None:
    monkeypatch.setattr("crawler.checks.POLL_SECONDS", 0.02)
    async with (
        web(sites(), database_url=database_url, data=tmp_path) as (served, config),
        open_waypost(config) as waypost,
        Visitor(config) as visitor,
        running_site_checks(waypost, visitor),
    ):
        view = await checked(waypost, f"https://{HOST}{path}")
        assert (view.result["outcome"], view.result["reason"]) == (outcome, reason)
        assert served.paths(HOST) == requested and view.record.sent == len(requested)


async def test_checks_of_a_site_count_in_its_daily_budget(
    web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Store, database_url: str
) -> None:
    monkeypatch.setattr("crawler.checks.POLL_SECONDS", 0.02)
    monkeypatch.setattr("registry.actions.site_checks.AGAIN_AFTER", timedelta())
    async with (
        web(sites(), database_url=database_url, data=tmp_path, domain_daily_budget=40) as (served, config),
        open_waypost(config) as waypost,
        Visitor(config) as visitor,
        running_site_checks(waypost, visitor),
    ):
        results = [(await checked(waypost, EMPTY, client=f"203.0.113.{number}")).result for number in range(3)]
        assert len(served.paths(EMPTY)) <= 20, "strangers share half of the day"
        assert results[-1]["outcome"] == "skipped" and results[-1]["reason"] == "new_hosts_budget"
