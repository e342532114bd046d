"""Evidence about a host: its uptime by checks and days, changes of its documents, and whether copies may be shown.

A site forbids copies with `X-Robots-Tag` of the document (`noarchive`, `none`) or with `policies.caching` in its
documents (ATP 0.1 section 3.8). Its wishes about training are passed on with the bytes, not judged here.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import Final, Literal, NamedTuple

from registry.core.changes.versions import Difference, difference
from registry.core.model.documents import Outcome
from registry.core.reading.reader import Unreadable, read_json

Status = Literal["up", "degraded", "down"]

SLOW_MS: Final = 5_000  # a host whose check took longer counts as degraded, as in the ADP registry. Milliseconds.
DOWN: Final = frozenset({Outcome.UNREACHABLE, Outcome.SERVER_ERROR, Outcome.TLS_ERROR})
NOT_MEASURED: Final = frozenset(
    {Outcome.DISALLOWED, Outcome.REFUSED_ADDRESS, Outcome.SKIPPED, Outcome.RATE_LIMITED, Outcome.REFUSED_BY_FIREWALL}
)
"""Outcomes without evidence about the service: no request was made, the host asked for a later visit, or its firewall
answered."""


class UptimeCheck(NamedTuple):
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
    """Return the service's status by a visit, or None if the visit measured nothing."""
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


def series(checks: Iterable[UptimeCheck], today: date, days: int) -> list[Day]:
    """Return each of the last `days` days, today included and the earliest first; days without a check have none."""
    by_day: dict[date, list[UptimeCheck]] = {}
    for check in checks:
        by_day.setdefault(check.at.astimezone(UTC).date(), []).append(check)
    first, result = first_day(today, days), []
    for number in range(max(1, days)):
        day = first + timedelta(days=number)
        checks_of_day = by_day.get(day, [])
        states = [check.status for check in checks_of_day]
        times = [check.ms for check in checks_of_day if check.ms is not None]
        ms = round(median(times)) if times else None
        result.append(Day(day, states.count("up"), states.count("degraded"), states.count("down"), ms))
    return result


What = Literal["first", "content", "outcome", "reading"]
WhyNot = Literal["first", "no_document", "same_bytes", "not_kept", "forbidden", "too_large", "not_json_objects"]

WHY_NOT: Final[Mapping[WhyNot, str]] = {
    "first": "There is no earlier version to compare with.",
    "no_document": "One of the two versions is no document: it was absent, or the host did not answer.",
    "same_bytes": "The bytes are the same; this registry reads them in another way.",
    "not_kept": "The bytes of one of the two versions are not kept any more.",
    "forbidden": "The site asks that no copies of its documents are shown.",
    "too_large": "The two versions are too large to be compared here.",
    "not_json_objects": "One of the two versions is not a JSON object.",
}
"""Code -> one sentence that says why no difference can be shown."""


def compared(before: bytes, after: bytes) -> Difference | WhyNot:
    """Return what makes `after` of `before`, or why that cannot be said."""
    try:
        old, new = read_json(before, []), read_json(after, [])
    except Unreadable:
        return "not_json_objects"
    if not isinstance(old, dict) or not isinstance(new, dict):
        return "not_json_objects"
    return difference(old, new)


_NO_COPIES: Final = frozenset({"noarchive", "none"})
_REFUSED: Final = frozenset({"forbidden", "disallowed", "prohibited", "denied", "no", "none", "no-store", "never"})
_BETWEEN: Final = re.compile(r"[\s,;:]+")


def forbids_copies(headers: Mapping[str, str], caching: str | None) -> bool:
    """Return whether the bytes of a document must not be shown. `headers`: as it was served, by lower-case name."""
    directives = _BETWEEN.split(headers.get("x-robots-tag", "").lower())
    return not _NO_COPIES.isdisjoint(directives) or (caching or "").strip().lower() in _REFUSED
