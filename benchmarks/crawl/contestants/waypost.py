"""The complete waypost: plan, guards, politeness limits, ledger and documents in PostgreSQL.

The code path of `waypost crawl`: `open_waypost`, seed, then `crawl` until nothing is due. The measurement starts after
the seeding and after an empty crawl, because a worker imports Scrapy once, not for every two thousand hosts. `extra`:
`database_url`, `data` (folder), `postgres` (process id of the server, for its CPU), `signed` (with a key that signs the
requests). The note `full_rate`: hosts per second at full concurrency, without the first and last `in_flight` hosts of
the list.
"""

import time
from typing import Any

import uvloop
from pydantic import SecretStr

from benchmarks.crawl import postgres
from benchmarks.crawl.contestants.common import Meter, Result, Task, run
from crawler.run import crawl
from crawler.stats import CrawlCounts
from registry.core.model.documents import Outcome
from registry.settings import Settings
from registry.wiring import open_waypost
from registry.wiring.signing_keys import KeyFiles


def settings_for(task: Task) -> Settings:
    options: dict[str, Any] = {
        "data": task.extra["data"],
        "database_url": SecretStr(task.extra["database_url"]),
        "request_delay": task.delay,
        "connect_timeout": task.connect_timeout,
        "request_timeout": task.timeout,
        "host_deadline": task.host_deadline,
        "hosts_in_flight": task.in_flight,
        "log_level": "ERROR",
    }
    if not task.extra.get("signed"):
        return Settings(**options)
    settings = Settings(**options, public_url="https://registry.example")
    KeyFiles(settings).add(int(time.time()))
    return settings


async def contest_on_loop(task: Task) -> Result:
    settings, most_in_flight = settings_for(task), 0
    marks = task.in_flight, len(task.hosts) - task.in_flight
    reached: dict[int, float] = {}

    def note_progress(tally: CrawlCounts) -> None:
        nonlocal most_in_flight
        most_in_flight = max(most_in_flight, tally.in_flight)
        for mark in marks:
            if tally.hosts >= mark:
                reached.setdefault(mark, time.monotonic())

    async with open_waypost(settings) as waypost:
        await crawl(waypost, settings, until_idle=True)  # warm-up: imports Scrapy, opens connections
        report = await waypost.frontier.seed(task.hosts, source="benchmark")
        assert not report.refused, report.refused[:3]
        database_cpu = postgres.cpu(task.extra["postgres"])
        meter = Meter(task)
        tally = await crawl(waypost, settings, until_idle=True, progress=note_progress)
        result = meter.stop(Result(tally.hosts))
        result.notes["postgres"] = postgres.cpu(task.extra["postgres"]) - database_cpu
    outcomes = {outcome.value: count for outcome, count in tally.outcomes.items()}
    result.hits, result.answers = tally.outcomes[Outcome.FOUND], tally.requests
    result.notes |= {
        "outcomes": outcomes,
        "most_in_flight": most_in_flight,
        "crashed": tally.crashed,
        "released": tally.released,
    }
    if marks[0] < marks[1] and (seconds := reached[marks[1]] - reached[marks[0]]):
        result.notes["full_rate"] = (marks[1] - marks[0]) / seconds
    return result


def contest(task: Task) -> Result:
    return uvloop.run(contest_on_loop(task))


if __name__ == "__main__":
    run(contest)
