"""Errors of the driver become those of the store."""

import asyncio
from collections.abc import Awaitable, Callable

import psycopg
import pytest

from registry.store.engine import StoreUnavailable, translated
from registry.store.lane import QueryPool


async def fail_when_cancelled() -> None:
    """As a query does whose connection ends while it is being cancelled."""
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        raise psycopg.OperationalError("the connection is lost") from None


async def in_a_transaction() -> None:
    with translated():
        await fail_when_cancelled()


async def by_the_pool() -> None:
    class Failing(QueryPool):
        async def _run(self, *_: object) -> list[tuple[object, ...]]:
            await fail_when_cancelled()
            return []

    pool = Failing("")
    pool._idle = [None, None]  # type: ignore[list-item]  # only counted: `_run` does not use them
    await pool.rows("SELECT 1", {})


@pytest.mark.parametrize("work", [in_a_transaction, by_the_pool])
async def test_a_cancelled_query_is_no_database_that_is_away(work: Callable[[], Awaitable[None]]) -> None:
    async def goes_on() -> str:
        try:
            await work()
        except StoreUnavailable:
            return "it tries again, though it was cancelled"
        return "it goes on"

    task = asyncio.create_task(goes_on())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_server_is_a_database_that_is_away() -> None:
    with pytest.raises(StoreUnavailable, match="OperationalError: the server is gone"), translated():
        raise psycopg.OperationalError("the server is gone")
