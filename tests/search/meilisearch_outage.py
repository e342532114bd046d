"""`python -m tests.search.meilisearch_outage --engine PATH`: what the API says while its search server is away or slow.

A real Meilisearch (the program at PATH), a real PostgreSQL, `waypost serve` and `waypost worker --drain-only`, as an
operator has them. Distinct questions are asked all the time: while all is well, two hundred at once, while the engine
is dead (SIGKILL), while it is started again, while it hangs (SIGSTOP), while it goes on (SIGCONT). Exit code 1 where
an answer is neither 200 nor 503 with `Retry-After`, where a refusal takes longer than two seconds or an answer longer
than five, or where search does not heal by itself.
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

from registry.search.meilisearch.keys import make_keys
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.actions.catalogue import put
from tests.search.listings import listing
from tests.search.meilisearch_kills import WORDS
from tests.search.processes import Process, database, engine_of, free_port, keep_logs, say, until_answering

SERVICES: Final = 300
ASKERS: Final = 4
BURST: Final = 200
SLOWEST_MS: Final = {200: 5_000.0, 503: 2_000.0}
"""Of an answer, and of a refusal: on a quiet machine a fifth of either."""

HEALED_SECONDS: Final = 30.0


@dataclass
class Stage:
    """What was answered while one thing was the case: milliseconds by (status, has Retry-After)."""

    name: str
    took: defaultdict[tuple[int, bool], list[float]] = field(default_factory=lambda: defaultdict(list))
    ready: set[str] = field(default_factory=set)
    healed_after: float | None = None
    well: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, status: int, says_when: bool, asked: float, began: float) -> None:
        """One answer that is here now; moments of the monotonic clock."""
        now = time.monotonic()
        self.took[status, says_when].append(1e3 * (now - asked))
        if status == 200 and self.healed_after is None:
            self.healed_after = now - began
            self.well.set()

    @property
    def is_right(self) -> bool:
        in_time = all(max(took) <= SLOWEST_MS.get(status, 0) for (status, _), took in self.took.items())
        return in_time and set(self.took) <= {(200, False), (503, True)}

    def __str__(self) -> str:
        told = ", ".join(
            f"{len(took)} × {status} (p50 {median(took):.0f} ms, slowest {max(took):.0f})"
            for (status, _), took in sorted(self.took.items())
        )
        healed = "" if self.healed_after is None else f"; all well after {self.healed_after:.1f} s"
        return f"{self.name}: {told}; /readyz {', '.join(sorted(self.ready))}{healed}"


class Watch:
    """Asks all the time, into the stage of the moment."""

    def __init__(self, url: str) -> None:
        self._client = httpx2.AsyncClient(base_url=url, timeout=30)
        self._where = urlsplit(url).netloc
        self._numbers = count()
        self._started = time.monotonic()
        self.stage = Stage("")

    async def ask(self) -> None:
        while True:
            await self._ask_once()
            await asyncio.sleep(0.05)

    async def burst(self, many: int) -> Stage:
        """So many questions at the same moment, each over a connection that is open before; plainly, for a client
        that is busy with itself would measure itself."""
        host, port = self._where.split(":")
        opened = [await asyncio.open_connection(host, int(port)) for _ in range(many)]
        stage = self.stage = Stage(f"{many} at once")
        self._started = time.monotonic()

        async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            question = f"q={WORDS[0]}+number{next(self._numbers)}"
            writer.write(f"GET /api/discover?{question} HTTP/1.1\r\nHost: {self._where}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            stage.tell(int(head.split()[1]), b"\r\nretry-after:" in head, self._started, self._started)
            writer.close()

        await asyncio.gather(*(one(*each) for each in opened))
        return stage

    async def _ask_once(self) -> None:
        stage, number = self.stage, next(self._numbers)
        question = f"{WORDS[number % len(WORDS)]} number{number}"
        started = time.monotonic()
        response = await self._client.get("/api/discover", params={"q": question})
        stage.tell(response.status_code, "retry-after" in response.headers, started, self._started)

    async def look(self) -> None:
        while True:
            stage = self.stage
            response = await self._client.get("/readyz")
            stage.ready.add(str(response.json().get("parts", {}).get("index")))
            await asyncio.sleep(0.2)

    async def during(self, name: str, seconds: float, *, heals: bool = False) -> Stage:
        """Everything that is asked now and for so long; with `heals` until search answers again."""
        stage = self.stage = Stage(name)
        self._started = time.monotonic()
        await asyncio.sleep(seconds)
        if heals:
            with suppress(TimeoutError):
                await asyncio.wait_for(stage.well.wait(), HEALED_SECONDS)
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
        return await _play(options, folder, dsn)


async def _play(options: argparse.Namespace, folder: Path, dsn: str) -> int:
    store = Store(make_engine(dsn))
    await put(store, *(listing(f"h{n}.example", f"{WORDS[n % len(WORDS)]}: service {n}") for n in range(SERVICES)))
    await store.close()
    port, master = free_port(), secrets.token_hex(16)
    url, serving = f"http://127.0.0.1:{port}", free_port()
    engine = engine_of(options.engine, folder, port, master)
    engine.start()
    await until_answering(url)
    keys = await asyncio.to_thread(make_keys, url, master, "services")
    asking = {
        "DATABASE_URL": dsn, "MEILI_URL": url, "WAYPOST_DATA": str(folder), "MEILI_SEARCH_KEY": str(keys.search),
        "WAYPOST_READ_RATE": "1000000",
    }  # fmt: skip
    feeding = {**asking, "MEILI_INDEXER_KEY": str(keys.indexer), "MEILI_TASKS_KEY": str(keys.tasks)}
    command = [sys.executable, "-m", "registry.cli"]
    feeder = Process([*command, "worker", "--drain-only"], feeding, folder / "feeder.log")
    api = Process([*command, "serve", "--port", str(serving)], asking, folder / "api.log")
    feeder.start()
    api.start()
    try:
        await until_answering(f"http://127.0.0.1:{serving}", "/readyz")
        stages = await _outages(options, engine, f"http://127.0.0.1:{serving}", url)
    finally:
        for one in (api, feeder, engine):
            one.stop()
        if options.logs:
            await asyncio.to_thread(keep_logs, folder, options.logs)
    for stage in stages:
        say(stage)
    wrong = [stage.name for stage in stages if not stage.is_right]
    say(f"wrong: {wrong}")
    return int(bool(wrong) or any(stages[at].healed_after is None for at in (0, 1, 3, 5)))


async def _outages(options: argparse.Namespace, engine: Process, api: str, url: str) -> list[Stage]:
    watch = Watch(api)
    asking = [asyncio.create_task(watch.ask()) for _ in range(ASKERS)] + [asyncio.create_task(watch.look())]
    stages = [await watch.during("all is well", options.seconds)]
    stages.append(await watch.burst(BURST))
    engine.kill()
    stages.append(await watch.during("the engine was killed", options.seconds))
    engine.start()
    await until_answering(url)
    stages.append(await watch.during("it answers again", options.seconds, heals=True))
    engine.send(signal.SIGSTOP)
    stages.append(await watch.during("the engine hangs", options.seconds))
    engine.send(signal.SIGCONT)
    stages.append(await watch.during("it goes on", options.seconds, heals=True))
    for one in asking:
        one.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    await watch.close()
    return stages


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
