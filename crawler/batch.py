"""How a crawl behaves as a process: a batch job with thousands of visits under way, where nobody waits for a reply."""

import contextlib
import gc
import os
from collections.abc import AsyncIterator


@contextlib.asynccontextmanager
async def as_batch_job() -> AsyncIterator[None]:
    """While the block runs. To be entered before the first client is built, whose thread is scheduled as this one is.

    A thread that wakes up then does not push aside the one that woke it (sched(7), SCHED_BATCH): the transport's
    thread gets requests by the dozen instead of one by one, a third of all changes of threads and a tenth of the CPU.

    Garbage is looked for rarely: what visits hold lives for half a minute, and next to nothing of it is in circles.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    policy = _set_policy(os.SCHED_BATCH) if hasattr(os, "SCHED_BATCH") else None
    try:
        yield
    finally:
        if policy is not None:
            _set_policy(policy)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def _set_policy(policy: int) -> int | None:
    """Of this thread; gives the one before. None where it stays as it was: somebody chose it, or may not change it."""
    before = os.sched_getscheduler(0)
    if {before, policy} != {os.SCHED_OTHER, os.SCHED_BATCH}:
        return None
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, policy, os.sched_param(0))
        return before
    return None
