"""The use cases: each is a method of a class that holds the store, the clock and what else it needs."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
"""Returns the current time in UTC. `registry.wiring` passes it in, so that tests choose the time."""
