"""Scrapy's settings, computed from ours. What is switched off here would go around the guards or multiply the cost.

Measured (engine with a null handler, 2 shared cores): 0.3 ms of CPU for each Scrapy request, which is why a request
is a lease; `CONCURRENT_ITEMS` 1, because Scrapy makes that many tasks for every response.
"""

from importlib.metadata import version
from typing import Any, Final

from registry.core.robots import PRODUCT
from registry.settings import Settings

SCHEME: Final = "probe"
"""`probe://lease/<token>`: the only scheme that has a download handler."""


def user_agent(settings: Settings) -> str:
    """Who we are, where that is explained, who reads mail; begins with the token that robots.txt files address."""
    return f"{PRODUCT}/{version('waypost')} ({settings.reachable_at})"


def scrapy_settings(settings: Settings) -> dict[str, Any]:
    """For AsyncCrawlerRunner inside a running event loop, without a Twisted reactor."""
    return {
        "BOT_NAME": "waypost",
        "USER_AGENT": user_agent(settings),
        "TWISTED_REACTOR_ENABLED": False,
        # file:, data:, s3: and ftp: are on by default and know no guard.
        "DOWNLOAD_HANDLERS": {
            SCHEME: "crawler.handler.ProbeHandler",
            **dict.fromkeys(("http", "https", "file", "data", "s3", "ftp")),
        },
        "ITEM_PIPELINES": {"crawler.pipelines.RecordPipeline": 100},
        "LOG_FORMATTER": "crawler.pipelines.Discreet",
        # A lease is one request; how many domains are in flight is bounded by the spider.
        "CONCURRENT_REQUESTS": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": settings.hosts_in_flight,
        "CONCURRENT_ITEMS": 1,
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
        "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
        "WARN_ON_GENERATOR_RETURN_VALUE": False,
        "LOG_ENABLED": False,
        # A lease is retried by the lease table, with back-off; redirects are followed hop by hop by the visit.
        **dict.fromkeys(
            (
                "RETRY_ENABLED",
                "REDIRECT_ENABLED",
                "METAREFRESH_ENABLED",
                "COOKIES_ENABLED",
                "REFERER_ENABLED",
                "HTTPPROXY_ENABLED",
                "COMPRESSION_ENABLED",
                "TELNETCONSOLE_ENABLED",
                "REMOTE_CONTROL_ENABLED",
                "ROBOTSTXT_OBEY",
            ),
            False,
        ),
    }
