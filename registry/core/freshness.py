"""How long an answer may be kept, as its sender says (RFC 9111 section 4.2.1).

`s-maxage` is left out: it speaks to the sender's own delivery network, which is told when something changes.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST: Final = timedelta(days=365)
"""More is not believed (RFC 9111 asks nobody to send more than a year)."""

_KEEP_NOTHING = re.compile(r"(?:^|[\s,])no-(?:store|cache)(?![\w-])", re.IGNORECASE)
_MAX_AGE = re.compile(r'(?:^|[\s,])max-age="?([0-9]+)', re.IGNORECASE)
_MOST_DIGITS = 9


def lifetime(headers: Mapping[str, str], at: datetime) -> timedelta | None:
    """How long the answer with these header fields (names in lower case), received at `at`, says it stays fresh.

    Between zero and LONGEST; None where it does not say. `no-store` and `no-cache` mean zero, max-age beats Expires,
    and an Expires that is no date lies in the past (RFC 9111 section 5.3). Total: any text gives an answer.
    """
    control = headers.get("cache-control", "")
    if _KEEP_NOTHING.search(control):
        return timedelta()
    if stated := _MAX_AGE.search(control):
        digits = stated[1].lstrip("0")
        return LONGEST if len(digits) > _MOST_DIGITS else min(timedelta(seconds=int(digits or "0")), LONGEST)
    if "expires" in headers:
        return _until(headers["expires"], _date(headers.get("date", "")) or at)
    return None


def _until(expires: str, sent: datetime) -> timedelta:
    then = _date(expires)
    return timedelta() if then is None else min(max(then - sent, timedelta()), LONGEST)


def _date(text: str) -> datetime | None:
    """An HTTP date; None for anything else, also for a date without a zone."""
    try:
        found = parsedate_to_datetime(text.strip()[:64])
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return found if found.tzinfo is not None else None
