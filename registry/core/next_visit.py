"""Why the next visit of a host is when it is: the kind of reason, stored with the moment, and its sentence.

The moment is decided once, when a visit is recorded (`revisit.next_visit`, and what may bring it forward); a reader is
told what was decided then and never a second computation by today's rules.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from registry.core.documents import Outcome


class Why(StrEnum):
    """What set the moment of the next visit."""

    NEW = "new"  # named by somebody, not visited yet
    ASKED = "asked"  # submitted, or asked for by the operator of this registry
    POLICY = "policy"  # `revisit.next_visit`: the outcome, how often in a row, what the host asked for
    SECOND_LOOK = "second_look"  # something once found was missed: a second look decides (probe-plan.md section 7)
    UNFINISHED = "unfinished"  # the last visit had no budget for all of it
    OPTED_OUT = "opted_out"  # never: the site asked to be left alone


_SAYS: Final[Mapping[Why, str]] = MappingProxyType(
    {
        Why.NEW: "named, and not visited yet: it is visited when its turn comes",
        Why.ASKED: "somebody asked for a visit",
        Why.SECOND_LOOK: "something that was found before was missed: a second look decides whether it is gone",
        Why.UNFINISHED: "the last visit had no budget left for everything it should have asked for",
        Why.OPTED_OUT: "never: the site asked to be left alone",
    }
)


def because(why: Why, outcome: Outcome | None, reason: str, streak: int, interval: timedelta | None) -> str:
    """One sentence. `interval`: the wait that the policy chose; `streak`: visits in a row that ended like the last."""
    if why is not Why.POLICY or outcome is None:
        return _SAYS.get(why, _SAYS[Why.NEW])
    ended = outcome.value.replace("_", " ") + (f" ({reason})" if reason else "")
    if interval is None:
        return f"never by itself: the last visit ended with {ended}"
    times = "" if streak <= 1 else f", {streak} times in a row"
    return f"{in_words(interval)} after a visit that ended with {ended}{times}"


def upcoming(at: datetime | None, now: datetime) -> datetime | None:
    """The moment as readers are told it: never in the past. What is overdue comes with the next full minute, so that
    two answers within a minute are the same.
    """
    if at is None or at > now:
        return at
    return now.replace(second=0, microsecond=0) + timedelta(minutes=1)


def in_words(wait: timedelta) -> str:
    """A length of time as people say it, in the two largest units that matter."""
    minutes = max(1, round(wait.total_seconds() / 60))
    days, rest = divmod(minutes, 1_440)
    hours, minutes = divmod(rest, 60)
    units = ((days, "d"), (hours, "h"), (0 if days else minutes, "min"))
    return " ".join(f"{number} {unit}" for number, unit in units if number)
