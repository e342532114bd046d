"""Figures of the registry: what is listed, how it is doing, the health of services (worst first), and the workload."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from time import monotonic
from typing import Any, Final, Generic, TypeVar

from registry.actions import Clock
from registry.actions.frontier.submit import SEED_HEAD_START, SUBMISSION_HEAD_START
from registry.actions.queries.inspect import QueueState, queue_state
from registry.core.changes.kinds import State, state_of
from registry.core.model.listing import Filters, TrustLevel
from registry.core.names.domains import registrable_domain
from registry.core.scheduling.jobs import Incident, Work, incidents
from registry.core.search_filters import LIST_COUNTED
from registry.store.catalogue import HealthReport, HealthRow, ValueCounts
from registry.store.jobs import RunRecord
from registry.store.statistics import SIZE_BINS as SIZE_BINS  # interfaces name them
from registry.store.statistics import DayRecord, FailingHost, QueuedDomain, SeededList
from registry.store.statistics import ServiceCounts as ServiceCounts
from registry.store.unit_of_work import Store

DAY: Final = timedelta(days=1)
HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RegistryStatistics:
    """Counts of listed services. `services.seen`: in the last 24 hours. `document_sizes`: found documents by size, see
    store.statistics.SIZE_BINS."""

    at: datetime
    services: ServiceCounts
    document_sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperationFigures:
    """How the registry is doing. `visited`: hosts whose last visit was in the last 24 hours, by outcome. `crawlers`:
    processes that crawl now. `feed_waits`: how long the oldest event has waited for its place in the feed. `incidents`:
    see core/scheduling/jobs.py."""

    at: datetime
    visited: Mapping[str, int]
    visited_last_hour: int
    queue: QueueState
    crawlers: int
    feed_waits: timedelta
    runs: Sequence[RunRecord]
    incidents: Sequence[Incident]


DAY_KEPT_FOR: Final = timedelta(minutes=10)
"""The figures of the current day are counted again after this time, so the last count of a day is from its end."""


@dataclass(frozen=True, slots=True)
class DailyFigures:
    """The registry on one day (UTC), counted at `at`. `hosts`: all known hosts. `scores`: as in ServiceCounts.
    `visited`: hosts whose last visit was on this day, by outcome. The other counts are of listed services."""

    day: date
    at: datetime
    services: int
    capabilities: int
    hosts: int
    mean_score: float | None
    scores: Sequence[int]
    formats: Mapping[str, int]
    trust_levels: Mapping[str, int]
    categories: Mapping[str, int]
    visited: Mapping[str, int]


_FIGURES: Final = tuple(name for name in DailyFigures.__dataclass_fields__ if name not in ("day", "at"))


@dataclass(frozen=True, slots=True)
class History:
    """Days with figures, the earliest first; days on which no process counted are missing. `earlier`: the latest day
    before them that has figures; None if they begin with the first."""

    days: Sequence[DailyFigures]
    earlier: date | None


UPTIME_OF: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class OverallLine:
    """`uptime`: percentage of the checks of UPTIME_OF in which the host was not down; None without checks."""

    health: HealthRow
    trust_level: TrustLevel
    seen_at: datetime
    state: State
    uptime: float | None


@dataclass(frozen=True, slots=True)
class Overall:
    """`health`: counts over all listed services. `lines`: the services with the worst health."""

    health: HealthReport
    lines: Sequence[OverallLine]


CLIENTS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class WorkloadFigures:
    """`domains`: number by state: due, leased, waiting, never. `submissions`: submitted hosts that are due and not
    visited since. `postponed`: submitted hosts whose visit was put off. `by_client`: hosts submitted per client in the
    last day and not visited yet, the largest numbers first, without the clients' addresses, which are personal data.
    `index_lag`: services whose index entry is out of date. `feed_lag`: events without a place in the feed."""

    domains: dict[str, int]
    submissions: int
    oldest_submission_at: datetime | None
    postponed: int
    by_client: tuple[int, ...]
    candidates: int
    opt_out_requests: int
    oldest_opt_out_request_at: datetime | None
    index_lag: int
    feed_lag: int
    oldest_event_at: datetime | None


MAX_FAILING: Final = 200
MAX_LISTS: Final = 200
_START: Final = datetime(1, 1, 2, tzinfo=UTC)  # before every time of a queue

KEPT_SECONDS: Final = 60.0
MAX_VALUE_COUNTS: Final = 256
"""Selections of services whose counts by value are kept."""

T = TypeVar("T")


class CachedFigure(Generic[T]):
    """A result that is computed on request, shared by concurrent callers, and kept for KEPT_SECONDS."""

    def __init__(self, compute: Callable[[], Awaitable[T]]) -> None:
        self._compute = compute
        self._lock = asyncio.Lock()
        self._value: T | None = None
        self._until = 0.0

    async def get(self) -> T:
        """Return the result. Raise what computing it raises; then no result is kept."""
        async with self._lock:
            if self._value is None or monotonic() >= self._until:  # guard: figures-kept
                self._value = await self._compute()
                self._until = monotonic() + KEPT_SECONDS
            return self._value


class FigureActions:
    """Figures of the whole registry. `statistics` and `operation` read whole tables, so they are kept for a while."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        target: Callable[[], str],
        intervals: Callable[[], Mapping[str, timedelta]],
        shortage: Callable[[], str | None],
    ) -> None:
        """`target` returns the name of the search target; it opens the search engine. `intervals`: of the jobs.
        `shortage`: why work that fills the disks of this machine stops."""
        self._store = store
        self._clock = clock
        self._target = target
        self._intervals = intervals
        self._shortage = shortage
        self._short_since: datetime | None = None
        self.statistics: Callable[[], Awaitable[RegistryStatistics]] = CachedFigure(self._count_services).get
        self._values_of = lru_cache(MAX_VALUE_COUNTS)(self._value_figure)
        self.operation: Callable[[], Awaitable[OperationFigures]] = CachedFigure(self._count_operation).get
        self.failing: Callable[[], Awaitable[Sequence[FailingHost]]] = CachedFigure(self._find_failing).get
        self.seeded: Callable[[], Awaitable[Sequence[SeededList]]] = CachedFigure(self._count_seeded).get

    async def value_counts(self, filters: Filters, names: tuple[str, ...], text: str = "") -> ValueCounts:
        """Return the number of services by value of these filters of LIST_COUNTED, kept like other figures; with `text`
        (part of a name, description or host), counted each time."""
        return await (self._count_values(filters, names, text) if text else self._values_of(filters, names).get())

    def _value_figure(self, filters: Filters, names: tuple[str, ...]) -> "CachedFigure[ValueCounts]":
        return CachedFigure(lambda: self._count_values(filters, names, ""))

    async def _count_values(self, filters: Filters, names: tuple[str, ...], text: str) -> ValueCounts:
        async with self._store.read() as uow:
            return await uow.catalogue.value_counts(filters, [LIST_COUNTED[name] for name in names], text)

    async def _count_services(self) -> RegistryStatistics:
        """Return counts of what is listed. Raise StoreUnavailable."""
        now = self._clock()
        async with self._store.read() as uow:
            return RegistryStatistics(
                now, await uow.statistics.services(seen_since=now - DAY), await uow.statistics.document_sizes()
            )

    async def _count_operation(self) -> OperationFigures:
        """Return how the registry is doing. Raise one of NOT_READY."""
        now, target = self._clock(), self._target()
        shortage = await asyncio.to_thread(self._shortage)
        self._short_since = None if shortage is None else self._short_since or now
        async with self._store.begin() as uow:
            queue = await queue_state(uow, target, now)
        async with self._store.read() as uow:
            visited = await uow.statistics.hosts_visited(now - DAY)
            last_hour = await uow.statistics.hosts_visited(now - HOUR)
            runs = await uow.jobs.latest()
            last_runs = {run.job: [one.run for one in await uow.jobs.last(run.job)] for run in runs}
            crawlers = await uow.jobs.crawlers()
            waiting_since = (await uow.feed.state()).unsequenced_since
            work = Work(
                runs=last_runs,
                intervals=self._intervals(),
                index_waits_since=await uow.search.oldest(target),
                feed_waits_since=waiting_since,
                due_since=now - queue.age if queue.domains["due"] else None,
                last_visit_at=await uow.statistics.last_visit(),
                crawlers=crawlers,
                known_since=await uow.statistics.first_count(),
                shortage=shortage,
                short_since=self._short_since,
            )
        return OperationFigures(
            at=now,
            visited=visited,
            visited_last_hour=sum(last_hour.values()),
            queue=queue,
            crawlers=crawlers,
            feed_waits=timedelta() if waiting_since is None else max(timedelta(), now - waiting_since),
            runs=runs,
            incidents=incidents(work, now),
        )

    async def count_day(self) -> bool:
        """Store the figures of the current day; return whether they were counted.

        They are not counted if they are younger than DAY_KEPT_FOR, whoever counted them, nor in an empty registry that
        has no history. Any number of processes may call this at any time.
        """
        now = self._clock()
        today = now.astimezone(UTC).date()
        async with self._store.read() as uow:
            last = next(iter(await uow.statistics.days(until=None, most=1)), None)
            if last is not None and (last.day > today or (last.day == today and now - last.at < DAY_KEPT_FOR)):
                return False
            counted = await uow.statistics.services(seen_since=now - DAY)
            services = sum(counted.trust_levels.values())
            if last is None and not services:
                return False
            figures = {
                "services": services,
                "capabilities": counted.capabilities,
                "hosts": await uow.statistics.hosts(),
                "mean_score": round(counted.points / services, 1) if services else None,
                "scores": counted.scores,
                "formats": counted.formats,
                "trust_levels": counted.trust_levels,
                "categories": counted.categories,
                "visited": await uow.statistics.hosts_visited(datetime.combine(today, time(), UTC)),
            }
        async with self._store.begin() as uow:
            await uow.statistics.put_day(DayRecord(today, now, figures))
        return True

    async def history(self, *, until: date | None, most: int) -> History:
        """Return at most this many days, the latest ones up to `until`."""
        async with self._store.read() as uow:
            found = await uow.statistics.days(until=until, most=most + 1)
        earlier = found[most].day if len(found) > most else None
        return History([_day_of(record) for record in reversed(found[:most])], earlier)

    async def overall(self) -> Overall:
        now = self._clock()
        async with self._store.begin() as uow:
            health = await uow.catalogue.health()
            keys = [(registrable_domain(line.host), line.host) for line in health.services]
            checks = await uow.ledger.checks(keys, since=now - UPTIME_OF)
        cards = await self._store.cards.of(keys)
        lines = []
        for line in health.services:
            if (card := cards.get(line.host)) is None:  # removed since
                continue
            made, down = checks.get(line.host, (0, 0))
            uptime = round(100 * (made - down) / made, 2) if made else None
            state = state_of(card.trust_level, card.seen_at, now)
            lines.append(OverallLine(line, card.trust_level, card.seen_at, state, uptime))
        return Overall(health, lines)

    async def due_domains(self, *, limit: int, cursor: str | None = None) -> tuple[Sequence[QueuedDomain], str | None]:
        """Return at most `limit` due domains, in the order of their visits, and the cursor of the next page or None.
        Raise ValueError for another cursor."""
        at, _, domain = (cursor or "").partition("/")
        after = (_START, "") if cursor is None else (datetime.fromisoformat(at), domain)
        if after[0].tzinfo is None or not domain.isprintable():
            raise ValueError("not a cursor of this registry")
        async with self._store.begin() as uow:
            found = await uow.statistics.due_domains(after, now=self._clock(), limit=limit + 1)
        last = found[limit - 1] if len(found) > limit else None
        return found[:limit], None if last is None else f"{last.until.isoformat()}/{last.domain}"

    async def leased_domains(
        self, *, limit: int, cursor: str | None = None
    ) -> tuple[Sequence[QueuedDomain], str | None]:
        """Return at most `limit` domains that are being visited, and the cursor of the next page or None. Raise
        ValueError for another cursor."""
        if not (cursor or "").isprintable():
            raise ValueError("not a cursor of this registry")
        async with self._store.begin() as uow:
            found = await uow.statistics.leased_domains(cursor or "", limit=limit + 1)
        return found[:limit], found[limit - 1].domain if len(found) > limit else None

    async def _find_failing(self) -> Sequence[FailingHost]:
        async with self._store.read() as uow:
            return await uow.statistics.failing_hosts(limit=MAX_FAILING)

    async def _count_seeded(self) -> Sequence[SeededList]:
        async with self._store.read() as uow:
            return await uow.statistics.seeded(limit=MAX_LISTS)

    async def workload(self) -> WorkloadFigures:
        """Return the waiting work. Includes the index lag, so the first call opens the search engine (slow)."""
        now, target = self._clock(), self._target()
        # Read only domains that are due as early as submissions are; otherwise all hosts would be read.
        head_start = (SEED_HEAD_START + SUBMISSION_HEAD_START) / 2
        async with self._store.begin() as uow:
            submitted = await uow.statistics.submitted(now=now, due_before=now - head_start)
            requests = await uow.statistics.opt_out_requests()
            feed = await uow.feed.state()
            return WorkloadFigures(
                domains=await uow.domains.counts(now),
                submissions=submitted.number,
                oldest_submission_at=submitted.since,
                postponed=await uow.statistics.postponed(now=now),
                by_client=await uow.statistics.by_client(since=now - timedelta(days=1), most=CLIENTS_SHOWN),
                candidates=await uow.candidates.waiting(),
                opt_out_requests=requests.number,
                oldest_opt_out_request_at=requests.since,
                index_lag=await uow.search.count(target),
                feed_lag=feed.unsequenced,
                oldest_event_at=feed.unsequenced_since,
            )


def _day_of(record: DayRecord) -> DailyFigures:
    """Return the figures of a stored day. Programs of other versions may have stored fewer or further ones."""
    defaults = {"services": 0, "capabilities": 0, "hosts": 0, "mean_score": None, "scores": ()}
    values: dict[str, Any] = {name: record.figures.get(name, defaults.get(name, {})) for name in _FIGURES}
    return DailyFigures(day=record.day, at=record.at, **values)
