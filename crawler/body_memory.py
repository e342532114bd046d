"""The memory budget for the bodies of all visits, so that large answers cannot exhaust the memory.

Each visit may hold a small uncounted amount; typical visits rarely need more. Beyond it, memory is reserved from one
budget of the process while a body is read and until the visit is recorded. If the budget is exhausted, the visit ends
as SKIPPED and is repeated within the day. A visit never waits for memory, because a slow host with a reservation could
then block all others.
"""

from typing import Final

FREE_PER_VISIT: Final = 64 * 1024
"""Bytes that each visit may hold without a reservation."""

MIN_BUDGET: Final = 8 * 1024 * 1024
"""Minimum budget of the process, in bytes. Parsing a body takes several times its size in addition."""

BUDGET_PER_VISIT: Final = 8 * 1024
"""Bytes per concurrent visit, if their sum exceeds the minimum: few of thousands of visits hold large bodies."""

LARGEST_BODY: Final = 4 * 1024 * 1024
"""Bytes of the largest body that a visit requests. Limits grow when larger files are read (sitemaps)."""


class NoBodyMemory(Exception):
    """The bodies of other visits use up the budget."""


class BodyMemoryBudget:
    """The bytes left for large bodies. Each visit has a reservation of it."""

    def __init__(self, max_visits: int) -> None:
        """Start with an unused budget. `max_visits`: maximum number of concurrent visits."""
        self.left = max(MIN_BUDGET, max_visits * BUDGET_PER_VISIT)
        self.largest = LARGEST_BODY

    def expect(self, cap: int) -> None:
        """Extend the budget before a body of up to `cap` bytes, larger than any before, is read."""
        if cap > self.largest:
            self.left += cap - self.largest
            self.largest = cap

    def reservation(self) -> "BodyMemoryReservation":
        """Return an empty reservation for one visit."""
        return BodyMemoryReservation(self)


class BodyMemoryReservation:
    """The memory reserved by one visit: for the bodies it keeps, and for the one it is reading."""

    def __init__(self, budget: BodyMemoryBudget) -> None:
        self._budget = budget
        self._kept = self._reserved = 0

    def grow_to(self, size: int) -> None:
        """Reserve memory for `size` bytes of the current body. Raise NoBodyMemory."""
        needed = max(0, self._kept + size - FREE_PER_VISIT)
        if needed - self._reserved > self._budget.left:  # guard: body-memory
            raise NoBodyMemory
        self._budget.left += self._reserved - needed
        self._reserved = needed

    def keep(self, size: int) -> None:
        """Set the bytes of all bodies that the visit keeps. Never refused: they are in memory already."""
        self._kept = size
        self._budget.left += self._reserved
        self._reserved = max(0, size - FREE_PER_VISIT)
        self._budget.left -= self._reserved

    def discard(self) -> None:
        """Release the reservation of the current body, because reading it failed."""
        self.keep(self._kept)
