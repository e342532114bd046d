"""Why the next visit of a host is when it is: the kind of reason, stored with the time, and its sentence.

The time is decided once, when a visit is recorded (`policy.next_visit`, and what may bring it forward). Readers see
what was decided then; it is not computed again by newer rules.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from registry.core.model.documents import Outcome


class DueReason(StrEnum):
    """What set the time of the next visit."""

    NEW = "new"  # known, not visited yet
    ASKED = "asked"  # submitted, or requested by the operator of this registry
    POLICY = "policy"  # `policy.next_visit`: the outcome, how often in a row, what the host asked for
    SECOND_LOOK = "second_look"  # a document once found was missing: a second look decides
    UNFINISHED = "unfinished"  # the last visit had no budget for all requests
    OPTED_OUT = "opted_out"  # never: the site asked to be left alone
    BLOCKED = "blocked"  # never: an operator of this registry blocked it


_TEXTS: Final[Mapping[DueReason, str]] = MappingProxyType(
    {
        DueReason.NEW: "known, and not visited yet: it is queued",
        DueReason.ASKED: "a visit was requested",
        DueReason.SECOND_LOOK: "a document found before was missing: a second visit decides whether it is gone",
        DueReason.UNFINISHED: "the last visit had no budget left for all its requests",
        DueReason.OPTED_OUT: "never: the site opted out",
        DueReason.BLOCKED: "never: an operator of this registry blocked it",
    }
)


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
    two answers within a minute are the same.
    """
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
