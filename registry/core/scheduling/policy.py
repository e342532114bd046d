"""Decide when a host is visited again and say why (docs/revisit.md); read declared lifetimes (RFC 9111 section 4.2.1).

The wait is spread by up to a tenth either way, always equally for the same host, so that hosts seeded together drift
apart. Second looks and unfinished visits come sooner, but not before `earliest`; the code that records a visit
schedules them. Time and reason are decided once, when a visit is recorded; newer rules do not change them. `s-maxage`
is ignored: it addresses the sender's own delivery network, which is notified of changes.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final

from registry.core.model.documents import Outcome

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)

FOUND_FIRST: Final = _DAY
FOUND_LEAST: Final = _HOUR
FOUND_MOST: Final = 7 * _DAY
STALE_AFTER: Final = 2 * FOUND_MOST
"""Twice the longest regular interval between two visits, so that a late crawler does not make a site stale."""

SPREAD: Final = 0.1
MAX_RETRY_WAIT: Final = _DAY


@dataclass(frozen=True, slots=True)
class VisitHistory:
    """The facts that the policy needs besides the outcome. `streak`: visits in a row with this outcome and reason, this
    one included. `interval`: the wait before this visit, None at the first. `previous`: the outcome before this one.
    `has_changed`: a document appeared, disappeared or changed. `max_age`: how long the host lets its documents be
    cached. `retry_after`: the wait of a 429 or 503."""

    host: str
    streak: int = 1
    interval: timedelta | None = None
    has_changed: bool = False
    max_age: timedelta | None = None
    retry_after: timedelta | None = None
    previous: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """`first` after the first visit of a streak, doubled for each further one up to `most`."""

    first: timedelta
    most: timedelta

    def after(self, streak: int) -> timedelta:
        return min(self.first * (1 << min(max(streak - 1, 0), 16)), self.most)


WAITS: Final[Mapping[Outcome, Wait]] = {
    Outcome.NEGATIVE: Wait(30 * _DAY, 30 * _DAY),
    Outcome.NOT_A_MANIFEST: Wait(14 * _DAY, 90 * _DAY),
    Outcome.MALFORMED: Wait(3 * _DAY, 30 * _DAY),
    Outcome.ABSENT: Wait(14 * _DAY, 90 * _DAY),
    Outcome.GONE: Wait(90 * _DAY, 90 * _DAY),
    Outcome.REDIRECTED_AWAY: Wait(30 * _DAY, 30 * _DAY),
    Outcome.REFUSED: Wait(7 * _DAY, 90 * _DAY),
    Outcome.REFUSED_BY_FIREWALL: Wait(7 * _DAY, 30 * _DAY),
    Outcome.RATE_LIMITED: Wait(_HOUR, 7 * _DAY),
    Outcome.UNREACHABLE: Wait(_DAY, 90 * _DAY),
    Outcome.TLS_ERROR: Wait(_DAY, 90 * _DAY),
    Outcome.TOO_LARGE: Wait(7 * _DAY, 90 * _DAY),
    Outcome.UNSUPPORTED_ENCODING: Wait(7 * _DAY, 90 * _DAY),
    Outcome.DISALLOWED: Wait(_DAY, 30 * _DAY),
    Outcome.SKIPPED: Wait(_HOUR, _DAY),
}
"""Hosts that stay broken, too large or closed to the crawler are visited ever more rarely."""

SPENT_BUDGET_WAIT: Final = timedelta(hours=6)
"""Wait after a visit without any request, because a budget was spent: budgets are per day."""

_EQUIVALENT: Final = (
    frozenset({Outcome.ABSENT, Outcome.NOT_A_MANIFEST}),
    frozenset({Outcome.UNREACHABLE, Outcome.TLS_ERROR}),
)
"""Outcomes that are equal for the back-off: a host that answers 404 today and its front page tomorrow has nothing. A
host that times out today and does not resolve tomorrow is down."""

_FIRST_ERRORS: Final = (_HOUR, 6 * _HOUR)
_LATER_ERRORS: Final = Wait(_DAY, 30 * _DAY)


def next_visit(outcome: Outcome, history: VisitHistory, now: datetime) -> datetime | None:
    """Return the time of the next visit; None: never by itself, only on request (REFUSED_ADDRESS)."""
    if outcome is Outcome.REFUSED_ADDRESS:
        return None
    requested_wait = min(history.retry_after or timedelta(), MAX_RETRY_WAIT)  # guard: retry-after
    if outcome is Outcome.FOUND:
        return now + max(_wait_after_found(history), requested_wait)
    return now + max(_spread(backed_off(outcome, history), history), requested_wait, _HOUR)


def after_spent_budget(host: str, now: datetime) -> datetime:
    """Return the next visit of a host that received no request; its history does not change."""
    return now + _spread(SPENT_BUDGET_WAIT, VisitHistory(host))


def earliest(retry_after: timedelta | None, now: datetime) -> datetime:
    """Return the time before which no visit may happen: the host asked for this wait (RFC 9110 section 10.2.3)."""
    return now + min(retry_after or timedelta(), MAX_RETRY_WAIT)


def backed_off(outcome: Outcome, history: VisitHistory) -> timedelta:
    """Return the wait after anything but FOUND and REFUSED_ADDRESS, before spread and the host's own wish."""
    if outcome is Outcome.SERVER_ERROR:
        later_errors = history.streak - len(_FIRST_ERRORS)
        return _LATER_ERRORS.after(later_errors) if later_errors > 0 else _FIRST_ERRORS[max(history.streak, 1) - 1]
    wait = WAITS[outcome].after(history.streak)
    is_alike = any(outcome in group and history.previous in group for group in _EQUIVALENT)
    if is_alike and history.interval is not None:
        wait = max(wait, min(2 * _unspread(history.interval, history), WAITS[outcome].most))
    return wait


def _wait_after_found(history: VisitHistory) -> timedelta:
    """Return the wait after FOUND: halved when something changed, else doubled, to follow the rate of changes."""
    wait = FOUND_FIRST
    if history.interval is not None and history.streak > 1:
        last_wait = _unspread(history.interval, history)
        wait = last_wait / 2 if history.has_changed else last_wait * 2
    least = max(FOUND_LEAST, min(history.max_age or FOUND_LEAST, FOUND_MOST))
    return min(max(_spread(wait, history), least), FOUND_MOST)


def _spread(wait: timedelta, history: VisitHistory) -> timedelta:
    return wait * _spread_factor(history.host)


def _unspread(interval: timedelta, history: VisitHistory) -> timedelta:
    """Undo the spread of a host: doubling a spread interval would compound it."""
    return interval / _spread_factor(history.host)


def _spread_factor(host: str) -> float:
    digest = hashlib.sha256(host.encode()).digest()
    share = int.from_bytes(digest[:4], "big") / 0xFFFFFFFF  # 0 to 1
    return 1 + SPREAD * (2 * share - 1)


MAX_LIFETIME: Final = timedelta(days=365)
"""Longer lifetimes are cut to this: earlier versions of HTTP allowed one year at most (RFC 9111 section 5.3)."""

_KEEP_NOTHING = re.compile(r"(?:^|[\s,])no-(?:store|cache)(?![\w-])", re.IGNORECASE)
_MAX_AGE = re.compile(r'(?:^|[\s,])max-age="?([0-9]+)', re.IGNORECASE)
_MAX_DIGITS = 9


def lifetime(headers: Mapping[str, str], at: datetime) -> timedelta | None:
    """Return how long the answer with these header fields (names in lower case), received at `at`, stays fresh. Between
    zero and MAX_LIFETIME; None if it is not declared. `no-store` and `no-cache` mean zero, max-age overrides Expires,
    and an Expires that is not a date is in the past (RFC 9111 section 5.3). Never raises."""
    control = headers.get("cache-control", "")
    if _KEEP_NOTHING.search(control):
        return timedelta()
    if max_age := _MAX_AGE.search(control):
        digits = max_age[1].lstrip("0")
        return MAX_LIFETIME if len(digits) > _MAX_DIGITS else min(timedelta(seconds=int(digits or "0")), MAX_LIFETIME)
    if "expires" not in headers:
        return None
    sent_at, expires_at = _date(headers.get("date", "")) or at, _date(headers["expires"])
    return timedelta() if expires_at is None else min(max(expires_at - sent_at, timedelta()), MAX_LIFETIME)


def _date(text: str) -> datetime | None:
    """Return an HTTP date; None for anything else, also for a date without a zone."""
    try:
        parsed = parsedate_to_datetime(text.strip()[:64])
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return parsed if parsed.tzinfo is not None else None


class DueReason(StrEnum):
    """What set the time of the next visit."""

    NEW = "new"  # known, not visited yet
    ASKED = "asked"  # submitted, or requested by the operator of this registry
    POLICY = "policy"  # `policy.next_visit`: the outcome, how often in a row, what the host asked for
    SECOND_LOOK = "second_look"  # a document once found was missing: a second look decides
    UNFINISHED = "unfinished"  # the last visit had no budget for all requests
    OPTED_OUT = "opted_out"  # never: the site asked to be left alone
    BLOCKED = "blocked"  # never: an operator of this registry blocked it


_TEXTS: Final[Mapping[DueReason, str]] = {
    DueReason.NEW: "known, and not visited yet: it is queued",
    DueReason.ASKED: "a visit was requested",
    DueReason.SECOND_LOOK: "a document found before was missing: a second visit decides whether it is gone",
    DueReason.UNFINISHED: "the last visit had no budget left for all its requests",
    DueReason.OPTED_OUT: "never: the site opted out",
    DueReason.BLOCKED: "never: an operator of this registry blocked it",
}


def sentence(
    due_reason: DueReason, outcome: Outcome | None, reason: str, streak: int, interval: timedelta | None
) -> str:
    """Return one sentence. `interval`: the wait of the policy; `streak`: visits in a row that ended like the last."""
    if due_reason is not DueReason.POLICY or outcome is None:
        return _TEXTS.get(due_reason, _TEXTS[DueReason.NEW])
    ending = outcome.value.replace("_", " ") + (f" ({reason})" if reason else "")
    if interval is None:
        return f"never by itself: the last visit ended with {ending}"
    times = "" if streak <= 1 else f", {streak} times in a row"
    return f"{in_words(interval)} after a visit that ended with {ending}{times}"


def shown_time(at: datetime | None, now: datetime) -> datetime | None:
    """Return the time as readers see it, never in the past: an overdue visit is shown at the next full minute, so that
    two answers within a minute are the same."""
    if at is None or at > now:
        return at
    return now.replace(second=0, microsecond=0) + timedelta(minutes=1)


def in_words(wait: timedelta) -> str:
    """Return a duration in words, in its two largest units."""
    minutes = max(1, round(wait.total_seconds() / 60))
    days, remainder = divmod(minutes, 1_440)
    hours, minutes = divmod(remainder, 60)
    units = ((days, "d"), (hours, "h"), (0 if days else minutes, "min"))
    return " ".join(f"{number} {unit}" for number, unit in units if number)
