"""`python -m benchmarks.million --services N`: a whole registry of N services on one machine, step by step.

Each step is a process of its own: its CPU seconds, PostgreSQL's, its peak memory, and what it wrote. The services have
generated manifests (benchmarks/search/texts.py), which are recorded by the crawler's own use cases, without a network.
Everything is in a temporary folder (`--folder` names where) and deleted afterwards: about 25 KB a service.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from benchmarks.crawl import postgres
from benchmarks.crawl.report import machine, table, write_into
from benchmarks.search import load
from benchmarks.search.texts import Texts
from benchmarks.sides import command, end, new_database
from registry.store.embedded_postgres import server as embedded

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_SERVE: Final = "benchmarks.search.tree"


@dataclass(frozen=True, slots=True)
class Step:
    """`cpu` and `postgres` in CPU seconds; `memory`: peak resident MB of the step's process."""

    name: str
    count: int
    cpu: float
    postgres: float
    wall: float
    memory: float
    note: str = ""

    def row(self) -> tuple[str, ...]:
        each = 1e3 * self.cpu / max(1, self.count)
        return (self.name, f"{self.count:,}", f"{self.cpu:,.1f}", f"{each:.3f}", f"{self.postgres:,.1f}",
                f"{self.wall:,.0f}", f"{self.memory:,.0f}", self.note)  # fmt: skip


class Machine:
    """The database server, the folder, and the steps so far."""

    def __init__(self, folder: Path, server: str) -> None:
        self.folder = folder
        self.server = server
        self.postmaster = postgres.main_process(server)
        self.steps: list[Step] = []

    def environment(self, database: str, data: str) -> dict[str, str]:
        return {
            **os.environ, "DATABASE_URL": database, "WAYPOST_DATA": str(self.folder / data),
            "WAYPOST_DUMPS": str(self.folder / "dumps"), "WAYPOST_PUBLIC_URL": "https://origin.example",
            "WAYPOST_LOG_LEVEL": "WARNING",
        }  # fmt: skip

    def run(self, name: str, command: Sequence[str], environment: dict[str, str], count: int) -> dict[str, Any]:
        """Run a process to its end and add its step. Return the JSON in the last line of its output."""
        begun, server = time.monotonic(), postgres.cpu(self.postmaster)
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            lines = process.stdout.read().splitlines()
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{name} failed ({process.returncode})")
        self._add(name, count, used.ru_utime + used.ru_stime, server, begun, used.ru_maxrss / 1024)
        answer: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        return answer

    def _add(self, name: str, count: int, cpu: float, server: float, begun: float, memory: float) -> None:
        spent = postgres.cpu(self.postmaster) - server
        self.note(Step(name, count, cpu, spent, time.monotonic() - begun, memory))

    def note(self, step: Step) -> None:
        self.steps.append(step)
        print("\t".join(step.row()), file=sys.stderr, flush=True)

    def waypost(self, name: str, arguments: Sequence[str], environment: dict[str, str], count: int) -> dict[str, Any]:
        return self.run(name, [sys.executable, "-m", "registry.cli", *arguments, "--json"], environment, count)

    def act(self, name: str, arguments: Sequence[str], environment: dict[str, str], count: int) -> dict[str, Any]:
        return self.run(name, [sys.executable, "-m", "benchmarks.million.worker", *arguments], environment, count)


def measure(options: argparse.Namespace, folder: Path) -> list[Step]:
    """Return the steps of one run. The database and the files stay in `folder`."""
    server = embedded.start(folder / "postgres")
    try:
        return _measured(Machine(folder, server.dsn), options)
    finally:
        server.release()


def _measured(machine: Machine, options: argparse.Namespace) -> list[Step]:
    services = options.services
    database, copied = (new_database(machine.server, number, dict(os.environ)) for number in range(2))
    own = machine.environment(database, "own")
    spent = machine.act("seed and record", ["record", database, str(machine.postmaster), str(services)], own, services)
    whole = machine.steps.pop()
    recorded = Step("lease and record", services, spent["recorded"], spent["postgres"], whole.wall, whole.memory)
    machine.note(recorded)
    machine.act("sequence the feed", ["sequence", database], own, services)
    machine.waypost("reindex", ["reindex"], own, services)
    machine.waypost("verify-index", ["verify-index"], own, services)
    _serve(machine, own, database, services, options)
    exported = machine.waypost("export", ["export"], own, services)
    with _serving(own, database) as (port, _):
        copy = machine.environment(copied, "copy")
        counts = machine.act("mirror", ["mirror", copied, str(machine.folder), str(port)], copy, services)
    print(f"dump: {exported}; copied: {counts}", file=sys.stderr)
    sizes = {
        "database": _database_bytes(database), "the copy's database": _database_bytes(copied),
        "index": _bytes(machine.folder / "own" / "index"), "dump": _bytes(machine.folder / "dumps"),
    }  # fmt: skip
    machine.steps += [
        Step(name, 0, 0, 0, 0, 0, f"{size / services / 1024:.1f} KB a service") for name, size in sizes.items()
    ]
    return machine.steps


def _serve(machine: Machine, own: dict[str, str], database: str, services: int, options: argparse.Namespace) -> None:
    """Ask one server: one question after the other, then at a rate, alone and beside a rebuild; then read the feed."""
    count = options.questions
    asked = [load.target(question) for question in Texts(seed=7).requests(3 * count + 100)]
    with _serving(own, database) as (port, server):
        asyncio.run(load.closed_loop(port, asked[:100], 1))  # warm-up

        def turn(name: str, requests: list[bytes], rate: float | None) -> None:
            begun, cpu, shared = time.monotonic(), server.cpu(), postgres.cpu(machine.postmaster)
            note = ""
            if rate is None:
                asyncio.run(load.closed_loop(port, requests, 1))
            else:
                took = asyncio.run(load.open_loop(port, requests, rate, 8))  # idle ones are closed after 5 s
                note = f"p50 {median(took):.1f} ms, p99 {quantiles(took, n=100)[98]:.1f} ms"
            spent = server.cpu() - cpu, postgres.cpu(machine.postmaster) - shared
            machine.note(Step(name, count, *spent, time.monotonic() - begun, server.memory(), note))

        turn("discover, one by one", asked[100 : count + 100], None)
        rate = options.rate or 0.5 * count / machine.steps[-1].cpu
        turn(f"discover, {rate:.0f} a second", asked[count + 100 : 2 * count + 100], rate)
        rebuild = subprocess.Popen(
            [sys.executable, "-m", "registry.cli", "reindex"], env=own, stdout=subprocess.DEVNULL
        )
        turn("the same beside a rebuild", asked[2 * count + 100 :], rate)
        if rebuild.wait():
            raise RuntimeError("the rebuild beside the questions failed")
        cpu = server.cpu()
        read = machine.act("feed", ["feed", str(port)], own, services)
        read["server_cpu"] = server.cpu() - cpu
        machine.note(replace(machine.steps.pop(), note=json.dumps(read)))


class _Server:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def cpu(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return int(next(row for row in status if "VmHWM" in row).split()[1]) / 1024


@contextmanager
def _serving(own: dict[str, str], database: str) -> Iterator[tuple[int, _Server]]:
    arguments = command(_SERVE, "serve", database, own["WAYPOST_DATA"])
    process = subprocess.Popen(arguments, env=own, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline()), _Server(process)
    finally:
        end(process)


def _database_bytes(database: str) -> int:
    with postgres.connected(database) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(str(row[0]))


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


HEAD: Final = ("", "services", "CPU s", "CPU ms each", "PostgreSQL s", "wall s", "peak MB", "")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description=__doc__)
    parser.add_argument("--services", type=int, default=1_000_000, help="how many services (1,000,000)")
    parser.add_argument("--questions", type=int, default=1_000, help="questions of a turn (1,000)")
    parser.add_argument("--rate", type=float, help="questions a second (half of what a core answers)")
    parser.add_argument("--folder", type=Path, help="where the temporary folder is made")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the table into its place on that page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-million-", dir=options.folder) as scratch:
        Path(scratch).chmod(0o755)  # the account that runs the database must reach its folder
        steps = measure(options, Path(scratch))
    rows = [HEAD, *(step.row() if step.count else (step.name, *[""] * 6, step.note) for step in steps)]
    print(table(rows, markdown=False), machine("uvicorn", "numpy"), sep="\n\n")
    if options.page is not None:
        write_into(
            options.page,
            f"million-{options.services}",
            f"{table(rows, markdown=True)}\n\n{machine('uvicorn', 'numpy')}",
        )


if __name__ == "__main__":
    main()
