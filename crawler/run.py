"""Runs the crawler: until stopped, until nothing is due, or for one host, URL or file without storing anything.

Everything happens on the caller's event loop (Scrapy without a Twisted reactor), so the crawl uses the caller's
database engine unchanged.
"""

import asyncio
import os
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import structlog

from crawler.visit import Visitor
from registry.core.assessing.assess import assess
from registry.core.assessing.controls import Controls
from registry.core.model.documents import FetchResult, Outcome, Probe, Purpose
from registry.core.names.domains import InvalidName, canonical_host, host_of, parse_https
from registry.core.visiting.probes import pointer_probe
from registry.core.visiting.visits import HostJob, ProbeResult, Visit
from registry.settings import Settings

if TYPE_CHECKING:
    from scrapy.settings import Settings as ScrapySettings

    from crawler.recorder import OnRecorded
    from crawler.stats import CrawlCounts, OnProgress
    from registry.wiring import Waypost

_ONE_VISIT: Final = timedelta(hours=1)

log = structlog.get_logger(__name__)


async def crawl(
    waypost: "Waypost", settings: Settings, *, until_idle: bool, only: Collection[str] | None = None,
    progress: "OnProgress | None" = None, on_recorded: "OnRecorded | None" = None, stop: asyncio.Event | None = None,
) -> "CrawlCounts":  # fmt: skip
    """Run the spider on the running event loop; return its figures.

    It ends when `stop` is set or, with `until_idle`, when nothing is due and nothing is in flight. `only`: the domains
    to which the crawl is restricted. `progress` is called after every lease and every recorded batch, `on_recorded`
    with the visits of every recorded batch. A stop, also by cancelling this coroutine, takes no new leases, ends visits
    before their next request, releases unfinished domains and records the rest, within 10 s. When the database drops
    the session that the leases depend on, other processes may take them: the visits are cancelled at once, and the
    crawl continues in a new session.

    Raise guards.BadSetup; with `until_idle` also the errors of the database.
    """
    from scrapy.crawler import AsyncCrawlerRunner  # half a second to import; a check of one host does without

    from crawler.spider import CrawlJob, WaypostSpider
    from crawler.stats import counts_of

    job = CrawlJob(settings, waypost, until_idle, only, progress, on_recorded, stop or asyncio.Event())
    runner = AsyncCrawlerRunner(project_settings())
    crawler = runner.create_crawler(WaypostSpider)
    running = runner.crawl(crawler, job=job)
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        if isinstance(crawler.spider, WaypostSpider):
            crawler.spider.stopping.set()
        else:
            running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        raise
    if isinstance(crawler.spider, WaypostSpider) and crawler.spider.failure is not None:
        raise crawler.spider.failure
    return counts_of(crawler.stats)


def project_settings() -> "ScrapySettings":
    """Return the settings of this Scrapy project, then those of the module that SCRAPY_SETTINGS_MODULE names."""
    from scrapy.settings import Settings as ScrapySettings

    settings = ScrapySettings()
    for module in ("crawler.settings", os.environ.get("SCRAPY_SETTINGS_MODULE")):
        if module:
            settings.setmodule(module)
    return settings


async def visit_host(name: str, settings: Settings) -> Visit:
    """Visit one host by the whole plan with all paths of all formats; store nothing. If it is an alias, visit and
    return its target host instead. Raise InvalidName and guards.BadSetup."""
    async with Visitor(settings) as visitor:
        host = canonical_host(name, exempt=visitor.guard.connect_to.entries).host
        pacer, until = visitor.new_pacer(), datetime.now(UTC) + _ONE_VISIT
        visit = await visitor.visit_host(HostJob(host, whole_plan=True, named=True), pacer, until)
        if visit.alias_of is None:
            return visit
        return await visitor.visit_host(HostJob(visit.alias_of, whole_plan=True, named=True), pacer, until)


async def fetch_url(url: str, settings: Settings) -> ProbeResult:
    """Fetch and assess one https URL, without plan and controls; store nothing. Raise guards.BadSetup, and InvalidName
    unless it is https on port 443 of a host that may be visited."""
    async with Visitor(settings) as visitor:
        canonical = parse_https(url)
        if canonical is None:
            raise InvalidName("has_scheme" if "://" in url else "bad_character")
        canonical_host(host_of(canonical) or "", exempt=visitor.guard.connect_to.entries)
        probe = pointer_probe(canonical, None, None)
        async with visitor.session(datetime.now(UTC) + _ONE_VISIT) as session:
            fetched = await session.fetch(probe)
        return ProbeResult(probe, fetched, assess(probe, fetched, Controls()))


async def download(
    url: str, settings: Settings, *, cap: int, etag: str | None = None, last_modified: str | None = None
) -> FetchResult:
    """Fetch a file of reference data at a URL of the settings, with the guard, caps and User-Agent of visits.

    Return the answer, a 304 if the validators are still current, or a failure. `cap`: maximum decoded bytes. Raise
    guards.BadSetup.
    """
    canonical = parse_https(url)
    if canonical is None:
        return _refused(url, "no https URL on port 443")
    probe = Probe(canonical, Purpose.POINTER, "S5", "*/*", cap, None, etag, last_modified)
    async with Visitor(settings) as visitor:
        try:
            canonical_host(host_of(canonical) or "", exempt=visitor.guard.connect_to.entries)
        except InvalidName as error:
            return _refused(url, str(error))
        async with visitor.session(datetime.now(UTC) + timedelta(minutes=5)) as session:
            return await session.fetch(probe)


def _refused(url: str, reason: str) -> FetchResult:
    return FetchResult(url, url, datetime.now(UTC), failure=Outcome.REFUSED_ADDRESS, reason=reason)
