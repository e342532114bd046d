"""Work that goes on beside a block of code."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any


@contextlib.asynccontextmanager
async def running_beside(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run the coroutines as tasks while the block runs; at its end cancel them and wait until they have ended.

    What they raise is dropped: each of them handles and logs its own failures.
    """
    tasks = [asyncio.create_task(coroutine) for coroutine in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
