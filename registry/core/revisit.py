"""When a host is visited again: a pure policy over its last outcome and its history (probe-plan.md section 7).

The wait is spread by up to a tenth either way, always the same for the same host and streak, so that hosts seeded
together do not stay together. Second looks and unfinished business come sooner; whoever records a visit adds those.
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


@dataclass(frozen=True, slots=True)
class History:
    """What the policy needs to know beside the outcome.

    `streak`: visits in a row with this outcome, this one included. `interval`: the wait that ended with this visit,
    None at the first. `has_changed`: a document came, went or reads differently. `max_age`: how long the host lets
    its documents be kept. `retry_after`: what it asked for with a 429 or 503.
    """

    host: str
    streak: int = 1
    interval: timedelta | None = None
    has_changed: bool = False
    max_age: timedelta | None = None
    retry_after: timedelta | None = None


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
        Outcome.MALFORMED: Wait(3 * _DAY, 3 * _DAY),
        Outcome.ABSENT: Wait(14 * _DAY, 90 * _DAY),
        Outcome.GONE: Wait(90 * _DAY, 90 * _DAY),
        Outcome.REDIRECTED_AWAY: Wait(30 * _DAY, 30 * _DAY),
        Outcome.REFUSED: Wait(7 * _DAY, 90 * _DAY),
        Outcome.RATE_LIMITED: Wait(_HOUR, _DAY),
        Outcome.UNREACHABLE: Wait(_DAY, 90 * _DAY),
        Outcome.TLS_ERROR: Wait(_DAY, 90 * _DAY),
        Outcome.TOO_LARGE: Wait(7 * _DAY, 7 * _DAY),
        Outcome.UNSUPPORTED_ENCODING: Wait(7 * _DAY, 7 * _DAY),
        Outcome.DISALLOWED: Wait(_DAY, _DAY),
        Outcome.SKIPPED: Wait(_HOUR, _DAY),
    }
)
_SERVER_ERRORS: Final = (_HOUR, 6 * _HOUR, _DAY)


def next_visit(outcome: Outcome, history: History, now: datetime) -> datetime | None:
    """The moment of the next visit; None: never by itself, only when somebody asks (REFUSED_ADDRESS)."""
    if outcome is Outcome.REFUSED_ADDRESS:
        return None
    if outcome is Outcome.FOUND:
        return now + _found(history)
    if outcome is Outcome.SERVER_ERROR:
        wait = _SERVER_ERRORS[min(max(history.streak, 1), len(_SERVER_ERRORS)) - 1]
    else:
        wait = WAITS[outcome].after(history.streak)
    asked = min(history.retry_after or timedelta(), _DAY)
    return now + max(_spread(wait, history), asked, _HOUR)


def _found(history: History) -> timedelta:
    """Halved when something changed, doubled when not: a host is read about as often as it changes."""
    wait = FOUND_FIRST
    if history.interval is not None and history.streak > 1:
        wait = history.interval / 2 if history.has_changed else history.interval * 2
    least = max(FOUND_LEAST, min(history.max_age or FOUND_LEAST, FOUND_MOST))
    return min(max(_spread(wait, history), least), FOUND_MOST)


def _spread(wait: timedelta, history: History) -> timedelta:
    digest = hashlib.sha256(f"{history.host} {history.streak}".encode()).digest()
    share = int.from_bytes(digest[:4], "big") / 0xFFFFFFFF  # 0 to 1
    return wait * (1 + SPREAD * (2 * share - 1))
