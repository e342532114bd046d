"""Additions of users to the Scrapy project work: extensions, middlewares, pipelines; and its statistics are correct."""

import asyncio
import logging
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, IgnoreRequest

from crawler import lease_holder
from crawler.recorder import AFTER_CRASH
from crawler.stats import CrawlCounts, CrawlTotals
from registry.core.model.documents import Outcome
from tests.crawler.leases import Leases, crawl, names
from tests.crawler.support import NOTHING, Crawled, Web, silent
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Site

HERE = __name__


class Listener:
    """An extension that records which items were scraped and dropped, and keeps the crawler with its statistics."""

    leases: ClassVar[Leases]
    crawler: ClassVar[Crawler]
    scraped: ClassVar[list[str]]
    dropped: ClassVar[list[str]]
    scheduled: ClassVar[list[list[str]]]
    """The URLs of the requests that were scheduled, by turn of the event loop."""
    pauses: ClassVar[bool] = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "Listener":
        cls.crawler, cls.scraped, cls.dropped, cls.scheduled = crawler, [], [], [[]]
        self = cls()
        crawler.signals.connect(self.item_scraped, signals.item_scraped)
        crawler.signals.connect(self.item_dropped, signals.item_dropped)
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        crawler.signals.connect(self.request_scheduled, signals.request_scheduled)
        return self

    def item_scraped(self, item: Any) -> None:
        assert item.domain in {finished.domain for finished in self.leases.recorded}
        self.scraped.append(item.domain)

    def item_dropped(self, item: Any) -> None:
        self.dropped.append(item.domain)

    def request_scheduled(self, request: Request) -> None:
        if not self.scheduled[-1]:
            asyncio.get_running_loop().call_soon(self.scheduled.append, [])
        self.scheduled[-1].append(request.url)

    def spider_opened(self) -> None:
        if self.pauses:
            self.crawler.engine.pause()


class Refusing:
    """A downloader middleware that keeps one domain from being visited."""

    def process_request(self, request: Request) -> None:
        if request.url == "probe://site1.example":
            raise IgnoreRequest


class Dropping:
    """A pipeline before the product's own that drops one item."""

    def process_item(self, item: Any) -> Any:
        if item.domain == "site2.example":
            raise DropItem("not wanted")
        return item


@pytest.fixture
def add_extension(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Let a user's settings module add the listener and the settings of a test."""

    def add(leases: Leases, **settings: Any) -> None:
        Listener.leases = leases
        folder = tmp_path / "module"
        folder.mkdir()
        lines = [
            "from crawler.settings import EXTENSIONS",
            f"EXTENSIONS = {{**EXTENSIONS, '{HERE}.Listener': 0, **{settings.pop('extensions', {})!r}}}",
            *(f"{name} = {value!r}" for name, value in settings.items()),
        ]
        (folder / "settings_of_a_user.py").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, "settings_of_a_user", raising=False)
        monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "settings_of_a_user")
        monkeypatch.setattr(lease_holder, "GRACE", 0.2)

    return add


def stats() -> Mapping[str, Any]:
    return Listener.crawler.stats.get_stats()


async def test_scraped_means_recorded_and_the_statistics_count_domains(crawled: Crawled, add_extension: Any) -> None:
    leases = Leases(*names(4))
    add_extension(leases)
    sites: Mapping[str, Site] = dict.fromkeys(names(3), NOTHING)
    served, counts = await crawled(leases, sites)
    assert sorted(Listener.scraped) == names(4)
    crawl_stats = stats()
    for key in ("downloader/request_count", "downloader/response_count", "response_received_count",
                "item_scraped_count", "scheduler/enqueued", "waypost/domains/recorded", "waypost/hosts"):  # fmt: skip
        assert crawl_stats[key] == 4, key
    assert crawl_stats["waypost/requests"] == counts.requests == len(served.seen) + 1  # a name that does not exist
    assert crawl_stats["waypost/status/4xx"] == len(served.seen)
    assert (crawl_stats["waypost/outcome/absent"], crawl_stats["waypost/outcome/unreachable"]) == (3, 1)
    assert crawl_stats["waypost/error/unreachable/nxdomain"] == 1
    assert crawl_stats["waypost/received_bytes"] == counts.received > 0
    assert crawl_stats["waypost/hosts_per_minute"] > 0
    assert crawl_stats["finish_reason"] == "finished"


async def test_a_lease_is_scheduled_in_one_turn_of_the_event_loop(crawled: Crawled, add_extension: Any) -> None:
    """With a few turns for each domain, a busy crawler has few domains in flight, and each costs more."""
    leases = Leases(*names(6))
    add_extension(leases)
    await crawled(leases, dict.fromkeys(names(6), NOTHING), lease_batch=6)
    assert [f"probe://{name}" for name in names(6)] in Listener.scheduled


async def test_a_domain_that_cannot_be_recorded_is_dropped_and_released_alone(
    crawled: Crawled, add_extension: Any
) -> None:
    leases = Leases(*names(3))
    add_extension(leases)

    def refuse_site1(finished: Any) -> None:
        if "site1.example" in {finished_domain.domain for finished_domain in finished}:
            raise ValueError("planted")

    leases.on_record = refuse_site1
    await crawled(leases, dict.fromkeys(names(3), NOTHING))
    assert sorted(Listener.scraped) == ["site0.example", "site2.example"] and Listener.dropped == ["site1.example"]
    figures = [stats()[key] for key in ("item_scraped_count", "item_dropped_count", "waypost/domains/crashed")]
    assert figures == [2, 1, 1] and leases.released == [("site1.example", AFTER_CRASH)] and leases.out == 0


@pytest.mark.parametrize(
    ("setting", "reason"),
    [({"CLOSESPIDER_ITEMCOUNT": 2}, "closespider_itemcount"),
     ({"CLOSESPIDER_TIMEOUT": 0.5}, "closespider_timeout"),
     ({"MEMUSAGE_LIMIT_MB": 1, "MEMUSAGE_CHECK_INTERVAL_SECONDS": 0.1}, "memusage_exceeded")],
)  # fmt: skip
async def test_extensions_that_close_the_spider_end_running_visits(
    web: Web, add_extension: Any, setting: dict[str, Any], reason: str
) -> None:
    """All visits in flight hang, so that only the closing of the spider ends them."""
    leases = Leases(*names(9))
    add_extension(leases, **setting)
    sites: Mapping[str, Site] = dict.fromkeys(names(2), NOTHING) | dict.fromkeys(names(9)[2:], silent)
    async with web(sites, request_timeout=60, hosts_in_flight=4, lease_batch=2) as (
        _,
        crawl_settings,
    ):
        async with asyncio.timeout(HANG_SECONDS):
            counts = await crawl(leases, crawl_settings, until_idle=False)
    assert stats()["finish_reason"] == reason
    assert leases.out == 0 and counts.in_flight == 0
    assert {name for name, _ in leases.released} <= set(names(9)) - {finished.domain for finished in leases.recorded}


async def test_requests_that_scrapy_drops_at_the_end_are_released(
    crawled: Crawled, monkeypatch: pytest.MonkeyPatch, add_extension: Any
) -> None:
    """A paused engine downloads nothing; when its spider closes, it drops its requests without an errback."""
    monkeypatch.setattr(Listener, "pauses", True)
    leases = Leases(*names(5))
    add_extension(leases, CLOSESPIDER_TIMEOUT=0.5)
    served, counts = await crawled(leases, dict.fromkeys(names(5), NOTHING), lease_batch=5)
    assert served.seen == [] and Listener.scraped == []
    assert sorted(leases.released) == [(name, None) for name in names(5)]
    assert (counts.leased, counts.released, counts.in_flight) == (5, 5, 0)


async def test_concurrent_requests_also_limit_the_hosts_in_flight(crawled: Crawled, add_extension: Any) -> None:
    leases = Leases(*names(12))
    add_extension(leases, CONCURRENT_REQUESTS=3)
    await crawled(leases, dict.fromkeys(names(12), NOTHING), hosts_in_flight=8)
    assert len(leases.recorded) == 12 and leases.most_out <= 3


async def test_user_middlewares_and_pipelines_can_drop_domains(crawled: Crawled, add_extension: Any) -> None:
    leases = Leases(*names(4))
    pipelines = {f"{HERE}.Dropping": 50, "crawler.pipelines.RecordPipeline": 100}
    add_extension(leases, DOWNLOADER_MIDDLEWARES={f"{HERE}.Refusing": 100}, ITEM_PIPELINES=pipelines)
    served, counts = await crawled(leases, dict.fromkeys(names(4), NOTHING))
    assert sorted(finished.domain for finished in leases.recorded) == ["site0.example", "site3.example"]
    assert sorted(leases.released) == [("site1.example", AFTER_CRASH), ("site2.example", AFTER_CRASH)]
    assert served.paths("site1.example") == []
    assert counts.in_flight == 0


async def test_the_periodic_log_counts_domains(web: Web, add_extension: Any, caplog: pytest.LogCaptureFixture) -> None:
    leases = Leases(*names(3))
    periodic = {"scrapy.extensions.periodic_log.PeriodicLog": 0}
    add_extension(leases, extensions=periodic, LOGSTATS_INTERVAL=0.2, PERIODIC_LOG_STATS={"PERIODIC_LOG_STATS": True})
    async with web(dict.fromkeys(names(3), NOTHING), lease_batch=3) as (_, crawl_settings):
        stop = asyncio.Event()
        with caplog.at_level(logging.INFO, "scrapy"):
            running = asyncio.create_task(crawl(leases, crawl_settings, until_idle=False, stop=stop))
            while "scraped 3 items" not in caplog.text:  # noqa: ASYNC110  (a log line sets no event)
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.5)
            stop.set()
            await running
    assert re.search(r"Crawled 3 pages \(at \d+ pages/min\), scraped 3 items", caplog.text)
    assert '"waypost/hosts": 3' in caplog.text


def test_totals_never_decrease_when_a_crawl_is_started_again() -> None:
    totals = CrawlTotals()
    first = totals.new_crawl()
    first(CrawlCounts(leased=5, recorded=3, released=2, hosts=4, requests=80))
    second = totals.new_crawl()
    assert totals.counts.requests == 80
    second(CrawlCounts(leased=2))
    second(CrawlCounts(leased=2, recorded=1, hosts=1, requests=20))
    assert (totals.counts.leased, totals.counts.hosts, totals.counts.requests) == (7, 5, 100)
    assert totals.counts.in_flight == 1
    third = totals.new_crawl()
    third(CrawlCounts(outcomes=Counter({Outcome.FOUND: 1})))
    assert totals.counts.outcomes[Outcome.FOUND] == 1 and totals.counts.requests == 100
