"""`python -m tests.search.meilisearch_outage --engine PATH`: API responses while its search server is down or slow.

A real Meilisearch (the program at PATH), a real PostgreSQL, `waypost serve` and `waypost worker --drain-only`, as in
production. Distinct queries are sent all the time: in normal operation, two hundred at once, while the engine is dead
(SIGKILL), while it restarts, while it hangs (SIGSTOP), while it continues (SIGCONT). Exit code 1 if a response is
neither 200 nor 503 with `Retry-After`, if a 503 takes longer than two seconds or a 200 longer than five, or if search
does not recover by itself.
"""

import argparse
import asyncio
import secrets
import signal
import sys
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import urlsplit

import httpx2

from registry.search.meilisearch.admin import make_keys
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.actions.catalogue import put
from tests.search.listings import listing
from tests.search.meilisearch_kills import WORDS
from tests.search.processes import Process, database, engine_of, free_port, keep_logs, say, until_answering

SERVICES: Final = 300
CLIENTS: Final = 4
BURST: Final = 200
SLOWEST_MS: Final = {200: 5_000.0, 503: 2_000.0}
"""Longest response time in milliseconds by status; on an idle machine it takes a fifth of it."""

RECOVERY_SECONDS: Final = 30.0


@dataclass
class Stage:
    """The responses of one stage: milliseconds by (status, has Retry-After)."""

    name: str
    milliseconds: defaultdict[tuple[int, bool], list[float]] = field(default_factory=lambda: defaultdict(list))
    ready: set[str] = field(default_factory=set)
    recovered_after: float | None = None
    recovered: asyncio.Event = field(default_factory=asyncio.Event)

    def record(self, status: int, has_retry_after: bool, sent_at: float, stage_started: float) -> None:
        """Record one response that has just arrived; times are of the monotonic clock."""
        now = time.monotonic()
        self.milliseconds[status, has_retry_after].append(1e3 * (now - sent_at))
        if status == 200 and self.recovered_after is None:
            self.recovered_after = now - stage_started
            self.recovered.set()

    @property
    def is_acceptable(self) -> bool:
        in_time = all(max(times) <= SLOWEST_MS.get(status, 0) for (status, _), times in self.milliseconds.items())
        return in_time and set(self.milliseconds) <= {(200, False), (503, True)}

    def __str__(self) -> str:
        summary = ", ".join(
            f"{len(times)} × {status} (p50 {median(times):.0f} ms, slowest {max(times):.0f})"
            for (status, _), times in sorted(self.milliseconds.items())
        )
        recovery = "" if self.recovered_after is None else f"; all well after {self.recovered_after:.1f} s"
        return f"{self.name}: {summary}; /readyz {', '.join(sorted(self.ready))}{recovery}"


class Watch:
    """Send queries all the time, and record the responses in the current stage."""

    def __init__(self, url: str) -> None:
        self._client = httpx2.AsyncClient(base_url=url, timeout=30)
        self._netloc = urlsplit(url).netloc
        self._numbers = count()
        self._started = time.monotonic()
        self.stage = Stage("")

    async def send_queries(self) -> None:
        while True:
            await self._send_query()
            await asyncio.sleep(0.05)

    async def burst(self, queries: int) -> Stage:
        """Send this many queries at once, each over a connection opened before. Raw sockets are used, since a busy HTTP
        client would measure itself."""
        host, port = self._netloc.split(":")
        connections = [await asyncio.open_connection(host, int(port)) for _ in range(queries)]
        stage = self.stage = Stage(f"{queries} at once")
        self._started = time.monotonic()

        async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            question = f"q={WORDS[0]}+number{next(self._numbers)}"
            writer.write(f"GET /api/discover?{question} HTTP/1.1\r\nHost: {self._netloc}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            stage.record(int(head.split()[1]), b"\r\nretry-after:" in head, self._started, self._started)
            writer.close()

        await asyncio.gather(*(send(*connection) for connection in connections))
        return stage

    async def _send_query(self) -> None:
        stage, number = self.stage, next(self._numbers)
        question = f"{WORDS[number % len(WORDS)]} number{number}"
        started = time.monotonic()
        response = await self._client.get("/api/discover", params={"q": question})
        stage.record(response.status_code, "retry-after" in response.headers, started, self._started)

    async def poll_readiness(self) -> None:
        while True:
            stage = self.stage
            response = await self._client.get("/readyz")
            stage.ready.add(str(response.json().get("parts", {}).get("index")))
            await asyncio.sleep(0.2)

    async def during(self, name: str, seconds: float, *, until_recovered: bool = False) -> Stage:
        """Record a stage for this many seconds; with `until_recovered` also until search works again."""
        stage = self.stage = Stage(name)
        self._started = time.monotonic()
        await asyncio.sleep(seconds)
        if until_recovered:
            with suppress(TimeoutError):
                await asyncio.wait_for(stage.recovered.wait(), RECOVERY_SECONDS)
        return stage

    async def close(self) -> None:
        await self._client.aclose()


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.search.meilisearch_outage", description=__doc__)
    parser.add_argument("--engine", required=True, metavar="PATH", help="the Meilisearch program")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each outage (8)")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="keep what the processes said")
    options = parser.parse_args()
    async with database("outage") as (folder, dsn):
        return await _run(options, folder, dsn)


async def _run(options: argparse.Namespace, folder: Path, dsn: str) -> int:
    store = Store(make_engine(dsn))
    await put(store, *(listing(f"h{n}.example", f"{WORDS[n % len(WORDS)]}: service {n}") for n in range(SERVICES)))
    await store.close()
    port, master = free_port(), secrets.token_hex(16)
    url, api_port = f"http://127.0.0.1:{port}", free_port()
    engine = engine_of(options.engine, folder, port, master)
    engine.start()
    await until_answering(url)
    keys = await asyncio.to_thread(make_keys, url, master, "services")
    api_environment = {
        "DATABASE_URL": dsn, "MEILI_URL": url, "WAYPOST_DATA": str(folder), "MEILI_SEARCH_KEY": str(keys.search),
        "WAYPOST_READ_RATE": "1000000",
    }  # fmt: skip
    feeder_environment = {**api_environment, "MEILI_INDEXER_KEY": str(keys.indexer), "MEILI_TASKS_KEY": str(keys.tasks)}
    command = [sys.executable, "-m", "registry.cli"]
    feeder = Process([*command, "worker", "--drain-only"], feeder_environment, folder / "feeder.log")
    api = Process([*command, "serve", "--port", str(api_port)], api_environment, folder / "api.log")
    feeder.start()
    api.start()
    try:
        await until_answering(f"http://127.0.0.1:{api_port}", "/readyz")
        stages = await _outages(options, engine, f"http://127.0.0.1:{api_port}", url)
    finally:
        for process in (api, feeder, engine):
            process.stop()
        if options.logs:
            await asyncio.to_thread(keep_logs, folder, options.logs)
    for stage in stages:
        say(stage)
    failed = [stage.name for stage in stages if not stage.is_acceptable]
    say(f"wrong: {failed}")
    return int(bool(failed) or any(stages[index].recovered_after is None for index in (0, 1, 3, 5)))


async def _outages(options: argparse.Namespace, engine: Process, api: str, url: str) -> list[Stage]:
    watch = Watch(api)
    tasks = [asyncio.create_task(watch.send_queries()) for _ in range(CLIENTS)] + [
        asyncio.create_task(watch.poll_readiness())
    ]
    stages = [await watch.during("all is well", options.seconds)]
    stages.append(await watch.burst(BURST))
    engine.kill()
    stages.append(await watch.during("the engine was killed", options.seconds))
    engine.start()
    await until_answering(url)
    stages.append(await watch.during("it answers again", options.seconds, until_recovered=True))
    engine.send(signal.SIGSTOP)
    stages.append(await watch.during("the engine hangs", options.seconds))
    engine.send(signal.SIGCONT)
    stages.append(await watch.during("it goes on", options.seconds, until_recovered=True))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await watch.close()
    return stages


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
