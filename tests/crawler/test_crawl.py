"""Scrapy runs the crawl: leases in, finished domains out; one bad domain never harms another."""

import asyncio
import gc
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from crawler import lease_holder, run
from crawler.guards import BadSetup
from crawler.recorder import AFTER_CRASH
from crawler.stats import CrawlCounts
from crawler.visit import Visitor
from registry.core.model.documents import Outcome
from registry.core.visiting.visits import FinishedDomain
from registry.wiring import NOT_READY, StoreUnavailable
from tests.crawler.leases import Leases, crawl, names
from tests.crawler.support import NOTHING, Crawled, Web, settings, silent
from tests.support.sites import Exchange, Reply, Site


async def test_every_domain_is_recorded_once_and_the_counts_agree(crawled: Crawled) -> None:
    leases, reports = Leases(*names(25)), list[CrawlCounts]()
    sites, counts = await crawled(leases, dict.fromkeys(names(25), NOTHING), lease_batch=10, progress=reports.append)
    assert sorted(finished.domain for finished in leases.recorded) == sorted(names(25))
    assert leases.released == [] and leases.out == 0
    assert (counts.leased, counts.recorded, counts.in_flight, counts.hosts) == (25, 25, 0, 25)
    assert counts.requests == len(sites.seen)
    assert counts.outcomes == {Outcome.ABSENT: 25}
    assert reports[-1] == counts and [report.recorded for report in reports] == sorted(
        report.recorded for report in reports
    )
    assert sites.connections == 25
    assert max(leases.batches) > 1  # several domains share a transaction, to save commits


async def test_two_crawls_may_follow_each_other_on_one_loop(web: Web) -> None:
    leases = Leases("site0.example")
    async with web(dict.fromkeys(names(2), NOTHING)) as (_, crawl_settings):
        await crawl(leases, crawl_settings)
        leases.due_now = ["site1.example"]
        await crawl(leases, crawl_settings)
    assert [finished.domain for finished in leases.recorded] == names(2)


async def test_slow_domain_does_not_hold_up_the_rest_of_its_lease(crawled: Crawled) -> None:
    others_are_recorded = asyncio.Event()

    async def waits_for_the_others(exchange: Exchange) -> None:
        await others_are_recorded.wait()
        await exchange.send(NOTHING.encode())

    leases = Leases(*names(5))
    leases.on_record = lambda finished: others_are_recorded.set() if leases.out == 1 + len(finished) else None
    sites: Mapping[str, Site] = dict.fromkeys(names(5), NOTHING) | {"site0.example": waits_for_the_others}
    await crawled(leases, sites, request_timeout=100)
    assert leases.recorded[-1].domain == "site0.example"
    assert leases.recorded[-1].visits[0].outcome is Outcome.ABSENT


async def test_recorded_visits_are_freed_while_their_lease_still_runs(web: Web) -> None:
    """The responses of a visit take twenty times the memory of the domain that still waits."""
    may_answer, others_are_recorded = asyncio.Event(), asyncio.Event()
    quick_names, recorded = names(6)[1:], list[str]()

    async def slow(exchange: Exchange) -> None:
        await may_answer.wait()
        await exchange.send(NOTHING.encode())

    def forget(finished: list[FinishedDomain]) -> None:
        recorded.extend(finished_domain.domain for finished_domain in finished)
        finished.clear()
        if set(quick_names) <= set(recorded):
            others_are_recorded.set()

    leases = Leases(*names(6))
    leases.on_record = forget  # type: ignore[assignment]  # it takes the list that was made for it
    sites: Mapping[str, Site] = dict.fromkeys(quick_names, NOTHING) | {"site0.example": slow}
    async with web(sites, request_timeout=100) as (_, crawl_settings):
        running = asyncio.create_task(crawl(leases, crawl_settings))
        await others_are_recorded.wait()
        while any(
            isinstance(python_object, FinishedDomain) and python_object.domain in quick_names
            for python_object in gc.get_objects()
        ):
            assert not running.done()  # the slow visit ends by its own time limit
            await asyncio.sleep(0.1)
            gc.collect()
        may_answer.set()
        await running
    assert sorted(recorded) == names(6)


async def test_domains_in_flight_are_bounded(crawled: Crawled) -> None:
    leases = Leases(*names(30))
    sites = dict.fromkeys(names(30), NOTHING)
    await crawled(leases, sites, hosts_in_flight=8, lease_batch=4)
    assert len(leases.recorded) == 30
    assert leases.most_out <= 8


async def test_a_crashed_visit_releases_only_its_domain(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    original_visit = Visitor.visit_domain

    async def visit_or_crash(self: Visitor, job: Any, until: Any) -> Any:
        if job.domain == "site1.example":
            raise ZeroDivisionError("planted")
        return await original_visit(self, job, until)

    monkeypatch.setattr(Visitor, "visit_domain", visit_or_crash)
    leases = Leases(*names(4))
    async with web(dict.fromkeys(names(4), NOTHING)) as (_, crawl_settings):
        with capture_logs() as logs:
            counts = await crawl(leases, crawl_settings)
    assert sorted(finished.domain for finished in leases.recorded) == [
        "site0.example",
        "site2.example",
        "site3.example",
    ]
    assert leases.released == [("site1.example", AFTER_CRASH)]
    assert (counts.recorded, counts.crashed, counts.in_flight) == (3, 1, 0)
    assert [log["domain"] for log in logs if log["event"] == "visit.crashed"] == ["site1.example"]


async def test_a_restart_of_the_database_loses_nothing(crawled: Crawled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.recorder.RETRY_PAUSES", (0.01, 0.01))
    leases, errors = Leases(*names(3)), [StoreUnavailable("restarting"), StoreUnavailable("restarting")]

    def fail_twice(finished: Any) -> None:
        if errors:
            raise errors.pop()

    leases.on_record = fail_twice
    _, counts = await crawled(leases, dict.fromkeys(names(3), NOTHING))
    assert len(leases.recorded) == 3 and leases.released == [] and counts.in_flight == 0


async def test_losing_the_lease_holder_cancels_its_visits_at_once_and_the_crawl_goes_on(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other workers may lease these domains then, so the grace period of a stop does not apply to them."""
    monkeypatch.setattr("crawler.recorder.RETRY_PAUSES", (0.01, 0.01))
    monkeypatch.setattr(lease_holder, "GRACE", 60)
    leases, stop, errors = (
        Leases(*names(2)),
        asyncio.Event(),
        [StoreUnavailable("restarting"), StoreUnavailable("restarting")],
    )
    original_release = leases.release

    async def release(*args: Any, **options: Any) -> int:
        if errors:
            raise errors.pop()
        assert not leases.recorded
        leases.due_now = names(3)[2:]
        return await original_release(*args, **options)

    monkeypatch.setattr(leases, "release", release)
    leases.on_record = lambda finished: stop.set()
    sites: Mapping[str, Site] = dict.fromkeys(names(2), silent) | {names(3)[2]: NOTHING}
    async with web(sites, request_timeout=60) as (served, crawl_settings):
        running = asyncio.create_task(crawl(leases, crawl_settings, stop=stop, until_idle=False))
        await served.asked(2)
        leases.lost.set()
        counts = await running
    assert sorted(leases.released) == [(name, None) for name in names(2)]
    assert [finished.domain for finished in leases.recorded] == names(3)[2:]
    assert leases.held == 2
    assert (counts.recorded, counts.released, counts.in_flight) == (1, 2, 0)


async def test_a_worker_waits_for_a_lease_holder_until_the_database_is_ready(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_holder, "RETRY_SECONDS", 0.01)
    leases, stop, errors = (
        Leases("site0.example"),
        asyncio.Event(),
        [StoreUnavailable("starting"), StoreUnavailable("starting")],
    )
    original_hold = leases.hold

    @asynccontextmanager
    async def fail_then_hold() -> AsyncIterator[Any]:
        if errors:
            raise errors.pop()
        async with original_hold() as holder:
            yield holder

    monkeypatch.setattr(leases, "hold", fail_then_hold)
    leases.on_record = lambda finished: stop.set()
    async with web({"site0.example": NOTHING}) as (_, crawl_settings):
        await crawl(leases, crawl_settings, until_idle=False, stop=stop)
        assert len(leases.recorded) == 1
        errors.append(StoreUnavailable("gone"))
        with pytest.raises(NOT_READY):
            await crawl(leases, crawl_settings)


async def test_a_single_crawl_fails_without_its_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    leases = Leases()

    async def fail_to_lease(**_: Any) -> None:
        raise StoreUnavailable("no server")

    monkeypatch.setattr(leases, "lease", fail_to_lease)
    with pytest.raises(NOT_READY, match="no server"):
        await crawl(leases, settings())


async def test_a_stop_releases_unfinished_domains_and_records_the_rest(
    crawled: Crawled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stop comes when three are recorded and the others wait for their first response."""
    stop, settled_hosts = asyncio.Event(), set[str]()
    leases = Leases(*names(6))
    monkeypatch.setattr(lease_holder, "GRACE", 0.2)

    def settle(*hosts: str) -> None:
        settled_hosts.update(hosts)
        if len(settled_hosts) == 6:
            stop.set()

    async def settle_and_hang(exchange: Exchange) -> None:
        settle(exchange.host)
        await silent(exchange)

    leases.on_record = lambda finished: settle(*(finished_domain.domain for finished_domain in finished))
    sites: Mapping[str, Site] = dict.fromkeys(names(3), NOTHING) | dict.fromkeys(names(6)[3:], settle_and_hang)
    served, counts = await crawled(leases, sites, request_timeout=60, lease_batch=6, stop=stop, until_idle=False)
    assert {finished.domain for finished in leases.recorded} == set(names(3))
    assert sorted(leases.released) == [(name, None) for name in names(6)[3:]]
    assert (counts.recorded, counts.released, counts.in_flight) == (3, 3, 0)
    assert all(served.paths(name) == ["/robots.txt"] for name in names(6)[3:])


async def test_a_cancelled_crawl_releases_its_leases(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    leases = Leases(*names(2))
    monkeypatch.setattr(lease_holder, "GRACE", 0.1)
    async with web(dict.fromkeys(names(2), silent), request_timeout=60) as (
        served,
        crawl_settings,
    ):
        running = asyncio.create_task(crawl(leases, crawl_settings, until_idle=False))
        await served.asked(2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert sorted(leases.released) == [(name, None) for name in names(2)]


async def test_idle_worker_waits_for_work_until_it_is_stopped(web: Web) -> None:
    leases, stop = Leases(), asyncio.Event()
    leases.on_record = lambda finished: stop.set()
    async with web({"site0.example": NOTHING}) as (_, crawl_settings):
        running = asyncio.create_task(crawl(leases, crawl_settings, until_idle=False, stop=stop))
        await asyncio.sleep(0.1)
        leases.due_now.append("site0.example")
        await running
    assert [finished.domain for finished in leases.recorded] == ["site0.example"]


async def test_one_host_is_visited_and_one_url_fetched_without_a_lease(web: Web) -> None:
    apex, www = "shop.example", "www.shop.example"

    async def redirect_to_www(exchange: Exchange) -> None:
        await exchange.send(Reply(status=301, headers=(("Location", f"https://{www}{exchange.path}"),)).encode())

    async with web({apex: redirect_to_www, www: NOTHING}) as (_, crawl_settings):
        visit = await run.visit_host("Shop.Example", crawl_settings)
        response = await run.fetch_url(f"https://{apex}/agent.json", crawl_settings)
    assert (visit.host, visit.outcome) == (www, Outcome.ABSENT)  # the apex is an alias of www
    assert response.fetched.final_url == f"https://{www}/agent.json"
    assert response.assessment.outcome is Outcome.ABSENT


@pytest.mark.parametrize(
    "url", ["http://shop.example/", "https://127.0.0.1/", "https://a.internal/", "file:///etc/passwd"]
)
async def test_a_url_that_may_not_be_fetched_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        await run.fetch_url(url, settings())


async def test_a_crawl_without_trusted_certificates_leases_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    leases = Leases("site0.example")
    with pytest.raises(BadSetup, match="SSL_CERT_FILE"):
        await crawl(leases, settings())
    assert leases.due_now == ["site0.example"]
