"""A crawl changes how its process is scheduled and collected, and puts both back."""

import asyncio
import gc
import os
import sys
import threading

import pytest

from crawler.batch import as_batch_job


async def test_the_collector_is_as_it_was_afterwards() -> None:
    before = gc.get_threshold()
    async with as_batch_job():
        assert gc.get_threshold() > before
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such policy")
async def test_threads_that_start_meanwhile_are_scheduled_as_a_batch_job() -> None:
    found: list[int] = []
    before = os.sched_getscheduler(0)
    if before != os.SCHED_OTHER:
        pytest.skip("these tests were started with a scheduling policy of somebody's own")
    async with as_batch_job():
        thread = threading.Thread(target=lambda: found.append(os.sched_getscheduler(0)))
        thread.start()
        thread.join()
    assert found == [os.SCHED_BATCH]
    assert os.sched_getscheduler(0) == before


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such policy")
def test_a_policy_that_somebody_chose_stays() -> None:
    """In a thread of its own: an ordinary user does not come back from this policy."""
    found: list[int] = []

    async def look() -> None:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        async with as_batch_job():
            found.append(os.sched_getscheduler(0))
        found.append(os.sched_getscheduler(0))

    thread = threading.Thread(target=lambda: asyncio.run(look()))
    thread.start()
    thread.join()
    assert found == [os.SCHED_IDLE, os.SCHED_IDLE]
