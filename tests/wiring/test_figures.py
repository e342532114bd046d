"""Counts over the registry."""

import asyncio
from datetime import timedelta

import pytest

from registry.actions.queries import statistics
from registry.actions.queries.statistics import CachedFigure


async def test_a_result_is_computed_once_for_all_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []

    async def compute() -> int:
        computed.append(len(computed))
        await asyncio.sleep(0)
        return len(computed)

    kept = CachedFigure(compute)
    assert await asyncio.gather(kept.get(), kept.get(), kept.get()) == [1, 1, 1]
    monkeypatch.setattr(statistics, "KEPT_SECONDS", -1.0)
    kept._until = 0.0
    assert [await kept.get(), await kept.get()] == [2, 3]


async def test_a_failure_is_not_kept() -> None:
    answers = iter([OSError(), timedelta(1)])

    async def compute() -> timedelta:
        if isinstance(answer := next(answers), OSError):
            raise answer
        return answer

    kept = CachedFigure(compute)
    with pytest.raises(OSError):
        await kept.get()
    assert await kept.get() == timedelta(1)
