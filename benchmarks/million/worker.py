"""Steps of the benchmark as separate processes, so that the CPU time and memory of each can be measured.

    record DATABASE POSTMASTER COUNT   seed names, then lease and record a visit of each by the crawler's use cases
    sequence DATABASE                  give the recorded events their places in the feed, as workers do
    feed PORT                          read the change feed from its beginning to its end
    mirror DATABASE FOLDER PORT        load the dump in FOLDER/dumps, then follow the feed until the copy is current

The last line of output is JSON.
"""

import asyncio
import json
import sys
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from benchmarks.record.worker import server_cpu, walk
from benchmarks.search.texts import Texts
from crawler.mirror import Mirror
from registry.actions.feed import MAX_LIMIT
from registry.actions.frontier.frontier import FrontierActions
from registry.actions.recording.record import CrawlActions
from registry.core.model.documents import Post
from registry.core.model.listing import Listing
from registry.core.reading import foreign_lists
from registry.core.visiting.visits import FinishedDomain, HostJob, Visit
from registry.settings import Settings
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from registry.wiring import open_waypost

MANIFEST: Final = "/.well-known/agent"
BATCH: Final = 100
_LEASE_FOR: Final = timedelta(hours=3)


def visit(job: HostJob, now: datetime) -> Visit:
    """Return a visit of a host that serves one manifest; its texts depend on the host alone."""
    listing = next(Texts(seed=int(job.host.partition(".")[0].lstrip("n"))).services(1))
    return walk(job, {MANIFEST: _manifest(job.host, listing)}, now)


def _manifest(host: str, listing: Listing) -> bytes:
    capabilities = [
        {"name": one.name, "description": one.description, "input_schema": {"type": "object"}}
        for one in listing.capabilities
    ]
    manifest: dict[str, Any] = {
        "aid_version": "0.1", "name": listing.name, "domain": host, "base_url": f"https://{host}",
        "description": listing.description, "auth": {"type": "none"}, "capabilities": capabilities,
    }  # fmt: skip
    return json.dumps(manifest).encode()


async def record(database: str, postmaster: int, count: int) -> dict[str, float]:
    """Return CPU seconds of seeding, of making the visits (not a part of the product), of leasing and recording them,
    and PostgreSQL's for leasing and recording."""
    store = Store(make_engine(database))
    begun = time.process_time()
    now = datetime.now(UTC)
    await FrontierActions(store, lambda: now - timedelta(days=1)).seed(
        (f"n{number}.com" for number in range(count)), source="benchmark"
    )
    spent = {"seed": time.process_time() - begun, "made": 0.0, "recorded": 0.0, "postgres": 0.0}
    crawl = CrawlActions(store, lambda: datetime.now(UTC), _LEASE_FOR)
    done = 0
    while True:
        begun, server = time.process_time(), server_cpu(postmaster)
        lease = await crawl.lease(limit=BATCH, holder=1)
        spent["recorded"] += time.process_time() - begun
        if lease is None:
            break
        begun = time.process_time()
        finished = [
            FinishedDomain(job.domain, tuple(visit(host, datetime.now(UTC)) for host in job.hosts))
            for job in lease.domains
        ]
        spent["made"] += time.process_time() - begun
        begun = time.process_time()
        recorded = await crawl.record_all([(lease.token, domain) for domain in finished])
        spent["recorded"] += time.process_time() - begun
        spent["postgres"] += server_cpu(postmaster) - server
        assert not recorded.failed and not recorded.lost, recorded
        done += len(recorded.hosts)
        if done % 10_000 < BATCH:
            print(f"{done:,} recorded", file=sys.stderr, flush=True)
    await store.close()
    return {**spent, "hosts": done}


async def sequence(database: str) -> dict[str, float]:
    async with open_waypost(Settings(database_url=SecretStr(database), log_level="WARNING")) as waypost:
        return {"events": await waypost.feed.sequence()}


def get(port: int, path: str) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=600) as answer:
        body: bytes = answer.read()
        return body


def feed(port: int) -> dict[str, float]:
    """Return how many events and bytes the feed has, and how many pages were read."""
    cursor, events, size, pages = "", 0, 0, 0
    while True:
        body = get(port, f"/api/feed?limit={MAX_LIMIT}{cursor and f'&cursor={cursor}'}")
        page = json.loads(body)
        pages, size, events = pages + 1, size + len(body), events + len(page["events"])
        cursor = page["cursor"]
        if not page["events"]:
            return {"events": events, "bytes": size, "pages": pages}


class _Origin:
    """The part of `crawler.mirror.MirrorOrigin` that a mirror needs, over plain HTTP on loopback."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.url = "https://origin.example"

    async def file(self, path: str, *, cap: int) -> bytes:
        return (await asyncio.to_thread(get, self._port, path))[:cap]

    async def listed(
        self, path: str, member: str, *, post: Post | None = None, cap: int, max_entries: int
    ) -> foreign_lists.ForeignList:
        assert post is None, "the origin does not change, so that the feed ends where the dump does"
        return foreign_lists.cut_list(await self.file(path, cap=cap), member, max_entries=max_entries)


async def mirror(database: str, folder: Path, port: int) -> dict[str, Any]:
    origin: Any = _Origin(port)
    settings = Settings(database_url=SecretStr(database), data=folder / "copy", log_level="WARNING")
    async with open_waypost(settings) as waypost:
        copying = Mirror(waypost, origin, folder / "parts", timedelta(days=1), source=folder / "dumps")
        await copying.run(once=True)
        return dict(await waypost.mirror.counts())


def main() -> None:
    act, *arguments = sys.argv[1:]
    answer: Any
    if act == "record":
        answer = asyncio.run(record(arguments[0], int(arguments[1]), int(arguments[2])))
    elif act == "sequence":
        answer = asyncio.run(sequence(arguments[0]))
    elif act == "feed":
        answer = feed(int(arguments[0]))
    else:
        answer = asyncio.run(mirror(arguments[0], Path(arguments[1]), int(arguments[2])))
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
