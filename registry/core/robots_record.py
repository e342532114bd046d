"""robots.txt between visits: what is kept of an answer, how long it holds, what it means for the visit."""

from datetime import datetime, timedelta
from typing import Final

from registry.core.documents import Fetched, Outcome
from registry.core.robots import Robots, is_page
from registry.core.visits import RobotsRecord

FRESH: Final = timedelta(hours=24)  # RFC 9309 section 2.4


def keep(fetched: Fetched) -> RobotsRecord:
    """Status None: not reachable. A redirect that leads nowhere is a file that is not there (RFC 9309, 2.3.1.2).

    Of a web page in the file's place nothing is kept: catch-alls have large ones, and it says nothing.
    """
    if fetched.failure is None:
        served = fetched.status is not None and 200 <= fetched.status < 300 and not is_page(fetched.body)
        return RobotsRecord(fetched.status, fetched.body if served else b"", fetched.at)
    nowhere = fetched.failure is Outcome.REDIRECTED_AWAY or fetched.reason.startswith("redirect")
    return RobotsRecord(302 if nowhere else None, b"", fetched.at)


def fresh(record: RobotsRecord | None, now: datetime) -> bool:
    """Whether a record of an earlier visit still counts. A failure is never kept: the file is asked for again."""
    if record is None or record.status is None or record.status >= 500 or record.status == 429:
        return False
    return now - record.fetched_at < FRESH


def verdict(robots: Robots) -> tuple[Outcome, str] | None:
    """How the visit ends because of the file; None: it goes on."""
    if robots.opted_out:
        return Outcome.DISALLOWED, "opt_out"
    if robots.reachable:
        return None
    return (Outcome.RATE_LIMITED if robots.reason == "robots_429" else Outcome.DISALLOWED), robots.reason
