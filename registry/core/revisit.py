"""When to come back: a pure policy over outcomes (probe-plan.md section 7). `actions.due` only selects.

Found things are looked at as often as they change; absence is asked for ever more seldom; refusals back off; a failing
host gets quick second chances and then patience. Every interval is spread a little, so that hosts seeded together do
not come back together.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from registry.core.documents import Outcome

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
SPREAD: Final = 0.1
"""An interval is lengthened by up to a tenth, never shortened: a host's own wish for patience stays granted."""

_FIRST_FOUND: Final = DAY
_MOST_FOUND: Final = 7 * DAY


@dataclass(frozen=True, slots=True)
class History:
    """What the visits up to the one just finished say. `streak` counts visits in a row with this outcome, it included.

    `interval`: between the last two visits, None after the first. `has_changed`: this visit brought something new.
    `max_age`: how long the host allows caches to keep its documents. `retry_after`: what it asked for, capped.
    """

    host: str
    streak: int = 1
    interval: timedelta | None = None
    has_changed: bool = True
    max_age: timedelta | None = None
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class _Steps:
    """Intervals by streak; after the last one it is doubled each time up to `most`, or kept where `most` is None."""

    steps: tuple[timedelta, ...]
    most: timedelta | None = None

    def after(self, streak: int) -> timedelta:
        if streak <= len(self.steps) or self.most is None:
            return self.steps[min(streak, len(self.steps)) - 1]
        doublings = min(streak - len(self.steps), 16)
        return min(self.steps[-1] * (1 << doublings), self.most)


_POLICY: Final[dict[Outcome, _Steps]] = {
    Outcome.NEGATIVE: _Steps((30 * DAY,)),
    Outcome.NOT_A_MANIFEST: _Steps((14 * DAY,), 90 * DAY),
    Outcome.MALFORMED: _Steps((3 * DAY,)),
    Outcome.ABSENT: _Steps((14 * DAY,), 90 * DAY),
    Outcome.GONE: _Steps((90 * DAY,)),
    Outcome.REDIRECTED_AWAY: _Steps((30 * DAY,)),
    Outcome.REFUSED: _Steps((7 * DAY,), 90 * DAY),
    Outcome.SERVER_ERROR: _Steps((HOUR, 6 * HOUR, DAY)),
    Outcome.UNREACHABLE: _Steps((DAY,), 90 * DAY),
    Outcome.TLS_ERROR: _Steps((DAY,), 90 * DAY),
    Outcome.TOO_LARGE: _Steps((7 * DAY,)),
    Outcome.UNSUPPORTED_ENCODING: _Steps((7 * DAY,)),
    Outcome.DISALLOWED: _Steps((DAY,)),
    Outcome.SKIPPED: _Steps((DAY,)),
}


def next_visit(outcome: Outcome, history: History, now: datetime) -> datetime | None:
    """When the host is due again after a visit that ended at `now` with `outcome`; None = never by itself."""
    if outcome is Outcome.REFUSED_ADDRESS:
        return None
    wait = _wait(outcome, history)
    if history.retry_after is not None:
        wait = max(wait, min(history.retry_after, DAY))
    return now + wait * (1 + SPREAD * _fraction(history.host, now))


def _wait(outcome: Outcome, history: History) -> timedelta:
    if outcome is Outcome.FOUND:
        return _found(history)
    if outcome is Outcome.RATE_LIMITED:
        return HOUR
    return _POLICY[outcome].after(history.streak)


def _found(history: History) -> timedelta:
    """Halved by a change, doubled by none; a day at first, whatever was before it was found."""
    least = min(max(HOUR, history.max_age or HOUR), _MOST_FOUND)
    if history.streak <= 1 or history.interval is None:
        wait = _FIRST_FOUND
    else:
        wait = history.interval / 2 if history.has_changed else history.interval * 2
    return max(least, min(wait, _MOST_FOUND))


def _fraction(host: str, now: datetime) -> float:
    """Between 0 and 1, different for every host and visit, the same whenever it is computed."""
    digest = hashlib.sha256(f"{host} {now.isoformat()}".encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32
