"""waypost as it is: plan, guards, politeness between addresses, ledger and documents in PostgreSQL.

The code path of `waypost crawl`: `open_waypost`, seed, then `crawl` until nothing is due. The clock starts after the
seeding and after a crawl of nothing (a worker imports Scrapy once, not for every two thousand hosts). `extra`:
`database_url`, `data` (folder), `postgres` (process id of the server, for its CPU). The note `full_rate`: hosts a
second while the flight is full, between the first and the last flight of the list.
"""

import time
from typing import Any

import uvloop
from pydantic import SecretStr

from benchmarks.crawl import postgres
from benchmarks.crawl.contestants.common import Meter, Result, Task, run
from crawler.flight import Tally
from crawler.run import crawl
from registry.core.documents import Outcome
from registry.settings import Settings
from registry.wiring import open_waypost


def settings_for(task: Task) -> Settings:
    known: dict[str, Any] = {
        "data": task.extra["data"],
        "database_url": SecretStr(task.extra["database_url"]),
        "request_delay": task.delay,
        "connect_timeout": task.connect_timeout,
        "request_timeout": task.timeout,
        "host_deadline": task.host_deadline,
        "hosts_in_flight": task.in_flight,
        "log_level": "ERROR",
    }
    return Settings(**known)


async def contest_on_loop(task: Task) -> Result:
    settings, most = settings_for(task), 0
    full = task.in_flight, len(task.hosts) - task.in_flight
    passed: dict[int, float] = {}

    def watch(tally: Tally) -> None:
        nonlocal most
        most = max(most, tally.in_flight)
        for mark in full:
            if tally.hosts >= mark:
                passed.setdefault(mark, time.monotonic())

    async with open_waypost(settings) as waypost:
        await crawl(waypost, settings, until_idle=True)  # nothing is due: Scrapy is imported, the pool has connections
        report = await waypost.seed(task.hosts, source="benchmark")
        assert not report.refused, report.refused[:3]
        database = postgres.cpu(task.extra["postgres"])
        meter = Meter(task)
        tally = await crawl(waypost, settings, until_idle=True, progress=watch)
        result = meter.stop(Result(tally.hosts))
        result.notes["postgres"] = postgres.cpu(task.extra["postgres"]) - database
    outcomes = {outcome.value: count for outcome, count in tally.outcomes.items()}
    result.hits, result.answers = tally.outcomes[Outcome.FOUND], tally.requests
    result.notes |= {"outcomes": outcomes, "most_in_flight": most, "crashed": tally.crashed, "released": tally.released}
    if full[0] < full[1] and (seconds := passed[full[1]] - passed[full[0]]):
        result.notes["full_rate"] = (full[1] - full[0]) / seconds
    return result


def contest(task: Task) -> Result:
    return uvloop.run(contest_on_loop(task))


if __name__ == "__main__":
    run(contest)
