"""A crawl changes the scheduling policy and the garbage collection of its process, and restores both."""

import asyncio
import contextlib
import gc
import os
import sys
import threading

import pytest

from crawler.lease_holder import as_batch_job


async def test_the_garbage_collector_is_restored_afterwards() -> None:
    before = gc.get_threshold()
    async with as_batch_job():
        assert gc.get_threshold() > before
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def is_allowed(policy: str) -> bool:
    """Return whether this system knows and allows the policy. Try it in a thread, which keeps it."""

    def try_policy() -> None:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, getattr(os, policy), os.sched_param(0))
            allowed_policies.append(policy)

    allowed_policies: list[str] = []
    thread = threading.Thread(target=try_policy)
    thread.start()
    thread.join()
    return bool(allowed_policies)


@pytest.mark.skipif(sys.platform != "linux" or not is_allowed("SCHED_BATCH"), reason="no such policy here")
async def test_threads_that_start_meanwhile_are_scheduled_as_a_batch_job() -> None:
    policies: list[int] = []
    before = os.sched_getscheduler(0)
    if before != os.SCHED_OTHER:
        pytest.skip("these tests were started with a scheduling policy of somebody's own")
    async with as_batch_job():
        thread = threading.Thread(target=lambda: policies.append(os.sched_getscheduler(0)))
        thread.start()
        thread.join()
    assert policies == [os.SCHED_BATCH]
    assert os.sched_getscheduler(0) == before


@pytest.mark.skipif(sys.platform != "linux" or not is_allowed("SCHED_IDLE"), reason="no such policy here")
def test_a_scheduling_policy_set_before_is_kept() -> None:
    """Run in a separate thread, because an unprivileged thread cannot leave this policy."""
    policies: list[int] = []

    async def record_policies() -> None:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        async with as_batch_job():
            policies.append(os.sched_getscheduler(0))
        policies.append(os.sched_getscheduler(0))

    thread = threading.Thread(target=lambda: asyncio.run(record_policies()))
    thread.start()
    thread.join()
    assert policies == [os.SCHED_IDLE, os.SCHED_IDLE]
