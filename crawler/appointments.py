"""Whoever finds too many waiting for an address comes back at a time when it may be free, and leaves the flight.

Thousands of sites may share one address that admits two at once. Waiting there they would fill the flight, and no
other site would be visited. So when half of the flight waits, or a wait would outlast the lease, few more may; the
others are given back with an appointment, each later than the last.
"""

import math
import time
from datetime import timedelta
from typing import Final

QUEUE: Final = 3
"""Visits at a place, those that wait included, are at most so many times what it admits at once."""

SOONEST: Final = 300.0
LATEST: Final = 86_400.0
"""Seconds from now. Appointments are rounded up to a multiple of SOONEST: those alike are given back together."""

REMEMBERED: Final = 10_000
"""Places, before those whose appointments are past are forgotten."""


class Crowded(Exception):
    """Too many wait for this place; nothing is wrong with the host. `later`: when to try again."""

    def __init__(self, later: timedelta) -> None:
        super().__init__(later)
        self.later = later


class Appointments:
    """The next free time at each crowded place, as far as this process knows."""

    def __init__(self, turn: float) -> None:
        """`turn`: seconds for which a visit stays at its place, about."""
        self._turn = turn
        self._taken: dict[str, float] = {}

    def next(self, place: str, at_once: int) -> timedelta:
        """How long to stay away from a place that admits so many `at_once`; its appointments begin in five minutes."""
        now = time.monotonic()
        if len(self._taken) >= REMEMBERED:
            self._taken = {place: until for place, until in self._taken.items() if until > now}
        turn = max(now + SOONEST, self._taken.get(place, 0.0)) + self._turn / at_once
        self._taken[place] = min(turn, now + LATEST)
        away = round(self._taken[place] - now, 3)  # the sum of two clock readings is not exact: 86400.00000000001
        return timedelta(seconds=math.ceil(away / SOONEST) * SOONEST)
