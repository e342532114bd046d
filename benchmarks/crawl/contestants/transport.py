"""Only waypost's transport with its guards: the same requests through `FetchSession.fetch`, no plan, nothing stored.

Hosts are started in batches of a hundred, in a process set up like the crawl's. Every guard is on: resolving, the
address policy, pinning, limits per address, caps, deadlines.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import uvloop

from benchmarks.crawl.contestants.common import Meter, Result, Task, run
from crawler.lease_holder import as_batch_job
from crawler.visit import Visitor
from registry.core.model.documents import Outcome
from registry.core.visiting.probes import pointer_probe
from registry.settings import Settings


async def crawl(task: Task) -> Result:
    result, running = Result(len(task.hosts)), set[asyncio.Task[None]]()
    settings = Settings(
        request_delay=task.delay, connect_timeout=task.connect_timeout, request_timeout=task.timeout,
        host_deadline=task.host_deadline,
        hosts_in_flight=task.in_flight,
    )  # fmt: skip
    batch_size = min(settings.lease_batch, task.in_flight)
    meter = Meter(task)
    async with as_batch_job(), Visitor(settings) as visitor:
        for first in range(0, len(task.hosts), batch_size):
            while len(running) + batch_size > task.in_flight:
                _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            batch = task.hosts[first : first + batch_size]
            running |= {asyncio.create_task(_visit(visitor, host, task.paths, result)) for host in batch}
        await asyncio.gather(*running)
    return meter.stop(result)


async def _visit(visitor: Visitor, host: str, paths: Sequence[str], result: Result) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)
    async with visitor.session(until) as session:
        for path in paths:
            fetched = await session.fetch(pointer_probe(f"https://{host}{path}", None, None))
            result.answers += fetched.status is not None
            result.hits += fetched.status == 200 and fetched.headers.get("content-type") == "application/json"
            if fetched.failure in (Outcome.UNREACHABLE, Outcome.TLS_ERROR):
                return  # an unreachable host is not retried for every path


def contest(task: Task) -> Result:
    return uvloop.run(crawl(task))


if __name__ == "__main__":
    run(contest)
