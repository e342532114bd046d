"""Settings of the Scrapy project, used by `scrapy` in a checkout and by `waypost crawl`, `worker` and `schedule`.

Every upper-case name is a Scrapy setting. Add extensions, middlewares and pipelines here, with `-s`, or in a module
that SCRAPY_SETTINGS_MODULE names. docs/crawler.md describes the project.
"""

from typing import Any, Final

from scrapy.settings import BaseSettings

from crawler import session

BOT_NAME: Final = "waypost"
SPIDER_MODULES: Final = ["crawler.spider"]
NEWSPIDER_MODULE: Final = "crawler.spider"
USER_AGENT: Final = session.PRODUCT_AND_VERSION  # the spider appends the contact page: session.user_agent

TWISTED_REACTOR_ENABLED: Final = False
ASYNCIO_EVENT_LOOP: Final = "uvloop.Loop"
LOG_LEVEL: Final = "INFO"
LOG_FORMATTER: Final = "crawler.spider.RedactingFormatter"

# Only probe:// has a download handler. Scrapy's own handlers ignore the address guard, and file: reads local files.
# Set in the base setting, so that DOWNLOAD_HANDLERS can add handlers without restoring these; at the highest priority,
# because Scrapy adds handlers for http and https to it when it runs without a reactor.
DOWNLOAD_HANDLERS_BASE: Final = BaseSettings(
    {
        **dict.fromkeys(("http", "https", "file", "data", "s3", "ftp")),  # guard: scrapy-handlers
        "probe": "crawler.handler.ProbeHandler",
    },
    priority="cmdline",
)

# Both run code sent by a client; the remote control is on by default since Scrapy 2.19.
EXTENSIONS: Final[dict[str, Any]] = {
    "scrapy.extensions.telnet.TelnetConsole": None,
    "scrapy.extensions.remote_control.RemoteControl": None,
}
TELNETCONSOLE_ENABLED: Final = False  # guard: scrapy-telnet
REMOTE_CONTROL_ENABLED: Final = False  # guard: scrapy-remote-control

# A request is a whole domain: the lease retries with back-off, and the visit follows redirects and obeys robots.txt.
# Scrapy's default middlewares would do nothing here and double the engine's cost. Middlewares that you add do run.
DOWNLOADER_MIDDLEWARES_BASE: Final[dict[str, Any]] = {}
SPIDER_MIDDLEWARES_BASE: Final[dict[str, Any]] = {}
RETRY_ENABLED: Final = False
REDIRECT_ENABLED: Final = False
METAREFRESH_ENABLED: Final = False
COOKIES_ENABLED: Final = False
REFERER_ENABLED: Final = False
HTTPPROXY_ENABLED: Final = False  # guard: scrapy-proxy
COMPRESSION_ENABLED: Final = False
ROBOTSTXT_OBEY: Final = False

ITEM_PIPELINES: Final = {"crawler.pipelines.RecordPipeline": 100}

# The spider bounds the domains in flight, including those not yet recorded (WAYPOST_HOSTS_IN_FLIGHT), so the engine
# needs no limits, and `needs_backout()` is true only when the spider closes. CONCURRENT_REQUESTS can lower the bound.
# One download slot for all domains: a slot per domain would cost memory and limit nothing, because a lease gives each
# domain to one worker.
CONCURRENT_REQUESTS: Final = 0
CONCURRENT_REQUESTS_PER_DOMAIN: Final = 20_000
SCRAPER_SLOT_MAX_ACTIVE_SIZE: Final = 2**40
DOWNLOAD_DELAY: Final = 0
CONCURRENT_ITEMS: Final = 1  # Scrapy starts this many tasks for every response; a response has one item
SCHEDULER: Final = "crawler.spider.LeaseScheduler"
DUPEFILTER_CLASS: Final = "scrapy.dupefilters.BaseDupeFilter"
WARN_ON_GENERATOR_RETURN_VALUE: Final = False
