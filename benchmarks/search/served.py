"""`/api/discover` on a real server over loopback: requests per CPU second of its process, and PostgreSQL's CPU.

Each side (this tree, and another commit if one is named) has its own database and index with the same services; the
sides take turns round by round. Distinct: no question is asked twice of a side. Repeated: the same few questions over
and over, by clients without a cache. Half load: requests arrive evenly at half the rate that one core could answer,
judged by the cost of distinct ones, and are timed from when they were due.
"""

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from benchmarks.crawl import postgres
from benchmarks.search import load
from benchmarks.search.texts import Texts
from benchmarks.sides import served
from benchmarks.trees import HERE, ROOT, exported
from registry.store.embedded_postgres import server as embedded

AT_ONCE: Final = 8
PROGRAM: Final = "benchmarks.search.tree"
REPEATED: Final = 50  # different questions among the repeated ones
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Turn:
    """One round of one side. `cpu` and `postgres` in CPU seconds; `took` in milliseconds, at half load only."""

    side: str
    kind: str
    requests: int
    cpu: float
    postgres: float
    took: tuple[float, ...] = ()

    @property
    def per_cpu_second(self) -> float:
        return self.requests / self.cpu


@dataclass
class _Server:
    side: str
    port: int
    process: "subprocess.Popen[str]"
    questions: Iterator[str]

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self) -> float:
        """Return the peak resident set in MB."""
        line = next(row for row in Path(f"/proc/{self.process.pid}/status").read_text().splitlines() if "VmHWM" in row)
        return int(line.split()[1]) / 1024

    def next_requests(self, count: int) -> list[bytes]:
        return [load.target(next(self.questions)) for _ in range(count)]


def measure(services: int, requests: int, rounds: int, against: str | None) -> tuple[list[Turn], dict[str, float]]:
    """Return all turns, and each side's peak memory in MB."""
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # the account that runs the database must reach its folder
        trees = {HERE: ROOT}
        if against:
            trees[against] = exported(against, folder / "other", PROGRAM, "migrations", "pyproject.toml")
        database = embedded.start(folder / "postgres")
        try:
            with served(PROGRAM, trees, database.dsn, folder, services) as sides:
                questions = Texts(seed=7).requests(rounds * requests * 3 + 400)
                servers = [_Server(*side, iter(questions)) for side in sides]
                main = postgres.main_process(database.dsn)
                turns = list(asyncio.run(_turns(servers, main, requests, rounds)))
                return turns, {server.side: server.memory() for server in servers}
        finally:
            database.release()


async def _turns(servers: Sequence[_Server], main: int, requests: int, rounds: int) -> list[Turn]:
    turns: list[Turn] = []
    repeated = Texts(seed=8).requests(REPEATED)
    for server in servers:  # warm-up
        await load.closed_loop(server.port, [*server.next_requests(200), *load.cycled(repeated, 200)], AT_ONCE)
    for _ in range(rounds):
        for server in servers:
            turns.append(await _turn(server, "distinct", server.next_requests(requests), main))
        for server in servers:
            turns.append(await _turn(server, "repeated", load.cycled(repeated, 2 * requests), main))
        for server in servers:
            rate = 0.5 * median(
                turn.per_cpu_second for turn in turns if (turn.side, turn.kind) == (server.side, "distinct")
            )
            turns.append(await _turn(server, "half load", server.next_requests(requests), main, rate))
    return turns


async def _turn(server: _Server, kind: str, requests: list[bytes], main: int, rate: float | None = None) -> Turn:
    before = server.cpu(), postgres.cpu(main)
    took: list[float] = []
    if rate is None:
        await load.closed_loop(server.port, requests, AT_ONCE)
    else:
        took = await load.open_loop(server.port, requests, rate)
    return Turn(server.side, kind, len(requests), server.cpu() - before[0], postgres.cpu(main) - before[1], tuple(took))


def rows(turns: Sequence[Turn], memory: dict[str, float]) -> list[tuple[str, ...]]:
    """Return a table: medians of the rounds, ratios to the other side, percentiles over all timed requests."""
    table: list[tuple[str, ...]] = [
        ("", "requests/CPU-s", f"× {_other(turns)}", "PostgreSQL ms", "p50 ms", "p99 ms", "peak MB")
    ]
    for side, kind in dict.fromkeys((turn.side, turn.kind) for turn in turns):
        side_turns = [turn for turn in turns if (turn.side, turn.kind) == (side, kind)]
        rate = median(turn.per_cpu_second for turn in side_turns)
        other_rates = [turn.per_cpu_second for turn in turns if turn.side != side and turn.kind == kind]
        took = [ms for turn in side_turns for ms in turn.took]
        table.append((
            f"{side}: {kind}", f"{rate:,.0f}",
            f"{rate / median(other_rates):.2f}" if other_rates and side == HERE else "",
            f"{median(1e3 * turn.postgres / turn.requests for turn in side_turns):.2f}",
            f"{median(took):.1f}" if took else "", f"{quantiles(took, n=100)[98]:.1f}" if took else "",
            f"{memory[side]:.0f}",
        ))  # fmt: skip
    return table


def as_json(turn: Turn) -> dict[str, object]:
    return {**asdict(turn), "per_cpu_second": turn.per_cpu_second}


def _other(turns: Sequence[Turn]) -> str:
    return next((turn.side for turn in turns if turn.side != HERE), "")
