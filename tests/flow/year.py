"""`python -m tests.flow.year --domains 4000`: a year of a registry on a simulated clock, a million visits.

Every use case of crawler, workers and schedule runs at its time; only the network is missing. Sites change, vanish,
come back, opt out; the rubric and the list of public suffixes change; claims expire. After the retention time the
number of rows, the index, the memory and the cost of each job must be flat. In the end database, index, feed and a
mirror must agree. Exit code 1 and a list of faults where they do not.
"""

import argparse
import asyncio
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import psycopg

from benchmarks.record.worker import server_cpu
from registry.actions.maintenance.maintenance import SUFFIXES
from registry.actions.queries.discover import SearchActions
from registry.core.access.audit import OPERATOR
from registry.core.model.documents import FetchResult
from registry.core.names.domains import use_suffixes
from registry.core.names.suffixes import SHIPPED, shipped_body
from registry.core.scheduling.jobs import Retention
from registry.search.embedded import EmbeddedBackend
from registry.settings import Settings
from registry.store.embedded_postgres import server as embedded
from registry.store.engine import libpq, make_engine, sqlalchemy_url
from registry.store.migrate import upgrade
from registry.store.recorded import RecordedListener
from registry.store.unit_of_work import Store
from registry.wiring import Waypost
from registry.wiring.reference import Reference
from tests.actions.test_dumps import catch_up, dump, load, same
from tests.support import consistency
from tests.support.builders import ADP, DAY, HOLDER, Page, Site, adp_site, awp_manifest, finish
from tests.support.database import execute, new_database, on, rows

BEGIN: Final = datetime(2027, 1, 1, tzinfo=UTC)
STEP: Final = timedelta(hours=12)
SAMPLE_DAYS: Final = 20
FLAT_AFTER: Final = 140  # days: the longest retention below, the rest of its month, and a margin
MARGIN: Final = 1.3

KEEP: Final = Retention(
    visits_days=60, visits_per_host=3, history_days=60, versions=3, bodies_days=30, scores_days=60, changes_days=60,
    candidates_days=30, reports_days=30, job_runs_days=30,
)  # fmt: skip
GROWING: Final = {"daily_figures", "audit", "trust_causes"}
"""Tables with rows that stay for good: one a day, or one for each decision."""

MAX_PARTITIONS: Final = 2 + 4 + 3 + 4
"""Those that always exist; of the retention and the months at its ends; made ahead; made for the date of this run."""


class World:
    """Sites whose pages depend on the day: of ten, three never have documents, one is away for weeks, one opts out and
    comes back, one names others, and the others change every few weeks or every day."""

    def __init__(self, domains: int) -> None:
        self.hosts = [
            f"site{number}.shops.com" if number % 10 == 9 else f"site{number}.com" for number in range(domains)
        ]

    def site(self, host: str, day: int) -> Site:
        found = re.match(r"(?:www\d?\.|named\d+\.)?site(\d+)\.", host)
        if found is None:  # names that the frontier tries by itself
            return {}
        number = int(found[1])
        phase = (day + number) // (1 + number % 37)
        match number % 10:
            case 0 | 1 | 2:
                return {}
            case 3 if phase % 3 == 2:
                return {ADP: Page(status=410), "/agent.json": Page(status=410)}
            case 4 if 150 <= day < 220:
                return {"/robots.txt": Page("User-agent: WaypostBot\nDisallow: /\n", media_type="text/plain")}
            case 5:
                return {"/agent.json": Page(awp_manifest(host), etag='"1"')}
            case 6:
                named = f"https://named{phase % 5}.site{number}.com"
                return adp_site(host, "send", name=f"Post {phase}", documentation_url=named)
            case 7 | 8:
                return adp_site(host, "send", f"price_{phase % 5}", etag=f'"{phase}"', name=f"Post {phase}")
            case _:
                return adp_site(host, "send", "track", etag='"same"')


@dataclass
class Sample:
    """What the registry took on a day: rows by table, partitions, bytes of the index, and CPU seconds by job."""

    day: int
    tables: dict[str, int]
    partitions: int
    index: int
    memory: int
    seconds: dict[str, float]

    def line(self, visits: int) -> str:
        jobs = ", ".join(f"{job} {spent:.1f}" for job, spent in self.seconds.items())
        counts = ", ".join(f"{table} {number}" for table, number in sorted(self.tables.items()) if number)
        sizes = f"{self.partitions} partitions, index {self.index:,}, memory {self.memory:,}"
        return f"day {self.day}, {visits:,} visits: {sizes}; CPU seconds: {jobs}; rows: {counts}"


@dataclass
class Year:
    waypost: Waypost
    world: World
    store: Store
    folder: Path
    rng: random.Random
    log: Callable[[str], None]
    day: int = 0
    now: datetime = BEGIN
    visits: int = 0
    samples: list[Sample] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    async def live(self, days: int) -> None:
        await self.waypost.frontier.seed(self.world.hosts, source="test")
        for self.day in range(days):
            for half in range(2):
                self.now = BEGIN + self.day * DAY + half * STEP
                await self.timed("crawl", self.crawl())
                await self.waypost.crawl.recover()
                await self.waypost.frontier.fold_candidates()
                await self.waypost.frontier.recrawl()
                await self.waypost.feed.sequence()
                await self.timed("drain", self.waypost.search.drain())
                await self.waypost.figures.count_day()
            await self.ask()
            await self.timed("rejudge", self.waypost.maintenance.rejudge())
            if self.day in (100, 250):  # an upgrade with another rubric
                await execute(self.store, "UPDATE services SET rubric_version = '0'")
                await execute(self.store, "UPDATE documents SET rubric_version = '0'")
            await self.timed("rescore", self.waypost.maintenance.rescore(only_outdated=True))
            if self.day in (120, 240):
                await self.refresh(number=self.day)
            await self.waypost.maintenance.tell_stale()
            await self.timed("prune", self.waypost.maintenance.prune(KEEP))
            if self.day % 7 == 6:
                await self.timed("export", self.waypost.dumps.export())
                await self.timed("reindex", self.waypost.search.reindex())
            if self.day % SAMPLE_DAYS == SAMPLE_DAYS - 1:
                await self.sample()

    async def crawl(self) -> None:
        while (lease := await self.waypost.crawl.lease(limit=200, holder=HOLDER)) is not None:
            sites = {one.host: self.world.site(one.host, self.day) for job in lease.domains for one in job.hosts}
            finished = [finish(job, sites, self.now) for job in lease.domains]
            recorded = await self.waypost.crawl.record_all([(lease.token, domain) for domain in finished])
            assert not recorded.failed, recorded.failed
            self.visits += len(recorded.hosts)

    async def ask(self) -> None:
        """Do what clients do: submit, claim and prove, or forget about it; report."""
        host = self.rng.choice(self.world.hosts)
        await self.waypost.frontier.submit(f"www{self.day % 9}.{host}", client=f"192.0.2.{self.day % 250}")
        await self.waypost.frontier.erase_clients()
        _, token = await self.waypost.claims.claim(host, "dns", "host", client=f"198.51.100.{self.day % 250}")
        if self.day % 3 == 0:
            await self.waypost.claims.ask(token)
        for check in await self.waypost.claims.take(limit=100):
            published = "missing" if self.rng.randrange(8) == 0 else "published"
            await self.waypost.claims.settle(check.claim, published)  # type: ignore[arg-type]
        if self.day % 10 == 0:
            await self.waypost.reports.file(self.world.hosts[5], "spam", "It is.", client="203.0.113.9")
            for (report,) in await rows(self.store, "SELECT id FROM reports WHERE state = 'open'"):
                await self.waypost.reports.resolve(report, "rejected", "No.", actor=OPERATOR)

    async def refresh(self, *, number: int) -> None:
        """Publish a list on which shops.com is a public suffix, then one without."""
        added = b"shops.com\n" if number < 200 else b""
        body = shipped_body().replace(
            b"// ===END PRIVATE DOMAINS===", added + b"// ===END PRIVATE DOMAINS==="
        ).replace(b"// VERSION: 20", b"// VERSION: 2%d" % (number // 100))  # fmt: skip

        async def fetch(url: str, **_: Any) -> FetchResult:
            return FetchResult(url, url, self.now, 200, {}, body)

        await self.waypost.maintenance.refresh({SUFFIXES: "https://lists.example/list.dat"}, fetch)
        moved = await self.waypost.maintenance.rehome()
        assert moved.moved

    async def timed(self, job: str, work: Awaitable[object]) -> None:
        began = time.process_time()
        await work
        self.seconds[job] = self.seconds.get(job, 0.0) + time.process_time() - began

    async def sample(self) -> None:
        names = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
        tables = {
            name: (await rows(self.store, f"SELECT count(*) FROM {name}"))[0][0]
            for (name,) in await rows(self.store, f"{names} AND NOT relispartition")
        }
        partitions = await rows(self.store, "SELECT count(*) FROM pg_partition_tree('visits') WHERE isleaf")
        index = sum(path.stat().st_size for path in (self.folder / "index").rglob("*") if path.is_file())
        self.samples.append(Sample(self.day, tables, partitions[0][0], index, _resident(), dict(self.seconds)))
        self.seconds.clear()
        self.log(self.samples[-1].line(self.visits))


def _resident() -> int:
    """Return the bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growing(samples: list[Sample]) -> list[str]:
    """Return what grew between the two halves of the time in which nothing should."""
    flat = [one for one in samples if one.day >= FLAT_AFTER]
    middle, end = flat[: len(flat) // 2], flat[len(flat) // 2 :]
    if not middle:
        return []
    found = [f"{flat[-1].partitions} partitions"] if flat[-1].partitions > MAX_PARTITIONS else []

    def compare(name: str, measure: Callable[[Sample], float], slack: float) -> None:
        before, after = (max(map(measure, part)) for part in (middle, end))
        if after > before * MARGIN + slack:
            found.append(f"{name} grew from {before:,.1f} to {after:,.1f}")

    for table in flat[-1].tables.keys() - GROWING:
        compare(table, lambda one, table=table: one.tables[table], 20)  # type: ignore[misc]
    compare("index", lambda one: one.index, 100_000)
    compare("memory", lambda one: one.memory, 20e6)
    for job in flat[-1].seconds:
        compare(f"CPU seconds of {job}", lambda one, job=job: one.seconds.get(job, 0), 1)  # type: ignore[misc]
    return found


async def year_of(
    server: str, folder: Path, *, domains: int, days: int, log: Callable[[str], None]
) -> tuple[int, list[str]]:
    """Return the number of visits, and the faults."""
    settings = Settings(data=folder, public_url="https://origin.example", keep_dumps=2)
    with new_database(server, "year") as ours, new_database(server, "year_copy") as theirs:
        stores = []
        for name in (ours, theirs):
            await asyncio.to_thread(upgrade, on(server, name))
            stores.append(Store(make_engine(on(server, name), pool_size=3)))
            await execute(stores[-1], f"ALTER DATABASE {name} SET synchronous_commit = off")  # nothing outlives the run
        store, copy = stores
        backend = EmbeddedBackend(folder / "index")
        try:
            async with RecordedListener(store) as listener:
                year: Year
                search = SearchActions(store, lambda: year.now, backend)
                waypost = Waypost(settings, store, lambda: search, listener, Reference(store), lambda: year.now)
                year = Year(waypost, World(domains), store, folder, random.Random(28), log)
                await year.live(days)
                return year.visits, growing(year.samples) + await _disagreements(year, copy, folder)
        finally:
            use_suffixes(SHIPPED)
            await backend.close()
            for store in stores:
                await store.close()


async def _disagreements(year: Year, copy: Store, folder: Path) -> list[str]:
    await year.waypost.search.drain()
    compared = await year.waypost.search.verify_index()
    found = [f"index: {host}" for host in compared.wrong] + ["index: pending"] * compared.pending
    faults = await consistency.faults(year.waypost, ())
    for legal in ("listed more than once", "a service that was never visited"):  # sites come back; visits are pruned
        faults.pop(legal, None)
    found += [f"{kind}: {fault[:5]}" for kind, fault in faults.items()]
    progress = await load(copy, folder / "origin", await dump(year.store, folder / "origin", now=year.now))
    year.now += DAY
    await year.waypost.frontier.make_due(year.world.hosts)
    await year.crawl()
    await year.waypost.feed.sequence()
    await catch_up(year.store, copy, progress)
    try:
        await same(year.store, copy, folder)
    except AssertionError as error:
        found.append(f"mirror: {str(error)[:500]}")
    return found


def print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.flow.year", description=__doc__)
    parser.add_argument("--domains", type=int, default=4_000, help="default 4000, a million visits")
    parser.add_argument("--days", type=int, default=365)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = embedded.start(folder / "postgres")
        with psycopg.connect(libpq(sqlalchemy_url(server.dsn))) as connection:
            stat = Path(f"/proc/{connection.info.backend_pid}/stat").read_text()
        postmaster = int(stat.rpartition(")")[2].split()[1])
        (folder / "data").mkdir()
        visits, faults = asyncio.run(
            year_of(server.dsn, folder / "data", domains=options.domains, days=options.days, log=print_line)
        )
        print_line(
            f"{visits:,} visits, {time.process_time():,.0f} CPU seconds and {server_cpu(postmaster):,.0f} of PostgreSQL"
        )
        server.release()
    for fault in faults:
        print_line(f"fault: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
