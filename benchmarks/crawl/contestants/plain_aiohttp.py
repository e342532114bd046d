"""A hand-written crawler with plain aiohttp: one worker per host in flight, keep-alive, one session, verified TLS.

No guard, no caps, nothing stored; answers are read and counted. `extra: {"uvloop": true}`: the same on uvloop.
"""

import asyncio
import time
from collections.abc import Iterator

import aiohttp
import uvloop

from benchmarks.crawl.contestants.common import Meter, Result, Task, run


async def crawl(task: Task) -> Result:
    result, hosts = Result(len(task.hosts)), iter(task.hosts)
    timeout = aiohttp.ClientTimeout(total=task.timeout, sock_connect=task.connect_timeout)
    meter = Meter(task)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
        await asyncio.gather(*(_work(session, hosts, task, result) for _ in range(task.in_flight)))
    return meter.stop(result)


async def _work(session: aiohttp.ClientSession, hosts: Iterator[str], task: Task, result: Result) -> None:
    for host in hosts:
        for path in task.paths:
            started = time.monotonic()
            try:
                async with session.get(f"https://{host}{path}", allow_redirects=False) as response:
                    await response.read()
                    result.answers += 1
                    result.hits += response.status == 200 and response.content_type == "application/json"
            except (aiohttp.ClientError, TimeoutError):
                pass
            if task.delay:
                await asyncio.sleep(max(0.0, task.delay - (time.monotonic() - started)))


def contest(task: Task) -> Result:
    return uvloop.run(crawl(task)) if task.extra.get("uvloop") else asyncio.run(crawl(task))


if __name__ == "__main__":
    run(contest)
