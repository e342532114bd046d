"""A crawl changes how its process is scheduled and collected, and puts both back."""

import asyncio
import contextlib
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


def is_allowed(policy: str) -> bool:
    """Other systems have no such policy, and some sandboxes refuse it. Tried in a thread, to which it is left."""

    def take() -> None:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, getattr(os, policy), os.sched_param(0))
            taken.append(policy)

    taken: list[str] = []
    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return bool(taken)


@pytest.mark.skipif(sys.platform != "linux" or not is_allowed("SCHED_BATCH"), reason="no such policy here")
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


@pytest.mark.skipif(sys.platform != "linux" or not is_allowed("SCHED_IDLE"), reason="no such policy here")
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
