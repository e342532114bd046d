"""The time limits of one visit: for its host, and until its lease expires."""

from dataclasses import dataclass


@dataclass(slots=True)
class VisitDeadlines:
    """`host_seconds`: seconds left for requests and look-ups; pauses do not count. `ends_at`: when the visit must end,
    on the monotonic clock."""

    host_seconds: float
    ends_at: float
