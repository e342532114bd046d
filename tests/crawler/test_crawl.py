"""Scrapy runs the crawl: leases in, finished domains out, one bad domain never harms another."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from crawler import run
from crawler.flight import Tally
from crawler.guards import BadSetup
from crawler.pipelines import AFTER_CRASH
from crawler.visit import Visitor
from registry.core.documents import Outcome
from registry.settings import Settings
from registry.wiring import NOT_READY
from tests.crawler.leases import Leases
from tests.crawler.support import keep_connections, settings, trust
from tests.support.sites import Exchange, Reply, Site, Sites

NOTHING = Reply(b"nothing", 404)


@asynccontextmanager
async def web(
    monkeypatch: pytest.MonkeyPatch, folder: Path, sites: Mapping[str, Site], **more: Any
) -> AsyncIterator[tuple[Sites, Settings]]:
    async with Sites(sites) as served, asyncio.timeout(120):
        trust(monkeypatch, folder, served)
        keep_connections(monkeypatch)
        yield served, settings(*served.connect_to(), **more)


def names(number: int) -> list[str]:
    return [f"site{n}.example" for n in range(number)]


async def crawl(leases: Leases, chosen: Settings, **more: Any) -> Tally:
    return await run.crawl(leases, chosen, **({"until_idle": True} | more))  # type: ignore[arg-type]  # leases from memory


async def silent(_: Exchange) -> None:
    await asyncio.sleep(60)


async def test_every_domain_is_recorded_once_and_the_figures_agree(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    leases, told = Leases(*names(25)), list[Tally]()
    async with web(monkeypatch, tmp_path, dict.fromkeys(names(25), NOTHING), lease_batch=10) as (sites, chosen):
        tally = await crawl(leases, chosen, progress=told.append)
    assert sorted(one.domain for one in leases.recorded) == sorted(names(25))
    assert leases.released == [] and leases.out == 0
    assert (tally.leased, tally.recorded, tally.in_flight, tally.hosts) == (25, 25, 0, 25)
    assert tally.requests == len(sites.seen)
    assert tally.outcomes == {Outcome.ABSENT: 25}
    assert told[-1] == tally and [one.recorded for one in told] == sorted(one.recorded for one in told)
    assert sites.connections == 25
    assert max(leases.batches) > 1  # a transaction for each domain would cost a commit for each


async def test_two_crawls_may_follow_each_other_on_one_loop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    leases = Leases("site0.example")
    async with web(monkeypatch, tmp_path, dict.fromkeys(names(2), NOTHING)) as (_, chosen):
        await crawl(leases, chosen)
        leases.due_now = ["site1.example"]
        await crawl(leases, chosen)
    assert [one.domain for one in leases.recorded] == names(2)


async def test_slow_domain_does_not_hold_up_the_rest_of_its_lease(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    others_are_recorded = asyncio.Event()

    async def waits_for_the_others(exchange: Exchange) -> None:
        await others_are_recorded.wait()
        await exchange.send(NOTHING.encode())

    leases = Leases(*names(5))
    leases.on_record = lambda finished: others_are_recorded.set() if leases.out == 1 + len(finished) else None
    sites: Mapping[str, Site] = dict.fromkeys(names(5), NOTHING) | {"site0.example": waits_for_the_others}
    async with web(monkeypatch, tmp_path, sites, request_timeout=100) as (_, chosen):
        await crawl(leases, chosen)
    assert leases.recorded[-1].domain == "site0.example"
    assert leases.recorded[-1].visits[0].outcome is Outcome.ABSENT


async def test_domains_in_flight_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    leases = Leases(*names(30))
    sites = dict.fromkeys(names(30), NOTHING)
    async with web(monkeypatch, tmp_path, sites, hosts_in_flight=8, lease_batch=4) as (_, chosen):
        await crawl(leases, chosen)
    assert len(leases.recorded) == 30
    assert leases.most_out <= 8


async def test_bug_in_one_visit_costs_only_its_domain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = Visitor.visit_domain

    async def sometimes(self: Visitor, job: Any, until: Any) -> Any:
        if job.domain == "site1.example":
            raise ZeroDivisionError("planted")
        return await plain(self, job, until)

    monkeypatch.setattr(Visitor, "visit_domain", sometimes)
    leases = Leases(*names(4))
    async with web(monkeypatch, tmp_path, dict.fromkeys(names(4), NOTHING)) as (_, chosen):
        with capture_logs() as logs:
            tally = await crawl(leases, chosen)
    assert sorted(one.domain for one in leases.recorded) == ["site0.example", "site2.example", "site3.example"]
    assert leases.released == [("site1.example", AFTER_CRASH)]
    assert (tally.recorded, tally.crashed, tally.in_flight) == (3, 1, 0)
    assert [log["domain"] for log in logs if log["event"] == "visit.crashed"] == ["site1.example"]


async def test_domain_that_cannot_be_stored_costs_only_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    leases = Leases(*names(7))

    def refuses_one(finished: Any) -> None:
        if "site3.example" in {one.domain for one in finished}:
            raise ValueError("planted")

    leases.on_record = refuses_one
    async with web(monkeypatch, tmp_path, dict.fromkeys(names(7), NOTHING)) as (_, chosen):
        tally = await crawl(leases, chosen)
    assert len(leases.recorded) == 6
    assert leases.released == [("site3.example", AFTER_CRASH)]
    assert (tally.recorded, tally.crashed, tally.in_flight) == (6, 1, 0)


async def test_database_that_restarts_costs_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("crawler.pipelines.PATIENCE", (0.01, 0.01))
    leases, away = Leases(*names(3)), [NOT_READY[2]("restarting"), NOT_READY[2]("restarting")]

    def comes_back(finished: Any) -> None:
        if away:
            raise away.pop()

    leases.on_record = comes_back
    async with web(monkeypatch, tmp_path, dict.fromkeys(names(3), NOTHING)) as (_, chosen):
        tally = await crawl(leases, chosen)
    assert len(leases.recorded) == 3 and leases.released == [] and tally.in_flight == 0


async def test_who_can_no_longer_vouch_for_leases_leaves_their_sites_at_once_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Anybody may take the leases then. The grace of a stop is not for them: two would visit the same site."""
    monkeypatch.setattr("crawler.pipelines.PATIENCE", (0.01, 0.01))
    monkeypatch.setattr(run, "GRACE", 60)
    leases, stop, away = Leases(*names(2)), asyncio.Event(), [NOT_READY[2]("restarting"), NOT_READY[2]("restarting")]
    give_back = leases.release

    async def release(*args: Any, **more: Any) -> int:
        if away:
            raise away.pop()
        assert not leases.recorded
        leases.due_now = names(3)[2:]
        return await give_back(*args, **more)

    monkeypatch.setattr(leases, "release", release)
    leases.on_record = lambda finished: stop.set()
    sites: Mapping[str, Site] = dict.fromkeys(names(2), silent) | {names(3)[2]: NOTHING}
    async with web(monkeypatch, tmp_path, sites, request_timeout=60) as (served, chosen):
        running = asyncio.create_task(crawl(leases, chosen, stop=stop, until_idle=False))
        await served.asked(2)
        leases.lost.set()
        tally = await running
    assert sorted(leases.released) == [(name, None) for name in names(2)]
    assert [one.domain for one in leases.recorded] == names(3)[2:]
    assert leases.held == 2
    assert (tally.recorded, tally.released, tally.in_flight) == (1, 2, 0)


async def test_worker_waits_for_a_database_that_cannot_vouch_for_it_yet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run, "AGAIN_SECONDS", 0.01)
    leases, stop, away = Leases("site0.example"), asyncio.Event(), [NOT_READY[2]("starting"), NOT_READY[2]("starting")]
    hold = leases.hold

    @asynccontextmanager
    async def not_yet() -> AsyncIterator[Any]:
        if away:
            raise away.pop()
        async with hold() as held:
            yield held

    monkeypatch.setattr(leases, "hold", not_yet)
    leases.on_record = lambda finished: stop.set()
    async with web(monkeypatch, tmp_path, {"site0.example": NOTHING}) as (_, chosen):
        await crawl(leases, chosen, until_idle=False, stop=stop)
        assert len(leases.recorded) == 1
        away.append(NOT_READY[2]("gone"))
        with pytest.raises(NOT_READY):
            await crawl(leases, chosen)


async def test_crawl_that_was_asked_for_ends_with_its_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    leases = Leases()

    async def away(**_: Any) -> None:
        raise NOT_READY[2]("no server")

    monkeypatch.setattr(leases, "due", away)
    with pytest.raises(NOT_READY, match="no server"):
        await crawl(leases, settings())


async def test_stop_gives_back_what_is_unfinished_and_records_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The stop comes when three are recorded and the others wait for their first answer."""
    stop, settled = asyncio.Event(), set[str]()
    leases = Leases(*names(6))
    monkeypatch.setattr(run, "GRACE", 0.2)

    def settle(*hosts: str) -> None:
        settled.update(hosts)
        if len(settled) == 6:
            stop.set()

    async def hangs(exchange: Exchange) -> None:
        settle(exchange.host)
        await silent(exchange)

    leases.on_record = lambda finished: settle(*(one.domain for one in finished))
    sites: Mapping[str, Site] = dict.fromkeys(names(3), NOTHING) | dict.fromkeys(names(6)[3:], hangs)
    async with web(monkeypatch, tmp_path, sites, request_timeout=60, lease_batch=6) as (served, chosen):
        tally = await crawl(leases, chosen, stop=stop, until_idle=False)
    assert {one.domain for one in leases.recorded} == set(names(3))
    assert sorted(leases.released) == [(name, None) for name in names(6)[3:]]
    assert (tally.recorded, tally.released, tally.in_flight) == (3, 3, 0)
    assert all(served.paths(name) == ["/robots.txt"] for name in names(6)[3:])


async def test_cancelled_crawl_gives_back_what_it_holds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    leases = Leases(*names(2))
    monkeypatch.setattr(run, "GRACE", 0.1)
    async with web(monkeypatch, tmp_path, dict.fromkeys(names(2), silent), request_timeout=60) as (served, chosen):
        running = asyncio.create_task(crawl(leases, chosen, until_idle=False))
        await served.asked(2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert sorted(leases.released) == [(name, None) for name in names(2)]


async def test_idle_worker_waits_for_work_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    leases, stop = Leases(), asyncio.Event()
    leases.on_record = lambda finished: stop.set()
    async with web(monkeypatch, tmp_path, {"site0.example": NOTHING}) as (_, chosen):
        running = asyncio.create_task(crawl(leases, chosen, until_idle=False, stop=stop))
        await asyncio.sleep(0.1)
        leases.due_now.append("site0.example")
        await running
    assert [one.domain for one in leases.recorded] == ["site0.example"]


async def test_one_host_and_one_url_for_who_looks_by_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    apex, www = "shop.example", "www.shop.example"

    async def to_www(exchange: Exchange) -> None:
        await exchange.send(Reply(status=301, headers=(("Location", f"https://{www}{exchange.path}"),)).encode())

    async with web(monkeypatch, tmp_path, {apex: to_www, www: NOTHING}) as (_, chosen):
        visit = await run.visit_host("Shop.Example", chosen)
        answer = await run.fetch_url(f"https://{apex}/agent.json", chosen)
    assert (visit.host, visit.outcome) == (www, Outcome.ABSENT)  # the apex is only another name of www
    assert answer.fetched.final_url == f"https://{www}/agent.json"
    assert answer.assessment.outcome is Outcome.ABSENT


@pytest.mark.parametrize(
    "url", ["http://shop.example/", "https://127.0.0.1/", "https://a.internal/", "file:///etc/passwd"]
)
async def test_url_that_may_not_be_asked_for_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        await run.fetch_url(url, settings())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signals_ask_the_crawl_to_stop(number: signal.Signals) -> None:
    with run.stop_on_signals() as stop:
        os.kill(os.getpid(), number)
        async with asyncio.timeout(120):
            await stop.wait()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


async def test_without_any_authority_nothing_is_begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    leases = Leases("site0.example")
    with pytest.raises(BadSetup, match="SSL_CERT_FILE"):
        await crawl(leases, settings())
    assert leases.due_now == ["site0.example"]
