"""A process that leases and records visits in its own database: one round per stdin line.

It uses the `registry` that is first on PYTHONPATH, so that two states of the code can take turns. The plan produces the
visits, of sites without documents and of a few that offer a service; producing them is not measured.
"""

import asyncio
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import psycopg

from registry.actions.frontier.frontier import FrontierActions
from registry.actions.recording.record import CrawlActions
from registry.core.model.documents import FetchResult, Probe
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.visits import DomainJob, FinishedDomain, HostJob, Lease, Visit
from registry.store.engine import libpq, make_engine, sqlalchemy_url
from registry.store.migrate import upgrade
from registry.store.unit_of_work import Store

BEGINNING: Final = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
LEASE_FOR: Final = timedelta(minutes=30)
NOT_FOUND: Final = b"<html><head><title>404 Not Found</title></head><body><h1>404</h1></body></html>" + b" " * 70
MODEL: Final = "host.example.com"
SERVICE: Final = "/.well-known/agent"
TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass
class Spent:
    """CPU seconds of this process (lease, record) and of PostgreSQL, and the hosts and batches they were spent on."""

    hosts: int = 0
    batches: int = 0
    lease: float = 0.0
    record: float = 0.0
    postgres: float = 0.0


class Side:
    """A database with domains that are leased and recorded in batches."""

    def __init__(self, store: Store, postmaster: int, batch: int, hits: int) -> None:
        self._crawl = CrawlActions(store, lambda: self.now, LEASE_FOR)
        self._postmaster = postmaster
        self._batch = batch
        self._hits = hits
        self._empty_visit = walk(HostJob(MODEL, whole_plan=True), {}, BEGINNING)
        self.now = BEGINNING

    async def visit(self, hosts: int) -> Spent:
        """Lease and record `hosts` hosts, or fewer when no more are due."""
        spent = Spent()
        while spent.hosts < hosts:
            before = server_cpu(self._postmaster), time.process_time()
            lease = await self._crawl.lease(limit=self._batch, holder=1)
            leased = time.process_time()
            spent.lease += leased - before[1]
            spent.postgres += server_cpu(self._postmaster) - before[0]
            if lease is None:
                break
            finished = [self._finished(job) for job in lease.domains]
            await self._record(lease, finished, spent)
        return spent

    async def _record(self, lease: Lease, finished: list[FinishedDomain], spent: Spent) -> None:
        before = server_cpu(self._postmaster), time.process_time()
        recorded = await self._crawl.record_all([(lease.token, domain) for domain in finished])
        spent.record += time.process_time() - before[1]
        spent.postgres += server_cpu(self._postmaster) - before[0]
        assert not recorded.failed and not recorded.lost, recorded
        spent.hosts += len(recorded.hosts)
        spent.batches += 1

    def _finished(self, job: DomainJob) -> FinishedDomain:
        return FinishedDomain(job.domain, tuple(self._visit(host_job) for host_job in job.hosts))

    def _visit(self, job: HostJob) -> Visit:
        number = int(job.host.partition(".")[0].lstrip("n"))
        if self._hits and number % self._hits == 0:
            return walk(job, _service(job.host), self.now)
        answers = tuple(_for_host(answer, job.host, self.now) for answer in self._empty_visit.answers)
        robots = self._empty_visit.robots and replace(self._empty_visit.robots, fetched_at=self.now)
        finished = self.now + timedelta(seconds=20)
        return replace(
            self._empty_visit, host=job.host, started_at=self.now, finished_at=finished, answers=answers, robots=robots
        )


class Bare:
    """The baseline: the same rows of the ledger by COPY, one transaction per batch, and nothing else."""

    def __init__(self, url: str, postmaster: int, batch: int) -> None:
        self._url = libpq(sqlalchemy_url(url))
        self._postmaster = postmaster
        self._batch = batch
        with psycopg.connect(self._url) as connection:
            connection.execute("CREATE TABLE bare (LIKE visits, PRIMARY KEY (domain, host, started_at))")

    def copy(self, hosts: int) -> Spent:
        """Copy the latest `hosts` visits."""
        spent = Spent()
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("TRUNCATE bare")
            visits = connection.execute("SELECT * FROM visits ORDER BY started_at DESC LIMIT %s", (hosts,)).fetchall()
            names = [column.name for column in connection.execute("SELECT * FROM bare LIMIT 0").description or ()]
            target = f"COPY bare ({', '.join(names)}) FROM STDIN"
            rows = [tuple(json.dumps(v) if isinstance(v, list | dict) else v for v in row) for row in visits]
            for start in range(0, len(rows), self._batch):
                before = server_cpu(self._postmaster), time.process_time()
                with connection.transaction(), connection.cursor().copy(target) as copying:
                    for row in rows[start : start + self._batch]:
                        copying.write_row(row)
                spent.record += time.process_time() - before[1]
                spent.postgres += server_cpu(self._postmaster) - before[0]
                spent.batches += 1
            spent.hosts = len(rows)
        return spent


def server_cpu(postmaster: int) -> float:
    """Return the CPU seconds of the whole server, including its processes that have ended."""
    ticks = sum(_ticks(postmaster, ended=True))
    for entry in Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split():
        ticks += sum(_ticks(int(entry), ended=False))
    return ticks / TICKS


def _ticks(process: int, *, ended: bool) -> list[int]:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return [0]
    return [int(field) for field in fields[11 : 15 if ended else 13]]


def walk(job: HostJob, pages: dict[str, bytes], now: datetime) -> Visit:
    """Return the visit of a host that serves these pages, by path, and answers 404 to everything else."""
    plan = HostPlan(job, now=now, nonce="0123456789abcdef" * 2)
    while (probe := plan.next()) is not None:
        plan.take(probe, _answer(probe, pages, now))
    return plan.finish(now, now + timedelta(seconds=20))


def _answer(probe: Probe, pages: dict[str, bytes], now: datetime) -> FetchResult:
    body = pages.get("/" + probe.url.split("/", 3)[3])
    status, media_type = (404, "text/html") if body is None else (200, "application/json")
    body = body or NOT_FOUND
    headers = {"content-type": media_type, "date": "Sat, 21 Nov 2026 12:00:00 GMT", "server": "nginx"}
    headers |= {"content-length": str(len(body)), "connection": "keep-alive"}
    if status == 200:
        headers["etag"] = f'"{hashlib.md5(body).hexdigest()}"'
        if probe.etag == headers["etag"]:
            status, body = 304, b""
    return FetchResult(probe.url, probe.url, now, status, headers, body, elapsed_ms=37, address="192.0.2.1")


def _for_host(answer: Any, host: str, now: datetime) -> Any:
    """Return the same answer for another host."""
    probe, fetched = answer.probe, answer.fetched
    url = probe.url.replace(MODEL, host)
    other_fetched = FetchResult(
        url, url, now, fetched.status, fetched.headers, fetched.body, elapsed_ms=fetched.elapsed_ms,
        address=fetched.address,
    )  # fmt: skip
    other_probe = Probe(url, probe.purpose, probe.stage, probe.accept, probe.cap)
    return answer._replace(probe=other_probe, fetched=other_fetched)


def _service(host: str) -> dict[str, bytes]:
    names = ("create_parcel", "track_parcel", "cancel_parcel")
    manifest: dict[str, Any] = {
        "aid_version": "0.1", "name": f"Parcels of {host}", "domain": host, "base_url": f"https://{host}",
        "description": "Books, prices and tracks parcels with the couriers of a town", "auth": {"type": "none"},
        "capabilities": [
            {"name": name, "description": f"Does {name} with care", "detail_url": f"/capabilities/{name}"}
            for name in names
        ],
    }  # fmt: skip
    details = {
        f"/capabilities/{name}": json.dumps(
            {"name": name, "endpoint": f"/v1/{name}", "method": "POST", "parameters": []}
        ).encode()
        for name in names
    }
    return details | {SERVICE: json.dumps(manifest).encode()}


def names(number: int) -> Iterator[str]:
    return (f"n{index}.com" for index in range(number))


async def make_months(store: Store, now: datetime) -> None:
    async with store.begin() as uow:
        await uow.visit_months.make(now=now)


async def main() -> None:
    """Run the worker. Arguments: URL of an empty database, process id of its server, domains, domains per batch, and N
    for one hit in N hosts (0: none). An input line is `visit N`, `later` (everything is due again) or `copy N`."""
    url, postmaster, domains, batch, hits = sys.argv[1], *map(int, sys.argv[2:6])
    upgrade(url)
    store = Store(make_engine(url))
    frontier = FrontierActions(store, lambda: BEGINNING - timedelta(days=1))
    await frontier.seed(names(domains), source="benchmark")
    await make_months(store, BEGINNING)
    side, bare = Side(store, postmaster, batch, hits), Bare(url, postmaster, batch)
    for line in sys.stdin:
        act, _, number = line.strip().partition(" ")
        answer: dict[str, Any] = {}
        if act == "later":
            side.now += timedelta(days=400)
            await make_months(store, side.now)
        else:
            answer = vars(await side.visit(int(number)) if act == "visit" else bare.copy(int(number)))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main())
