"""What the registry holds and how it is doing, in numbers: for its statistics and status pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from registry.actions.queries import inspect
from registry.core.scheduling.incidents import Incident, Work, incidents
from registry.core.scheduling.jobs import RunOutcome
from registry.store.statistics import SIZE_BINS as SIZE_BINS  # interfaces name them
from registry.store.statistics import ServiceCounts as ServiceCounts
from registry.store.unit_of_work import Store

DAY: Final = timedelta(days=1)
HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of what is listed; `services.seen`: in the last 24 hours. `document_sizes`: found documents by size, see
    store.statistics.SIZE_BINS."""

    at: datetime
    services: ServiceCounts
    document_sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LastRun:
    """The latest run of a recurring job; `finished_at` is None while it runs."""

    job: str
    started_at: datetime
    finished_at: datetime | None
    outcome: RunOutcome


@dataclass(frozen=True, slots=True)
class Operation:
    """How the registry is doing. `visited`: hosts whose last visit was in the last 24 hours, by its outcome.

    `crawlers`: processes that crawl now. `feed_waits`: how long the oldest event has waited for its place in the
    feed. `incidents`: see core/scheduling/incidents.py.
    """

    at: datetime
    visited: Mapping[str, int]
    visited_last_hour: int
    queue: inspect.Queue
    crawlers: int
    feed_waits: timedelta
    runs: Sequence[LastRun]
    incidents: Sequence[Incident]


async def statistics(store: Store, *, now: datetime) -> Statistics:
    """Return counts of what is listed. Raise StoreUnavailable."""
    async with store.read() as uow:
        return Statistics(
            now, await uow.statistics.services(seen_since=now - DAY), await uow.statistics.document_sizes()
        )


async def operation(store: Store, target: str, intervals: Mapping[str, timedelta], *, now: datetime) -> Operation:
    """Return how the registry is doing. `target`: name of the search target; `intervals`: of the jobs, by name. Raise
    StoreUnavailable."""
    queue = await inspect.queue(store, target, now=now)
    async with store.read() as uow:
        visited = await uow.statistics.hosts_visited(now - DAY)
        last_hour = await uow.statistics.hosts_visited(now - HOUR)
        runs = await uow.jobs.latest()
        last_runs = {run.job: [one.run for one in await uow.jobs.last(run.job)] for run in runs}
        crawlers = await uow.jobs.crawlers()
        waiting_since = (await uow.feed.state()).unsequenced_since
        work = Work(
            runs=last_runs,
            intervals=intervals,
            index_waits_since=await uow.search.oldest(target),
            feed_waits_since=waiting_since,
            due_since=now - queue.age if queue.domains["due"] else None,
            last_visit_at=await uow.statistics.last_visit(),
            crawlers=crawlers,
        )
    return Operation(
        at=now,
        visited=visited,
        visited_last_hour=sum(last_hour.values()),
        queue=queue,
        crawlers=crawlers,
        feed_waits=timedelta() if waiting_since is None else max(timedelta(), now - waiting_since),
        runs=tuple(LastRun(run.job, run.started_at, run.finished_at, run.outcome) for run in runs),
        incidents=incidents(work, now),
    )
