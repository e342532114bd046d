"""When a recurring job is due: a pure policy over its interval, how its last runs ended, and now.

One run makes up for all missed ones: the next is due an interval after the start of the last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

RETRY_FIRST: Final = timedelta(minutes=1)
RETRY_MOST: Final = timedelta(hours=6)


class RunOutcome(StrEnum):
    """How a run ended. STOPPED: the schedule was stopped. LOST: its process or its database session died."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


BROKEN: Final = frozenset({RunOutcome.FAILED, RunOutcome.LOST})


@dataclass(frozen=True, slots=True)
class JobRun:
    """A run as it is stored. `finished_at` is None while it runs."""

    started_at: datetime
    finished_at: datetime | None
    outcome: RunOutcome


def next_run(interval: timedelta, runs: Sequence[JobRun], now: datetime) -> datetime | None:
    """Return when a job should run next; `now` or earlier: it is due. None: never by itself (an interval of zero).

    `runs`: its latest runs, the newest first. The more broken runs in a row, the later the next try. A run marked as
    running is due at once, so that the caller checks whether it still runs.
    """
    if interval <= timedelta():
        return None
    if not runs or runs[0].outcome in (RunOutcome.RUNNING, RunOutcome.STOPPED):
        return now
    newest = runs[0]
    regular_time = newest.started_at + interval
    if newest.outcome not in BROKEN:
        return min(regular_time, now + interval)  # a clock that was ahead must not silence a job
    ended_at = newest.finished_at or newest.started_at
    return min(
        ended_at + back_off(consecutive_failures(runs)), max(regular_time, ended_at + RETRY_FIRST), now + RETRY_MOST
    )


def consecutive_failures(runs: Sequence[JobRun]) -> int:
    """Return how many of the newest runs in a row were broken."""
    return next((count for count, run in enumerate(runs) if run.outcome not in BROKEN), len(runs))


def back_off(failures: int) -> timedelta:
    """Return the wait after this many failures in a row (1 or more): doubled each time, up to RETRY_MOST."""
    return min(RETRY_FIRST * (1 << min(max(failures - 1, 0), 16)), RETRY_MOST)
