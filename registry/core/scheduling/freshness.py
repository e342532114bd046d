"""How long an answer may be kept, as its sender declares (RFC 9111 section 4.2.1).

`s-maxage` is ignored: it addresses the sender's own delivery network, which is notified of changes.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST: Final = timedelta(days=365)
"""Longer lifetimes are cut to this (RFC 9111 requires nobody to send more than a year)."""

_KEEP_NOTHING = re.compile(r"(?:^|[\s,])no-(?:store|cache)(?![\w-])", re.IGNORECASE)
_MAX_AGE = re.compile(r'(?:^|[\s,])max-age="?([0-9]+)', re.IGNORECASE)
_MOST_DIGITS = 9


def lifetime(headers: Mapping[str, str], at: datetime) -> timedelta | None:
    """Return how long the answer with these header fields (names in lower case), received at `at`, stays fresh.

    Between zero and LONGEST; None if it is not declared. `no-store` and `no-cache` mean zero, max-age overrides
    Expires, and an Expires that is not a date is in the past (RFC 9111 section 5.3). Never raises.
    """
    control = headers.get("cache-control", "")
    if _KEEP_NOTHING.search(control):
        return timedelta()
    if max_age := _MAX_AGE.search(control):
        digits = max_age[1].lstrip("0")
        return LONGEST if len(digits) > _MOST_DIGITS else min(timedelta(seconds=int(digits or "0")), LONGEST)
    if "expires" in headers:
        return _time_until(headers["expires"], _date(headers.get("date", "")) or at)
    return None


def _time_until(expires: str, sent_at: datetime) -> timedelta:
    expires_at = _date(expires)
    return timedelta() if expires_at is None else min(max(expires_at - sent_at, timedelta()), LONGEST)


def _date(text: str) -> datetime | None:
    """Return an HTTP date; None for anything else, also for a date without a zone."""
    try:
        parsed = parsedate_to_datetime(text.strip()[:64])
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return parsed if parsed.tzinfo is not None else None
