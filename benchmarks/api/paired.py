"""The times of `/api/discover` beside one client at its limit, round by round in turns with the times without it.

An honest client asks distinct questions at a fixed rate, and each answer is timed from when its request was due. The
other client sends one kind of request on AT_ONCE connections, as fast as it is answered, until the round ends; when it
is refused it waits a moment and tries again. It has a new address, and so a whole minute's allowance, in every round
of some seconds: it may do several times as much as a client that keeps one address.
"""

import asyncio
import contextlib
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Final
from urllib.parse import quote

from benchmarks.api import documents
from benchmarks.search import load
from benchmarks.search.texts import Texts
from benchmarks.sides import served
from benchmarks.trees import HERE, ROOT, exported
from registry.store.embedded_postgres import server as embedded

PROGRAM: Final = "benchmarks.api.server"
AT_ONCE: Final = 10
REFUSED_SECONDS: Final = 0.2
FACETS: Final = (
    "format,auth_type,pricing_type,trust_level,protocol,semantic_type,side_effects,domain,tld,language,category"
)

Request = tuple[str, str, bytes]
"""Method, target and body."""


@dataclass
class Times:
    """Milliseconds of the honest requests by round, and what the other client sent and got."""

    rounds: list[list[float]] = field(default_factory=list)
    sent: int = 0
    answered: int = 0

    @property
    def took(self) -> list[float]:
        return list(itertools.chain.from_iterable(self.rounds))


def kinds(questions: Iterator[str]) -> dict[str, Callable[[], Request]]:
    """Return what the other client may send; the empty name is for no other client."""
    number = itertools.count(1)
    drafts = {name: make("draft.example.dev") for name, make in (("adp", documents.adp), ("mcp", documents.mcp))}
    pasted = b'{"manifest": %s}' % drafts["adp"]

    def get(target: str) -> Request:
        return "GET", target, b""

    return {
        "": lambda: get("/healthz"),
        "validate, 1.9 MB": lambda: ("POST", "/api/validate", drafts["adp"]),
        "validate, 4,900 tools": lambda: ("POST", "/api/validate", drafts["mcp"]),
        "pasted manifest, 1.9 MB": lambda: ("POST", "/api/services", pasted),
        "translate a large service": lambda: get("/api/services/large-mcp.example/manifest/awp"),
        "a large service": lambda: get("/api/services/large-adp.example"),
        "a large service, details": lambda: get("/api/services/large-mcp.example?include_details=true"),
        "discover, all facets": lambda: get(f"/api/discover?facets={FACETS}&q={quote(next(questions))}"),
        "discover, 50 rows": lambda: get(f"/api/discover?limit=50&highlights=true&q={quote(next(questions))}"),
        "discover": lambda: get(f"/api/discover?q={quote(next(questions))}"),
        "list, deep": lambda: get(f"/api/services?limit=100&sort=name&offset={15_000 + next(number)}"),
        "list, search": lambda: get(f"/api/services?limit=100&search=x{next(number)}"),
        "list, side_effects": lambda: get(f"/api/services?limit=100&side_effects=unknown&offset={next(number)}"),
        "health": lambda: get("/api/health"),
        "submissions": lambda: ("POST", "/api/services", b'{"domain": "h%d.example.dev"}' % next(number)),
        "opt-outs": lambda: ("POST", "/api/opt-outs", b'{"domain": "o%d.example.dev"}' % next(number)),
    }


def measure(
    services: int, rounds: int, requests: int, rate: float, only: Sequence[str], against: str | None
) -> dict[tuple[str, str], Times]:
    """Return the times by side and kind. A round is one turn of every kind, `requests` at `rate` per second each."""
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # the account that runs the database must reach its folder
        trees = {HERE: ROOT}
        if against:
            trees[against] = exported(against, folder / "other", PROGRAM, "migrations", "pyproject.toml")
        database = embedded.start(folder / "postgres")
        try:
            with served(PROGRAM, trees, database.dsn, folder, services) as sides:
                ports = {side.name: side.port for side in sides}
                return asyncio.run(_rounds(ports, rounds, requests, rate, only))
        finally:
            database.release()


async def _rounds(
    ports: dict[str, int], rounds: int, requests: int, rate: float, only: Sequence[str]
) -> dict[tuple[str, str], Times]:
    questions = itertools.chain.from_iterable(Texts(seed).requests(10_000) for seed in itertools.count(7))
    chosen = {
        name: make
        for name, make in kinds(questions).items()
        if not name or not only or any(part in name for part in only)
    }
    times = {(side, kind): Times() for side in ports for kind in chosen}
    client = itertools.count(1)
    for number in range(rounds + 1):
        for kind, make in chosen.items():
            for side, port in ports.items():
                taken = times[side, kind]
                address = f"10.{number}.{next(client) % 60_000 // 250}.{next(client) % 250}"
                honest = [_honest(next(questions), n) for n in range(requests if number else requests // 10)]
                stop = asyncio.Event()
                others = [
                    asyncio.create_task(_other(port, address, make, stop, taken)) for _ in range(AT_ONCE if kind else 0)
                ]
                took = await load.open_loop(port, honest, rate)
                stop.set()
                await asyncio.gather(*others)
                if number:  # the first round warms up
                    taken.rounds.append(took)
                else:
                    taken.sent = taken.answered = 0
        print(f"round {number} of {rounds}", file=sys.stderr)
    return times


def _honest(question: str, number: int) -> bytes:
    """Return a discover request, each from an address of its own, so that no limit applies."""
    address = f"11.{number // 62_500}.{number // 250 % 250}.{number % 250}"
    return load.target(question).replace(b"\r\n\r\n", f"\r\nX-Forwarded-For: {address}\r\n\r\n".encode())


async def _other(port: int, address: str, make: Callable[[], Request], stop: asyncio.Event, times: Times) -> None:
    while not stop.is_set():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while not stop.is_set():
                status, closes = await _send(reader, writer, address, make())
                times.sent += 1
                times.answered += status not in (429, 503)
                if status in (429, 503):
                    await asyncio.sleep(REFUSED_SECONDS)
                if closes:
                    break
        writer.close()


async def _send(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str, request: Request
) -> tuple[int, bool]:
    """Return the status, and whether the server closes the connection."""
    method, target, body = request
    writer.write(
        f"{method} {target} HTTP/1.1\r\nHost: registry.example\r\nX-Forwarded-For: {address}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
    await reader.readexactly(length)
    return int(head.split()[1]), b"connection: close" in head


def rows(times: dict[tuple[str, str], Times]) -> list[tuple[str, ...]]:
    """Return a table. The ratio is the median over the rounds, of the round's p99 to that of the same side and round
    without another client: other work on the machine disturbs single rounds."""
    head = ("one client sends", "its requests a round", "answered", "p50 ms", "p99 ms", "× p99 alone")
    table: list[tuple[str, ...]] = [head]
    several = len({side for side, _ in times}) > 1
    for (side, kind), taken in times.items():
        count = len(taken.rounds)
        table.append((
            f"{side}: {kind or 'nothing'}" if several else kind or "nothing",
            f"{taken.sent / count:,.0f}", f"{taken.answered / count:,.0f}", f"{median(taken.took):.1f}",
            f"{median(map(_p99, taken.rounds)):.1f}", f"{_ratio(taken, times[side, '']):.2f}" if kind else "",
        ))  # fmt: skip
    return table


def as_json(times: dict[tuple[str, str], Times]) -> str:
    return json.dumps(
        [{"side": side, "kind": kind, "requests": len(taken.took), "sent": taken.sent, "answered": taken.answered,
          "p50": median(taken.took), "p99": [_p99(took) for took in taken.rounds]}
         for (side, kind), taken in times.items()]
    )  # fmt: skip


def load_average() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


def _ratio(times: Times, alone: Times) -> float:
    return median(_p99(beside) / _p99(without) for beside, without in zip(times.rounds, alone.rounds, strict=True))


def _p99(took: Sequence[float]) -> float:
    return quantiles(took, n=100)[98]
