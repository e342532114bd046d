"""When a host is visited again: a pure policy over its last outcome and its history (probe-plan.md section 7).

The wait is spread by up to a tenth either way, always the same for the same host, so that hosts seeded together do not
stay together. Second looks and unfinished business come sooner (`earliest`); whoever records a visit knows of those.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from registry.core.documents import Outcome

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)

FOUND_FIRST: Final = _DAY
FOUND_LEAST: Final = _HOUR
FOUND_MOST: Final = 7 * _DAY
SPREAD: Final = 0.1
RETRY_MOST: Final = _DAY


@dataclass(frozen=True, slots=True)
class History:
    """What the policy needs to know beside the outcome.

    `streak`: visits in a row with this outcome and reason, this one included. `interval`: the wait that ended with
    this visit, None at the first. `previous`: the outcome before this one. `has_changed`: a document came, went or
    reads differently. `max_age`: how long the host lets its documents be kept. `retry_after`: what it asked for with a
    429 or 503.
    """

    host: str
    streak: int = 1
    interval: timedelta | None = None
    has_changed: bool = False
    max_age: timedelta | None = None
    retry_after: timedelta | None = None
    previous: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """`first` after the first visit of a streak, doubled by each further one up to `most`."""

    first: timedelta
    most: timedelta

    def after(self, streak: int) -> timedelta:
        return min(self.first * (1 << min(max(streak - 1, 0), 16)), self.most)


WAITS: Final[Mapping[Outcome, Wait]] = MappingProxyType(
    {
        Outcome.NEGATIVE: Wait(30 * _DAY, 30 * _DAY),
        Outcome.NOT_A_MANIFEST: Wait(14 * _DAY, 90 * _DAY),
        Outcome.MALFORMED: Wait(3 * _DAY, 30 * _DAY),
        Outcome.ABSENT: Wait(14 * _DAY, 90 * _DAY),
        Outcome.GONE: Wait(90 * _DAY, 90 * _DAY),
        Outcome.REDIRECTED_AWAY: Wait(30 * _DAY, 30 * _DAY),
        Outcome.REFUSED: Wait(7 * _DAY, 90 * _DAY),
        Outcome.RATE_LIMITED: Wait(_HOUR, 7 * _DAY),
        Outcome.UNREACHABLE: Wait(_DAY, 90 * _DAY),
        Outcome.TLS_ERROR: Wait(_DAY, 90 * _DAY),
        Outcome.TOO_LARGE: Wait(7 * _DAY, 90 * _DAY),
        Outcome.UNSUPPORTED_ENCODING: Wait(7 * _DAY, 90 * _DAY),
        Outcome.DISALLOWED: Wait(_DAY, 30 * _DAY),
        Outcome.SKIPPED: Wait(_HOUR, _DAY),
    }
)
"""Nobody is asked for ever at one pace: what stays broken, too large or closed to us is looked at ever more rarely."""

UNTOUCHED_FOR: Final = timedelta(hours=6)
"""After a visit in which nothing was asked, because a budget was spent: those are per day."""

_ALIKE: Final = (
    frozenset({Outcome.ABSENT, Outcome.NOT_A_MANIFEST}),
    frozenset({Outcome.UNREACHABLE, Outcome.TLS_ERROR}),
)
"""Outcomes that mean the same to the back-off: a host that answers 404 today and its front page tomorrow has nothing,
and one that times out today and has no name tomorrow is away."""

_FIRST_ERRORS: Final = (_HOUR, 6 * _HOUR)
_LATER_ERRORS: Final = Wait(_DAY, 30 * _DAY)


def next_visit(outcome: Outcome, history: History, now: datetime) -> datetime | None:
    """The moment of the next visit; None: never by itself, only when somebody asks (REFUSED_ADDRESS)."""
    if outcome is Outcome.REFUSED_ADDRESS:
        return None
    asked = min(history.retry_after or timedelta(), RETRY_MOST)
    if outcome is Outcome.FOUND:
        return now + max(_found(history), asked)
    return now + max(_spread(backed_off(outcome, history), history), asked, _HOUR)


def untouched_until(host: str, now: datetime) -> datetime:
    """The next visit of a host that was not asked anything: it is as it was, and so is its history."""
    return now + _spread(UNTOUCHED_FOR, History(host))


def earliest(retry_after: timedelta | None, now: datetime) -> datetime:
    """Before this moment no reason is good enough: the host asked for so much time (RFC 9110 section 10.2.3)."""
    return now + min(retry_after or timedelta(), RETRY_MOST)


def backed_off(outcome: Outcome, history: History) -> timedelta:
    """The wait after anything but FOUND and REFUSED_ADDRESS, before it is spread and before what the host asked for."""
    if outcome is Outcome.SERVER_ERROR:
        later = history.streak - len(_FIRST_ERRORS)
        return _LATER_ERRORS.after(later) if later > 0 else _FIRST_ERRORS[max(history.streak, 1) - 1]
    wait = WAITS[outcome].after(history.streak)
    is_alike = any(outcome in group and history.previous in group for group in _ALIKE)
    if is_alike and history.interval is not None:
        wait = max(wait, min(2 * _unspread(history.interval, history), WAITS[outcome].most))
    return wait


def _found(history: History) -> timedelta:
    """Halved when something changed, doubled when not: a host is read about as often as it changes."""
    wait = FOUND_FIRST
    if history.interval is not None and history.streak > 1:
        last = _unspread(history.interval, history)
        wait = last / 2 if history.has_changed else last * 2
    least = max(FOUND_LEAST, min(history.max_age or FOUND_LEAST, FOUND_MOST))
    return min(max(_spread(wait, history), least), FOUND_MOST)


def _spread(wait: timedelta, history: History) -> timedelta:
    return wait * _factor(history.host)


def _unspread(interval: timedelta, history: History) -> timedelta:
    """Doubling what was spread already would carry the host's share along, again and again."""
    return interval / _factor(history.host)


def _factor(host: str) -> float:
    digest = hashlib.sha256(host.encode()).digest()
    share = int.from_bytes(digest[:4], "big") / 0xFFFFFFFF  # 0 to 1
    return 1 + SPREAD * (2 * share - 1)
