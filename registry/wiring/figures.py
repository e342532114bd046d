"""Counts over the whole registry. They read whole tables, so each is computed at most once in KEPT_SECONDS."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, Generic, TypeVar

from registry.actions.queries import statistics as counting
from registry.settings import Settings
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now

KEPT_SECONDS: Final = 60.0

T = TypeVar("T")


class CachedFigure(Generic[T]):
    """A result that is computed on request, shared by concurrent callers, and kept for KEPT_SECONDS."""

    def __init__(self, compute: Callable[[], Awaitable[T]]) -> None:
        self._compute = compute
        self._lock = asyncio.Lock()
        self._value: T | None = None
        self._until = 0.0

    async def get(self) -> T:
        """Return the result. Raise what computing it raises; then no result is kept."""
        async with self._lock:
            if self._value is None or time.monotonic() >= self._until:  # guard: figures-kept
                self._value = await self._compute()
                self._until = time.monotonic() + KEPT_SECONDS
            return self._value


class FigureActions:
    """`target` returns the name of the search target; it opens the search engine."""

    def __init__(self, store: Store, settings: Settings, target: Callable[[], str]) -> None:
        async def count_operation() -> counting.OperationFigures:
            from registry.wiring.schedule import JOBS  # which imports this package

            intervals = {job.name: timedelta(seconds=job.interval(settings)) for job in JOBS}
            return await counting.operation(store, target(), intervals, now=utc_now())

        self._statistics = CachedFigure(lambda: counting.statistics(store, now=utc_now()))
        self._operation = CachedFigure(count_operation)

    async def statistics(self) -> counting.RegistryStatistics:
        """Return counts of what is listed. Raise StoreUnavailable."""
        return await self._statistics.get()

    async def operation(self) -> counting.OperationFigures:
        """Return how the registry is doing. Raise one of NOT_READY."""
        return await self._operation.get()
