"""Format what Scrapy logs about requests, responses and items."""

import logging
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.logformatter import LogFormatter, LogFormatterResult
from twisted.python.failure import Failure

_LOGGER = logging.getLogger("scrapy")


class RedactingFormatter(LogFormatter):
    """Log domains instead of items, because an item contains untrusted bodies."""

    def crawled(self, request: Request, response: Response, spider: Spider) -> LogFormatterResult | None:  # type: ignore[override]  # None: not logged
        return _domain(logging.DEBUG, "visited %(domain)s", request.url)

    def scraped(self, item: Any, response: Response | Failure | None, spider: Spider) -> LogFormatterResult | None:  # type: ignore[override]  # None: not logged
        return _domain(logging.DEBUG, "recorded %(domain)s", item)

    def dropped(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        return _message(logging.WARNING, "dropped %(domain)s", item)

    def item_error(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        return _message(logging.ERROR, "item of %(domain)s", item)


def _domain(level: int, message: str, source: Any) -> LogFormatterResult | None:
    """Return the message, or None below the log level, because it would be built for every domain."""
    return _message(level, message, source) if _LOGGER.isEnabledFor(level) else None


def _message(level: int, message: str, source: Any) -> LogFormatterResult:
    domain = source if isinstance(source, str) else getattr(source, "domain", "?")
    return {"level": level, "msg": message, "args": {"domain": domain}}
