"""Deferral of visits whose address is too busy: the domain is released and gets a time for the next attempt.

Thousands of sites may share one address that allows two connections. Waiting for it, they could occupy all concurrent
visits and block all other sites. So while half of the concurrent visits wait, only a short queue is allowed per
address, and a queue never outlasts the lease. Other visits are deferred, each later than the previous one.
"""

import math
import time
from datetime import timedelta
from typing import Final

QUEUE_FACTOR: Final = 3
"""Visits at an address, including waiting ones, are at most this many times the connections that it allows."""

MIN_DELAY: Final = 300.0
MAX_DELAY: Final = 86_400.0
"""Seconds. Delays are rounded up to a multiple of MIN_DELAY, so that equal ones are released together."""

MAX_TRACKED: Final = 10_000
"""Number of addresses above which those with only past deferrals are deleted."""


class AddressBusy(Exception):
    """Too many visits wait for this address; the host itself is not at fault. `retry_after`: delay until a retry."""

    def __init__(self, retry_after: timedelta) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


class Deferrals:
    """The next free time at each busy address, as far as this process knows."""

    def __init__(self, visit_seconds: float) -> None:
        """Start with no deferrals. `visit_seconds`: approximate time that a visit occupies its address."""
        self._visit_seconds = visit_seconds
        self._free_at: dict[str, float] = {}

    def defer(self, key: str, connections: int) -> timedelta:
        """Return the delay until the next attempt at an address (its limiter key) that allows `connections`."""
        now = time.monotonic()
        if len(self._free_at) >= MAX_TRACKED:
            self._free_at = {key: free_at for key, free_at in self._free_at.items() if free_at > now}
        free_at = max(now + MIN_DELAY, self._free_at.get(key, 0.0)) + self._visit_seconds / connections
        self._free_at[key] = min(free_at, now + MAX_DELAY)
        delay = round(self._free_at[key] - now, 3)  # the sum of two clock readings is not exact: 86400.00000000001
        return timedelta(seconds=math.ceil(delay / MIN_DELAY) * MIN_DELAY)
