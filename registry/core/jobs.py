"""When a recurring job is due: a pure policy over its interval, how its last runs ended, and now.

Runs that were missed while nothing ran are one run, not many: the next one counts from the start of the last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

RETRY_FIRST: Final = timedelta(minutes=1)
RETRY_MOST: Final = timedelta(hours=6)


class Outcome(StrEnum):
    """How a run ended. STOPPED: by whoever runs the schedule. LOST: its process, or its session, died."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


_BROKEN: Final = frozenset({Outcome.FAILED, Outcome.LOST})


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is kept. `finished_at` is None while it runs."""

    started_at: datetime
    finished_at: datetime | None
    outcome: Outcome


def next_run(interval: timedelta, last: Sequence[Run], now: datetime) -> datetime | None:
    """When a job should run next; `now` or earlier: it is due. None: never by itself (an interval of nothing).

    `last`: its latest runs, the newest first; the more broken ones in a row, the later the next try. A run that is
    marked as running is due at once: somebody has to see whether it still does.
    """
    if interval <= timedelta():
        return None
    if not last or last[0].outcome in (Outcome.RUNNING, Outcome.STOPPED):
        return now
    newest = last[0]
    regular = newest.started_at + interval
    if newest.outcome not in _BROKEN:
        return min(regular, now + interval)  # a clock that was ahead must not silence a job
    ended = newest.finished_at or newest.started_at
    return min(ended + back_off(broken_in_a_row(last)), max(regular, ended + RETRY_FIRST), now + RETRY_MOST)


def broken_in_a_row(last: Sequence[Run]) -> int:
    """How many of the newest runs were broken, one after another."""
    return next((place for place, run in enumerate(last) if run.outcome not in _BROKEN), len(last))


def back_off(broken: int) -> timedelta:
    """The wait after so many broken runs in a row (1 or more): a minute, then twice as long each time."""
    return min(RETRY_FIRST * (1 << min(max(broken - 1, 0), 16)), RETRY_MOST)
