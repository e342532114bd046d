"""Whether a host was up, by its visits: as single checks, and as a series of days."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import Final, Literal, NamedTuple

from registry.core.model.documents import Outcome

Status = Literal["up", "degraded", "down"]

SLOW_MS: Final = 5_000
"""A host whose check took longer counts as degraded, as in the ADP registry. Milliseconds."""

DOWN: Final = frozenset({Outcome.UNREACHABLE, Outcome.SERVER_ERROR, Outcome.TLS_ERROR})
NOT_MEASURED: Final = frozenset({Outcome.DISALLOWED, Outcome.REFUSED_ADDRESS, Outcome.SKIPPED, Outcome.RATE_LIMITED})
"""Outcomes that say nothing about the service: nothing was requested, or the host asked for a later visit."""


class Check(NamedTuple):
    """One visit that measured something. `ms`: the median of its answers; None: there was no answer."""

    at: datetime
    status: Status
    ms: int | None


@dataclass(frozen=True, slots=True)
class Day:
    """The checks of one day in UTC. `ms`: the median of their response times in milliseconds."""

    day: date
    up: int = 0
    degraded: int = 0
    down: int = 0
    ms: int | None = None

    @property
    def checks(self) -> int:
        return self.up + self.degraded + self.down


def status_of(outcome: Outcome, ms: int | None) -> Status | None:
    """Return what a visit says of the service; None when it measured nothing."""
    if outcome in NOT_MEASURED:  # guard: uptime-unmeasured
        return None
    if outcome in DOWN:
        return "down"
    return "up" if outcome is Outcome.FOUND and (ms is None or ms <= SLOW_MS) else "degraded"


def percentage(checks: int, down: int) -> float | None:
    """Return the percentage of checks that were not down; None when there was no check: absence is no uptime."""
    return None if checks == 0 else round(100 * (checks - down) / checks, 2)


def first_day(today: date, days: int) -> date:
    return today - timedelta(days=max(1, days) - 1)


def series(checks: Iterable[Check], today: date, days: int) -> list[Day]:
    """Return each of the last `days` days, today included and the earliest first; days without a check have none."""
    by_day: dict[date, list[Check]] = {}
    for check in checks:
        by_day.setdefault(check.at.astimezone(UTC).date(), []).append(check)
    first = first_day(today, days)
    return [
        _day(day, by_day.get(day, [])) for day in (first + timedelta(days=number) for number in range(max(1, days)))
    ]


def _day(day: date, checks: list[Check]) -> Day:
    states = [check.status for check in checks]
    times = [check.ms for check in checks if check.ms is not None]
    return Day(
        day, states.count("up"), states.count("degraded"), states.count("down"), round(median(times)) if times else None
    )
