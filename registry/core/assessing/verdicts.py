"""Decide outcomes by status. A status decides first: a 404 with a JSON body is a 404 (docs/crawler.md,
"Controls", "Outcomes").
"""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Final

from registry.core.model.documents import FetchResult, Outcome
from registry.core.names.domains import parse_url

READ: Final = frozenset({200, 203})  # statuses whose body may be a manifest

MAX_RETRY_AFTER: Final = 24 * 3600

_HOME = re.compile(r"/(index|home|404|not-?found|login|sign-?in)?(\.html?|/)?", re.IGNORECASE)

_BY_STATUS: Final[Mapping[int, Outcome]] = MappingProxyType(
    dict.fromkeys((401, 402, 403, 407, 451), Outcome.REFUSED)
    | dict.fromkeys((408, 421, 425), Outcome.SERVER_ERROR)
    | {404: Outcome.ABSENT, 410: Outcome.GONE, 429: Outcome.RATE_LIMITED}
)


def get_outcome_of_status(status: int) -> tuple[Outcome, str] | None:
    """Return the outcome and reason that a status alone decides; None for statuses whose body must be read."""
    if status in READ:
        return None
    by_class = {2: Outcome.NOT_A_MANIFEST, 4: Outcome.ABSENT}.get(status // 100, Outcome.SERVER_ERROR)
    return _BY_STATUS.get(status, by_class), f"status_{status}"


def retry_after(fetched: FetchResult) -> int | None:
    """Return the seconds to wait that a 429 or 503 asks for (RFC 9110 section 10.2.3), at most MAX_RETRY_AFTER."""
    field = fetched.headers.get("retry-after", "").strip() if fetched.status in (429, 503) else ""
    if not field:
        return None
    if field.isascii() and field.isdigit():  # thousands of digits are valid, but int() refuses them
        return min(int(field), MAX_RETRY_AFTER) if len(field) < 20 else MAX_RETRY_AFTER  # guard: retry-after-digits
    try:
        seconds = int((parsedate_to_datetime(field[:64]) - fetched.at).total_seconds())
    except (ValueError, TypeError, OverflowError, IndexError):  # not a date, or one without a zone
        return None
    return max(0, min(seconds, MAX_RETRY_AFTER))


def is_home(url: str) -> bool:
    """Return whether a redirect target is the front page, a login or an error page: the usual form of "not here"."""
    parsed = parse_url(url)
    return parsed is not None and _HOME.fullmatch(parsed.target.partition("?")[0]) is not None
