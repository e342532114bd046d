"""A site opts out: it publishes the file, a request is made, a worker checks it. With the commands and a worker."""

import asyncio
import os
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from crawler.checks import OptOutChecks, check_opt_outs
from crawler.run import crawl
from crawler.stats import CrawlCounts, OnProgress
from registry.cli.removal import show_forgotten, show_opt_out
from registry.cli.terminal import console
from registry.core.model.documents import Outcome
from registry.settings import Settings
from registry.store.records import VisitRecord
from registry.wiring import Waypost
from tests.flow.test_submission_floods import opened
from tests.support.api import make_client
from tests.support.builders import adp_manifest
from tests.support.database import rows, until_true
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT
from tests.support.sites import Answer, Exchange, Reply, Site

pytestmark = pytest.mark.slow  # a crawl and a database

HOST = "pigeons.example"
FILE = "/.well-known/waypost-optout.txt"


OPTED_OUT: dict[str, Answer] = {FILE: Reply("opt-out", type="text/plain")}


@pytest.fixture(autouse=True)
def patient_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a check take as long as a busy machine needs, and a silent site take all of the test."""
    monkeypatch.setattr("crawler.checks.CHECK_SECONDS", HANG_SECONDS)
    monkeypatch.setattr("registry.actions.maintenance.opt_out.CLAIM_FOR", timedelta(seconds=2 * HANG_SECONDS))


def site() -> dict[str, Answer]:
    return {"/.well-known/agent": Reply(orjson.dumps(adp_manifest(HOST, "create_parcel")))}


async def silent(exchange: Exchange) -> None:
    await asyncio.Event().wait()


async def ask(waypost: Waypost, config: Settings, address: str, *hosts: str) -> None:
    """Announce the opt-outs of these hosts through the API, as the client of this address."""
    async with make_client(waypost, config, address) as client:
        for host in hosts:
            response = await client.post("/api/opt-outs", json={"domain": host})
            assert response.status_code == 202, response.text


@asynccontextmanager
async def working(waypost: Waypost, config: Settings, progress: OnProgress | None = None) -> AsyncIterator[None]:
    """Run a worker."""
    stop = asyncio.Event()
    crawling = asyncio.create_task(crawl(waypost, config, until_idle=False, progress=progress, stop=stop))
    try:
        yield
    finally:
        stop.set()
        await crawling


async def until_out(waypost: Waypost, host: str) -> None:
    async def is_out() -> bool:
        return (await waypost.opt_outs.status(host)).opt_out is not None

    await until_true(is_out)


async def test_a_worker_removes_a_site_that_publishes_the_opt_out_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    pages = site()
    async with opened(monkeypatch, tmp_path, database_url, {HOST: pages}) as (web, waypost, config):
        await waypost.frontier.submit(HOST)
        await crawl(waypost, config, until_idle=True)
        assert await waypost.queries.service(HOST) is not None
        requests_before = len(web.seen)
        pages[FILE] = Reply("opt-out\n", type="text/plain")
        await ask(waypost, config, "203.0.113.7", HOST)
        async with working(waypost, config):
            await until_out(waypost, HOST)
        assert await waypost.queries.service(HOST) is None
        assert web.paths(HOST)[requests_before:] == [FILE], "that is all that asking costs"
        assert (await waypost.frontier.submit(HOST)).state == "opted_out"


async def test_an_operator_can_opt_a_site_out_and_readmit_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = site()
    async with opened(monkeypatch, tmp_path, database_url, {HOST: pages}) as (_, waypost, config):

        async def optout(**options: bool) -> tuple[int, str]:
            options = {"undo": False, "force": False, **options}
            code = await show_opt_out(waypost, config, HOST, console, as_json=True, **options)
            return code, last_output()["verdict"]

        def last_output() -> dict[str, Any]:
            output: dict[str, Any] = orjson.loads(capsys.readouterr().out.splitlines()[-1])  # log lines come before it
            return output

        await waypost.frontier.submit(HOST)
        await crawl(waypost, config, until_idle=True)
        assert await optout() == (1, "no_proof")
        pages[FILE] = Reply("opt-out", type="text/plain")
        assert await optout() == (0, "opted_out")
        assert await optout(undo=True) == (1, "still_says_so")
        del pages[FILE]
        assert await optout(undo=True) == (0, "readmitted")
        await crawl(waypost, config, until_idle=True)
        assert await waypost.queries.service(HOST) is not None, "it is back"
        code = await show_forgotten(waypost, HOST, console, opt_out=True, reason="mail", as_json=True)
        forgotten = last_output()
        assert (code, forgotten["services"], forgotten["stays_out"]) == (0, [HOST], True)
        assert await optout(undo=True) == (1, "by_operator")
        assert await optout(undo=True, force=True) == (0, "readmitted")


@pytest.mark.parametrize(("clients", "silent_sites"), [(2, 5), pytest.param(20, 80, marks=pytest.mark.long)])
async def test_silent_sites_do_not_delay_an_honest_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str, clients: int, silent_sites: int
) -> None:
    """They are requested first, and answered by nothing as long as the test runs."""
    names = [f"silent-{number}.example" for number in range(silent_sites)]
    sites: dict[str, Site] = {**dict.fromkeys(names, silent), HOST: OPTED_OUT}
    async with opened(monkeypatch, tmp_path, database_url, sites) as (web, waypost, config):
        for client in range(clients):
            await ask(waypost, config, f"198.51.100.{client}", *names[client::clients])
        await ask(waypost, config, "203.0.113.7", HOST)
        async with working(waypost, config):
            await until_out(waypost, HOST)
            await web.asked(1 + min(silent_sites, 3 * clients))
            waiting = f"SELECT count(*) FROM opt_out_requests WHERE checked_at IS NULL AND host <> '{HOST}'"
            assert await rows(waypost._store, waiting) == [(silent_sites,)], "none of them has been given up"


async def test_an_opt_out_is_checked_while_its_domain_is_leased_and_its_budget_is_spent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    async with opened(monkeypatch, tmp_path, database_url, {HOST: OPTED_OUT}) as (web, waypost, config):
        await waypost.frontier.submit(HOST)
        async with waypost.crawl.hold() as holder:
            assert await waypost.crawl.lease(limit=1, holder=holder.id) is not None
            now = datetime.now(UTC)
            async with waypost._store.begin() as uow:
                visit = VisitRecord(HOST, HOST, now, now, Outcome.ABSENT, "", True, config.domain_daily_budget, None)
                await uow.ledger.add_visits([visit])
            await ask(waypost, config, "203.0.113.7", HOST)
            async with working(waypost, config):
                await until_out(waypost, HOST)
        assert web.paths(HOST) == [FILE]


async def test_a_visit_in_progress_ends_when_the_site_opts_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    """Its next request would be sent only after the answer to the first, which is held back."""
    pages: dict[str, Answer] = {**OPTED_OUT, "/robots.txt": silent}
    reports: list[CrawlCounts] = []
    async with opened(monkeypatch, tmp_path, database_url, {HOST: pages}) as (web, waypost, config):
        await waypost.frontier.submit(HOST)
        async with working(waypost, config, reports.append):
            await web.asked(1)
            await ask(waypost, config, "203.0.113.7", HOST)
            await until_out(waypost, HOST)

            async def is_released() -> bool:
                return any(report.released for report in reports)

            await until_true(is_released)
        assert web.paths(HOST) == ["/robots.txt", FILE]


async def test_two_workers_share_the_checks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str) -> None:
    names = [f"site-{number}.example" for number in range(15)]
    async with opened(monkeypatch, tmp_path, database_url, dict.fromkeys(names, OPTED_OUT)) as (web, waypost, config):
        for client in range(5):
            await ask(waypost, config, f"198.51.100.{client}", *names[client::5])
        async with OptOutChecks(config) as checks, OptOutChecks(config) as others:
            workers = [asyncio.create_task(check_opt_outs(waypost, each)) for each in (checks, others)]
            for name in names:
                await until_out(waypost, name)
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        assert sorted(exchange.host for exchange in web.seen) == sorted(names), "each was requested once"


WORKER = """
import asyncio
from crawler import checks as checking
from registry.settings import Settings
from registry.wiring import open_waypost

async def work():
    settings = Settings()
    async with open_waypost(settings) as waypost, checking.OptOutChecks(settings) as checks:
        await checking.check_opt_outs(waypost, checks)

checking.CHECK_SECONDS = 3600
asyncio.run(work())
"""


async def test_a_killed_worker_loses_no_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    pages: dict[str, Answer] = {FILE: silent}
    async with opened(monkeypatch, tmp_path, database_url, {HOST: pages}) as (web, waypost, config):
        await ask(waypost, config, "203.0.113.7", HOST)
        environment = {**os.environ, **config.as_environment()}
        killed: Process = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, cwd=ROOT, env=environment)
        async with asyncio.timeout(HANG_SECONDS):
            await web.asked(1)
            killed.kill()
            await killed.wait()
        pages[FILE] = OPTED_OUT[FILE]
        assert await waypost.opt_outs.claim(10) == [], "its claim holds for a while"
        async with waypost._store.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE opt_out_requests SET claimed_until = now() - interval '1 s'")
        async with working(waypost, config):
            await until_out(waypost, HOST)
