"""A mixed attack on a running registry, beside honest clients: `make torture-api`, `python -m tests.flow.torture_api`.

The command starts itself again in a network namespace of its own (`tests.crawler.namespace`), where every address is
local: `waypost serve` with its worker and its embedded database, a web of honest, silent and missing hosts, and clients
with addresses of their own. First honest clients alone (`--calm` seconds), then all attacks at once (`--seconds`). It
prints a table and exits with 1 when a bound is broken.

Reads are timed in a process of their own. That of the attackers has the lowest priority, because in life they run on
other machines.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import typer

from tests.crawler.namespace import NameServer, Records, enclose, run_enclosed, why_not
from tests.support.demo import forget_database
from tests.support.shared import ROOT
from tests.support.sites import Exchange, Reply, Site, Sites

HONEST: Final = "203.0.112.9"
SLOW_CLIENTS, FLOOD_CLIENTS = 12, 20
SUPPLY: Final = 400  # honest hosts that wait to be submitted, and as many to be opted out
EVERY_SECONDS: Final = 5.0  # between two honest submissions, and between two honest opt-outs
READS_A_SECOND: Final = 8.0  # below the default limit of 600 a minute
ATTACKS_A_SECOND: Final = 5.0  # of each flooding client

HALF_REQUESTS: Final = (b"GET /api/disc", b"POST /api/validate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")

BOUNDS: Final = {"read_p99_ms": 50.0, "read_factor": 2.0, "opt_out_s": 15.0, "visit_s": 10.0}


@dataclass
class Honest:
    """What the honest clients saw in one phase; durations in seconds. `failed`: reads without a 200."""

    reads: list[float] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    opt_outs: list[float] = field(default_factory=list)
    visits: list[float] = field(default_factory=list)
    unfinished: int = 0

    def read_figures(self) -> dict[str, Any]:
        return {
            "reads": len(self.reads),
            "failed": dict(self.failed),
            "read_p50_ms": round(statistics.median(self.reads) * 1_000, 1),
            "read_p99_ms": round(_p99(self.reads) * 1_000, 1),
        }

    def write_figures(self) -> dict[str, Any]:
        return {
            "opt_outs": len(self.opt_outs),
            "opt_out_max_s": round(max(self.opt_outs, default=0), 1),
            "visits": len(self.visits),
            "visit_max_s": round(max(self.visits, default=0), 1),
            "unfinished": self.unfinished,
        }


def _p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


# the web


async def _never_answer(exchange: Exchange) -> None:
    await asyncio.sleep(3_600)


def _manifest(host: str) -> bytes:
    capability = {"name": "send_letter", "description": f"Send a letter by {host}", "detail_url": "/capabilities/send"}
    return json.dumps(
        {
            "aid_version": "0.1", "name": f"Letters {host}", "domain": host, "base_url": f"https://{host}",
            "description": "Sends letters on paper for agents", "auth": {"type": "none"}, "capabilities": [capability],
        }
    ).encode()  # fmt: skip


def _web() -> dict[str, Site]:
    opted_out = {"/.well-known/waypost-optout.txt": Reply(b"opt-out", type="text/plain")}
    sites: dict[str, Site] = {}
    for number in range(SUPPLY):
        sites[f"letters-{number}.com"] = {"/.well-known/agent": Reply(_manifest(f"letters-{number}.com"))}
        sites[f"leaving-{number}.com"] = opted_out
    for number in range(FLOOD_CLIENTS * 100):
        sites[f"silent-{number}.com"] = _never_answer
    return sites


def _records(name: str) -> Records | None:
    """Return a public address of its own for each site, and none for the invented names."""
    if name.startswith(("nope", "_")):
        return None
    number = zlib.crc32(name.encode())
    return [("A", f"45.{number >> 16 & 255}.{number >> 8 & 255}.{1 + number % 250}")]


# clients


def _client(base: str, source: str) -> httpx2.AsyncClient:
    transport = httpx2.AsyncHTTPTransport(local_address=source, limits=httpx2.Limits(max_connections=20))
    return httpx2.AsyncClient(base_url=base, transport=transport, timeout=60)


async def _forever(pause: float, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        with contextlib.suppress(httpx2.HTTPError, OSError):
            await work()
        await asyncio.sleep(pause)


async def _read(base: str, seconds: float) -> Honest:
    """Ask different questions at a steady rate: a slow answer does not slow the next question."""
    seen = Honest()
    async with _client(base, HONEST) as client, asyncio.TaskGroup() as group:

        async def ask(number: int) -> None:
            began = time.perf_counter()
            try:
                answer = await client.get("/api/discover", params={"q": f"send a letter on paper {number}"})
            except httpx2.HTTPError as error:
                seen.failed[type(error).__name__] += 1
                return
            if answer.status_code == 200:
                seen.reads.append(time.perf_counter() - began)
            else:
                seen.failed[str(answer.status_code)] += 1

        for number in range(int(seconds * READS_A_SECOND)):
            group.create_task(ask(number))
            await asyncio.sleep(1 / READS_A_SECOND)
    return seen


async def _opt_out(base: str, seen: Honest, names: "Supply") -> None:
    """Ask for the opt-out of one site after another, each as another client, and wait for the verdict."""
    for number, host in enumerate(names):
        async with _client(base, f"203.0.111.{number % 250}") as client:
            began = time.perf_counter()
            await _accepted(client, "/api/opt-outs", {"domain": host})
            while True:
                status = (await client.get(f"/api/opt-outs/{host}")).json()["data"]
                if status["opted_out"]:
                    break
                if time.perf_counter() - began > 60:
                    seen.unfinished += 1
                    break
                await asyncio.sleep(0.25)
            seen.opt_outs.append(time.perf_counter() - began)
        await asyncio.sleep(EVERY_SECONDS)


async def _submit(base: str, seen: Honest, names: "Supply", sites: Sites) -> None:
    """Submit one host after another, each as another client, and wait for its first request."""
    for number, host in enumerate(names):
        async with _client(base, f"203.0.114.{number % 250}") as client:
            began = time.perf_counter()
            await _accepted(client, "/api/services?wait=0", {"domain": host})
            while not any(exchange.host == host for exchange in sites.seen[-20_000:]):
                if time.perf_counter() - began > 60:
                    seen.unfinished += 1
                    break
                await asyncio.sleep(0.1)
            seen.visits.append(time.perf_counter() - began)
        await asyncio.sleep(EVERY_SECONDS)


async def _accepted(client: httpx2.AsyncClient, path: str, body: dict[str, Any]) -> None:
    answer = await client.post(path, json=body)
    assert answer.status_code in (201, 202), (path, body, answer.text)


class Supply:
    """Names that are used once each, also by several loops over it."""

    def __init__(self, kind: str) -> None:
        self._names = iter([f"{kind}-{number}.com" for number in range(SUPPLY)])

    def __iter__(self) -> "Supply":
        return self

    def __next__(self) -> str:
        return next(self._names)


# attacks


@dataclass
class Attack:
    """All attacks on one registry; `statuses` counts what each of them got."""

    base: str
    statuses: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def tasks(self) -> list[Coroutine[Any, Any, None]]:
        flooders = range(FLOOD_CLIENTS)
        return [
            *(self.unfinished(f"198.51.{client}.1") for client in range(SLOW_CLIENTS) for _ in range(100)),
            *(self.large_documents("192.0.3.1") for _ in range(10)),
            *(self.flood("submissions of missing names", f"45.90.{client}.1", self.missing) for client in flooders),
            *(self.flood("submissions of silent hosts", f"45.91.{client}.1", self.silent) for client in flooders),
            *(self.flood("opt-outs of silent hosts", f"45.92.{client}.1", self.opt_outs) for client in flooders),
            self.flood("hostile parameters", "45.93.0.1", self.parameters),
            self.flood("expensive reads", "45.94.0.1", self.expensive),
        ]

    def count(self, kind: str, answer: httpx2.Response) -> None:
        self.statuses.setdefault(kind, Counter())[str(answer.status_code)] += 1

    async def unfinished(self, source: str) -> None:
        """Hold a connection with half a request, and come again."""

        async def hold() -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0))
            writer.write(random.choice(HALF_REQUESTS))
            answer = await reader.read(12)
            self.statuses.setdefault("unfinished requests", Counter())[answer[9:].decode() or "closed"] += 1
            writer.close()

        await _forever(1, hold)

    async def large_documents(self, source: str) -> None:
        item = {"name": "capability", "description": "a document that is expensive to check " * 9}
        document = json.dumps({"aid_version": "0.1", "name": "Large", "capabilities": [item] * 4_900}).encode()[
            :1_900_000
        ]
        body = document[: document.rindex(b"}, {")] + b"}]}"
        async with _client(self.base, source) as client:

            async def send() -> None:
                self.count("validate, 1.9 MB", await client.post("/api/validate", content=body))

            await _forever(0.1, send)

    async def flood(
        self, kind: str, source: str, request: Callable[[httpx2.AsyncClient, int], Awaitable[httpx2.Response]]
    ) -> None:
        numbers = iter(range(sys.maxsize))
        async with _client(self.base, source) as client:

            async def send() -> None:
                self.count(kind, await request(client, next(numbers)))

            await _forever(1 / ATTACKS_A_SECOND, send)

    async def missing(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        """Names below domains of others, the next honest ones included."""
        return await client.post("/api/services?wait=0", json={"domain": f"nope{number}.letters-{number % SUPPLY}.com"})

    async def silent(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        return await client.post("/api/services?wait=20", json={"domain": f"silent-{random.randrange(2_000)}.com"})

    async def opt_outs(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        return await client.post("/api/opt-outs", json={"domain": f"silent-{random.randrange(2_000)}.com"})

    async def parameters(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        names = ["q", "facets", "format", "limit", "offset", "cursor", "sort", "auth_type", "tld", "min_score", "x"]
        values = ["", "tld,tld", "é" * 300, "-1", "1e9", "nan", "%00", "a,b,,a", "'\"\\", "9" * 400, "mail", "score"]
        chosen = [(random.choice(names), random.choice(values)) for _ in range(random.randrange(1, 6))]
        return await client.get("/api/discover", params=chosen)

    async def expensive(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        paths = ["/api/discover?q=letter&limit=100&facets=tld", "/api/discover?q=&offset=900&limit=100", "/api/rubric"]
        return await client.get(paths[number % len(paths)])


# the run


@contextlib.asynccontextmanager
async def _served(folder: Path) -> AsyncIterator[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    environment |= {"DATABASE_URL": "", "MEILI_URL": "", "WAYPOST_DATA": str(folder / "data")}
    log = folder / "serve.log"
    with log.open("wb") as output:
        serving = subprocess.Popen(  # noqa: ASYNC220  (at once, and nothing else runs yet)
            [sys.executable, "-m", "registry.cli", "serve", "--port", "0", "--host", "127.0.0.1"],
            env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    try:
        while "the API answers at" not in (text := log.read_text(errors="replace")):
            if serving.poll() is not None:
                raise RuntimeError(text)
            await asyncio.sleep(0.2)
        yield text.partition("the API answers at ")[2].split()[0]
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.wait(60)
        forget_database(folder / "data")
        text = log.read_text(errors="replace")
        if "Traceback" in text or "request.failed" in text:
            typer.echo(text[-5_000:], err=True)


async def _until_indexed(base: str, host: str) -> None:
    """Submit a first host and wait until it is found: until then there is no index to ask."""
    async with _client(base, "203.0.113.250") as client:
        await _accepted(client, "/api/services?wait=0", {"domain": host})
        while host not in (await client.get("/api/discover?q=send+a+letter")).text:  # noqa: ASYNC110  (another process)
            await asyncio.sleep(0.5)


async def _for(seconds: float, *work: Coroutine[Any, Any, None]) -> None:
    """Run all work for so long. Raise the first error of any part."""
    tasks = [asyncio.create_task(part) for part in work]
    done, pending = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    for task in done:
        task.result()


async def _part(part: str, base: str, seconds: float) -> dict[str, Any]:
    """Do one part in a process of its own and return its figures."""
    command = [sys.executable, "-m", "tests.flow.torture_api", "--part", part, "--base", base, "--seconds"]
    process = await asyncio.create_subprocess_exec(*command, str(seconds), cwd=ROOT, stdout=subprocess.PIPE)
    output, _ = await process.communicate()
    figures: dict[str, Any] = json.loads(output)
    return figures


async def _attack(base: str, seconds: float) -> dict[str, Any]:
    os.nice(19)
    attack = Attack(base)
    await _for(seconds, *attack.tasks())
    return {kind: dict(counts) for kind, counts in attack.statuses.items()}


async def _measure(folder: Path, calm_seconds: float, seconds: float) -> dict[str, Any]:
    NameServer.start(_records)
    async with Sites(_web(), places=("0.0.0.0",), port=443) as sites:
        os.environ["SSL_CERT_FILE"] = str(sites.write_authority(folder))
        async with _served(folder) as base:
            leaving, arriving = Supply("leaving"), Supply("letters")
            await _until_indexed(base, next(arriving))

            async def phase(length: float, *parts: str) -> list[dict[str, Any]]:
                """Return the figures of the honest clients, then those of further parts."""
                seen = Honest()
                writes = _for(length, _opt_out(base, seen, leaving), _submit(base, seen, arriving, sites))
                _, reads, *others = await asyncio.gather(
                    writes, *(_part(part, base, length) for part in ("reads", *parts))
                )
                return [{**reads, **seen.write_figures()}, *others]

            (calm,) = await phase(calm_seconds)
            attacked, attacks = await phase(seconds, "attacks")
    return {"seconds": [calm_seconds, seconds], "calm": calm, "attacked": attacked, "attacks": attacks}


def broken_bounds(measured: dict[str, Any]) -> list[str]:
    """Return what is worse than it may be, in words."""
    calm, attacked = measured["calm"], measured["attacked"]
    allowed = max(BOUNDS["read_p99_ms"], BOUNDS["read_factor"] * calm["read_p99_ms"])
    faults = [kind for kind, counts in measured["attacks"].items() if any(status == "500" for status in counts)]
    checks = {
        f"reads that failed: {attacked['failed']}": bool(attacked["failed"]),
        f"p99 of reads: {attacked['read_p99_ms']} ms, allowed {allowed}": attacked["read_p99_ms"] > allowed,
        f"slowest opt-out: {attacked['opt_out_max_s']} s": attacked["opt_out_max_s"] > BOUNDS["opt_out_s"],
        f"slowest first visit: {attacked['visit_max_s']} s": attacked["visit_max_s"] > BOUNDS["visit_s"],
        f"never finished: {attacked['unfinished']}": attacked["unfinished"] > 0,
        f"status 500 for {faults}": bool(faults),
    }
    return [words for words, is_broken in checks.items() if is_broken]


def table(measured: dict[str, Any]) -> str:
    """Return the figures as tables in Markdown."""
    rows = [
        ("reads of `/api/discover`, not answered", "reads", "failed"),
        ("reads, p50 and p99 in ms", "read_p50_ms", "read_p99_ms"),
        ("opt-outs, slowest verdict in s", "opt_outs", "opt_out_max_s"),
        ("submissions, slowest begin of the visit in s", "visits", "visit_max_s"),
    ]
    lines = [f"| honest | alone, {measured['seconds'][0]:.0f} s | attacked, {measured['seconds'][1]:.0f} s |"]
    lines.append("| --- | ---: | ---: |")
    for name, first, second in rows:
        cells = (f"{phase[first]}, {_shown(phase[second])}" for phase in (measured["calm"], measured["attacked"]))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "| attack | answers |", "| --- | --- |"]
    for kind, counts in measured["attacks"].items():
        shown = ", ".join(f"{status}: {number}" for status, number in sorted(counts.items()))
        lines.append(f"| {kind} | {shown} |")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return str(value or 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--calm", type=float, default=60)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=("reads", "attacks"), help=argparse.SUPPRESS)
    parser.add_argument("--base", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part == "attacks":
        typer.echo(json.dumps(asyncio.run(_attack(options.base, options.seconds))))
        return
    if options.part == "reads":
        typer.echo(json.dumps(asyncio.run(_read(options.base, options.seconds)).read_figures()))
        return
    if options.inside:
        with tempfile.TemporaryDirectory(prefix="waypost-torture-") as folder:
            enclose(Path(folder))
            typer.echo(json.dumps(asyncio.run(_measure(Path(folder), options.calm, options.seconds))))
        return
    if (reason := why_not()) is not None:
        sys.exit(f"not run: {reason}")
    arguments = ("--inside", "--seconds", str(options.seconds), "--calm", str(options.calm))
    measured = run_enclosed("tests.flow.torture_api", *arguments, seconds=options.seconds + options.calm + 600)
    typer.echo(table(measured))
    if faults := broken_bounds(measured):
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
