"""The parameters and resources of a crawl: given by a command of waypost, or built here for `scrapy crawl`."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field, replace

import structlog
from pydantic import ValidationError
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from crawler.recorder import OnRecorded
from crawler.stats import OnProgress
from registry.settings import Settings, variable
from registry.wiring import Waypost, open_waypost
from registry.wiring.upkeep import last_drain

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CrawlJob:
    """Parameters of a crawl. `until_idle`: end when nothing is due, else wait for more. `only`: restrict the crawl to
    these domains. `stop` ends the crawl.

    `on_progress` is called with the figures after every lease and record, `on_recorded` with the visits of each record.
    """

    settings: Settings
    waypost: Waypost | None = None
    until_idle: bool = True
    only: Collection[str] | None = None
    on_progress: OnProgress | None = None
    on_recorded: OnRecorded | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)


def job_from(scrapy_settings: BaseSettings) -> CrawlJob:
    """Return the job of `scrapy crawl`: one pass over all due domains. Raise ValueError for a wrong setting."""
    if not structlog.is_configured():
        _log_through_scrapy()
    return CrawlJob(settings_from(scrapy_settings))


def settings_from(scrapy_settings: BaseSettings) -> Settings:
    """Return the registry's settings: from `-s` first, then the environment, then the Scrapy settings module. Raise
    ValueError for a wrong value."""
    configured = {
        name: (value, scrapy_settings.getpriority(variable(name)) or 0)
        for name in Settings.model_fields
        if (value := scrapy_settings.get(variable(name))) is not None
    }
    project = SETTINGS_PRIORITIES["project"]
    overrides = {name: value for name, (value, priority) in configured.items() if priority > project}
    defaults = {name: value for name, (value, priority) in configured.items() if priority <= project}
    try:
        overriding_settings = Settings(**overrides)
        missing = {name: value for name, value in defaults.items() if name not in overriding_settings.model_fields_set}
        return Settings(**overrides, **missing) if missing else overriding_settings
    except ValidationError as error:
        messages = (
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_input=False)
        )
        raise ValueError("; ".join(messages)) from None


@contextlib.asynccontextmanager
async def opened(job: CrawlJob, names: Sequence[str]) -> AsyncIterator[tuple[Waypost, CrawlJob]]:
    """Yield the open registry and the job. A job without a registry gets one, with seeding, recovery, a final drain.
    Raise NOT_READY, BadDatabaseUrl, and InvalidName if none of the names may be visited."""
    if job.waypost is not None:
        yield job.waypost, job
        return
    async with open_waypost(job.settings) as waypost:
        if names:
            job = replace(job, only=await _seed_names(waypost, names))
        await waypost.crawl.recover()  # leases of crawls that were killed
        yield waypost, job
        waypost.search.backend.claim()
        await (last_drain(waypost) if job.stop.is_set() else waypost.search.drain())


async def _seed_names(waypost: Waypost, names: Sequence[str]) -> Collection[str]:
    """Add the names and make them due; return their domains."""
    refused = {
        refusal.name: refusal.message for refusal in (await waypost.frontier.seed(names, source="command")).refused
    }
    for name, message in refused.items():
        log.error("seed.refused", name=name, reason=message)
    accepted = [name for name in names if name not in refused]
    await waypost.frontier.make_due(accepted)
    return {host.domain for host in waypost.frontier.hosts_of(accepted)}


def _log_through_scrapy() -> None:
    """Send log events to the standard library's logging, so that LOG_LEVEL, LOG_FILE and `--nolog` apply to them."""
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, structlog.processors.KeyValueRenderer(key_order=["event"])],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
