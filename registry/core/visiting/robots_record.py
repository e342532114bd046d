"""robots.txt during and between visits: the record of an answer, its freshness and meaning, and the rules by host."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from registry.core.model.documents import FetchResult, Outcome
from registry.core.names.authority import is_own_answer
from registry.core.visiting.pointers import LOCATION_NOT_READ
from registry.core.visiting.robots import Robots, is_page
from registry.core.visiting.visits import RobotsRecord

FRESH: Final = timedelta(hours=24)  # RFC 9309 section 2.4


def keep(fetched: FetchResult, host: str) -> RobotsRecord:
    """Return the record of an answer to a request for the file of `host`. Status None: not reachable. A redirect that
    leads nowhere is a missing file (RFC 9309, 2.3.1.2). The body of a web page in the file's place is dropped:
    catch-alls serve large ones, and they contain no rules."""
    is_own = is_own_answer(host, (*fetched.hops, fetched.final_url))
    if fetched.failure is None:
        is_file = fetched.status is not None and 200 <= fetched.status < 300 and not is_page(fetched.body)
        return RobotsRecord(fetched.status, fetched.body if is_file else b"", fetched.at, is_own)
    is_unread = fetched.failure is Outcome.SKIPPED or fetched.reason == LOCATION_NOT_READ
    leads_nowhere = fetched.failure is Outcome.REDIRECTED_AWAY or fetched.reason.startswith("redirect")
    leads_nowhere = leads_nowhere and not is_unread  # the file may be there, behind what was not followed
    return RobotsRecord(302 if leads_nowhere else None, b"", fetched.at, is_own)


def rules_of(record: RobotsRecord, reason: str = "") -> Robots:
    """Return the rules of a record. The file of another host is obeyed (RFC 9309 section 2.3.1.2), but is no opt-out:
    otherwise a host could delete its platform."""
    robots = Robots.from_answer(record.status, record.body, reason)
    return robots if record.is_own else replace(robots, opted_out=False)  # guard: robots-elsewhere


def verdict(robots: Robots) -> tuple[Outcome, str] | None:
    """Return the outcome and reason with which the file ends the visit; None if the visit goes on."""
    if robots.opted_out:
        return Outcome.DISALLOWED, "opt_out"
    if robots.reachable:
        return None
    return (Outcome.RATE_LIMITED if robots.reason == "robots_429" else Outcome.DISALLOWED), robots.reason


class RobotsCache:
    """`by_host`: the rules of files that were read. `record`: the visited host's file, as stored for the next visit."""

    __slots__ = ("_host", "by_host", "record")

    def __init__(self, host: str, stored: RobotsRecord | None) -> None:
        self._host = host
        self.by_host: dict[str, Robots] = {}
        self.record = stored

    def use_stored(self, host: str, now: datetime) -> bool:
        """Use the file of an earlier visit. Return False if `host` has no stored file, it is too old, or it failed."""
        if host != self._host or self.record is None:
            return False
        status = self.record.status
        if status is None or status >= 500 or status == 429 or now - self.record.fetched_at >= FRESH:
            return False
        self.by_host[host] = rules_of(self.record)
        return True

    def add(self, host: str, final_host: str, fetched: FetchResult) -> None:
        """Read the answer to a request for the file of `host`, which `final_host` served in the end. It counts for both
        hosts: apex and `www.` usually share one file."""
        record = keep(fetched, host)
        robots = rules_of(record, f"robots_{fetched.reason}")
        for covered_host in {host, final_host}:
            self.by_host.setdefault(covered_host, robots)
        if host == self._host:
            self.record = record
