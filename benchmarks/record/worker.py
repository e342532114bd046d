"""One process that leases and records visits of a database of its own: a round for each line on its stdin.

It runs on whichever `registry` stands first on PYTHONPATH, so that two states of the code can take turns. The visits
are what the plan makes of sites that have nothing, and of a few that offer a service; they are made before the clock
is looked at.
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

from registry.actions.frontier.due import due
from registry.actions.frontier.seed import seed
from registry.actions.recording.record import record
from registry.core.documents import Fetched, Probe
from registry.core.plan import HostPlan
from registry.core.visits import Answer, DomainJob, FinishedDomain, HostJob, Lease, Visit
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
    """CPU milliseconds of this process and of PostgreSQL, and what they were spent on."""

    hosts: int = 0
    batches: int = 0
    lease: float = 0.0
    record: float = 0.0
    postgres: float = 0.0


class Side:
    """A database with domains, visited in batches."""

    def __init__(self, store: Store, postmaster: int, batch: int, hits: int) -> None:
        self._store = store
        self._postmaster = postmaster
        self._batch = batch
        self._hits = hits
        self._nothing = _walk(HostJob(MODEL, whole_plan=True), {}, BEGINNING)
        self.now = BEGINNING

    async def visit(self, hosts: int) -> Spent:
        """Leases and records so many hosts; fewer when no more are due."""
        spent = Spent()
        while spent.hosts < hosts:
            before = server_cpu(self._postmaster), time.process_time()
            lease = await due(self._store, limit=self._batch, now=self.now, lease_for=LEASE_FOR, holder=1)
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
        recorded = await record(self._store, lease.token, finished, now=self.now)
        spent.record += time.process_time() - before[1]
        spent.postgres += server_cpu(self._postmaster) - before[0]
        assert not recorded.failed and not recorded.lost, recorded
        spent.hosts += len(recorded.hosts)
        spent.batches += 1

    def _finished(self, job: DomainJob) -> FinishedDomain:
        return FinishedDomain(job.domain, tuple(self._visit(one) for one in job.hosts))

    def _visit(self, job: HostJob) -> Visit:
        number = int(job.host.partition(".")[0].lstrip("n"))
        if self._hits and number % self._hits == 0:
            return _walk(job, _service(job.host), self.now)
        answers = tuple(_moved(one, job.host, self.now) for one in self._nothing.answers)
        robots = self._nothing.robots and replace(self._nothing.robots, fetched_at=self.now)
        finished = self.now + timedelta(seconds=20)
        return replace(
            self._nothing, host=job.host, started_at=self.now, finished_at=finished, answers=answers, robots=robots
        )


class Bare:
    """The baseline: the same rows of the ledger by COPY, a transaction for each batch, and nothing else."""

    def __init__(self, url: str, postmaster: int, batch: int) -> None:
        self._url = libpq(sqlalchemy_url(url))
        self._postmaster = postmaster
        self._batch = batch
        with psycopg.connect(self._url) as connection:
            connection.execute("CREATE TABLE bare (LIKE visits INCLUDING ALL)")

    def copy(self, hosts: int) -> Spent:
        """Copies the latest so many visits once more."""
        spent = Spent()
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("TRUNCATE bare")
            taken = connection.execute("SELECT * FROM visits ORDER BY started_at DESC LIMIT %s", (hosts,)).fetchall()
            names = [column.name for column in connection.execute("SELECT * FROM bare LIMIT 0").description or ()]
            target = f"COPY bare ({', '.join(names)}) FROM STDIN"
            rows = [tuple(json.dumps(v) if isinstance(v, list | dict) else v for v in row) for row in taken]
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
    """Seconds of CPU of the whole server: its processes that live, and those that ended."""
    ticks = sum(_ticks(postmaster, ended=True))
    for entry in Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split():
        ticks += sum(_ticks(int(entry), ended=False))
    return ticks / TICKS


def _ticks(process: int, *, ended: bool) -> list[int]:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return [0]
    return [int(one) for one in fields[11 : 15 if ended else 13]]


def _walk(job: HostJob, pages: dict[str, bytes], now: datetime) -> Visit:
    plan = HostPlan(job, now=now, nonce="0123456789abcdef" * 2)
    while (probe := plan.next()) is not None:
        plan.take(probe, _answer(probe, pages, now))
    return plan.finish(now, now + timedelta(seconds=20))


def _answer(probe: Probe, pages: dict[str, bytes], now: datetime) -> Fetched:
    body = pages.get("/" + probe.url.split("/", 3)[3])
    status, media_type = (404, "text/html") if body is None else (200, "application/json")
    body = body or NOT_FOUND
    headers = {"content-type": media_type, "date": "Sat, 21 Nov 2026 12:00:00 GMT", "server": "nginx"}
    headers |= {"content-length": str(len(body)), "connection": "keep-alive"}
    if status == 200:
        headers["etag"] = f'"{hashlib.md5(body).hexdigest()}"'
        if probe.etag == headers["etag"]:
            status, body = 304, b""
    return Fetched(probe.url, probe.url, now, status, headers, body, elapsed_ms=37, address="192.0.2.1")


def _moved(answer: Answer, host: str, now: datetime) -> Answer:
    """The same answer to the same question, asked of another host."""
    probe, fetched = answer.probe, answer.fetched
    url = probe.url.replace(MODEL, host)
    moved = Fetched(
        url, url, now, fetched.status, fetched.headers, fetched.body, elapsed_ms=fetched.elapsed_ms,
        address=fetched.address,
    )  # fmt: skip
    return Answer(Probe(url, probe.purpose, probe.stage, probe.accept, probe.cap), moved, answer.assessment)


def _service(host: str) -> dict[str, bytes]:
    names = ("create_parcel", "track_parcel", "cancel_parcel")
    manifest: dict[str, Any] = {
        "aid_version": "0.1", "name": f"Parcels of {host}", "domain": host, "base_url": f"https://{host}",
        "description": "Books, prices and tracks parcels with the couriers of a town", "auth": {"type": "none"},
        "capabilities": [
            {"name": one, "description": f"Does {one} with care", "detail_url": f"/capabilities/{one}"} for one in names
        ],
    }  # fmt: skip
    details = {
        f"/capabilities/{one}": json.dumps(
            {"name": one, "endpoint": f"/v1/{one}", "method": "POST", "parameters": []}
        ).encode()
        for one in names
    }
    return details | {SERVICE: json.dumps(manifest).encode()}


def names(number: int) -> Iterator[str]:
    return (f"n{index}.com" for index in range(number))


async def main() -> None:
    """Arguments: URL of an empty database, process id of its server, domains, domains in a batch, 1 in how many is a
    hit (0: none). Each line of the input is `visit N`, `later` (everything is due again) or `copy N`."""
    url, postmaster, domains, batch, hits = sys.argv[1], *map(int, sys.argv[2:6])
    upgrade(url)
    store = Store(make_engine(url))
    await seed(store, names(domains), source="benchmark", now=BEGINNING - timedelta(days=1))
    side, bare = Side(store, postmaster, batch, hits), Bare(url, postmaster, batch)
    for line in sys.stdin:
        act, _, number = line.strip().partition(" ")
        answer: dict[str, Any] = {}
        if act == "later":
            side.now += timedelta(days=400)
        else:
            answer = vars(await side.visit(int(number)) if act == "visit" else bare.copy(int(number)))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main())
