"""Background tasks for the duration of a block of code."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any


@contextlib.asynccontextmanager
async def running_beside(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run the coroutines as tasks while the block runs; at its end cancel them and wait until they have ended.

    Their exceptions are dropped: each of them handles and logs its failures.
    """
    tasks = [asyncio.create_task(coroutine) for coroutine in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
