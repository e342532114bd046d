"""`python -m benchmarks.seed`: names per second of CPU into the frontier, by COPY and by executemany, and memory.

Both sides load the same names into separate databases on one embedded server, taking turns chunk by chunk. CPU time is
measured, not wall time. Afterwards the COPY side continues alone up to a million names: its memory must stay constant.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import psycopg

from registry.store.embedded_postgres import server as embedded
from registry.store.engine import libpq, sqlalchemy_url

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 2**20

Worker = subprocess.Popen[str]


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # if this runs as root, another account runs the server
        server = embedded.start(Path(folder))
        try:
            _measure(server.dsn, int((Path(folder) / "data" / "postmaster.pid").read_text().split()[0]), options)
        finally:
            server.release()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seed", description=__doc__)
    parser.add_argument("--names", type=int, default=1_000_000, help="names in all (default 1,000,000)")
    parser.add_argument("--chunk", type=int, default=20_000, help="names in one turn (default 20,000)")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each side (default 7)")
    return parser.parse_args()


def _measure(dsn: str, postmaster: int, options: argparse.Namespace) -> None:
    sides = {way: _started(_database(dsn, way), postmaster, way) for way in ("copy", "executemany")}
    print(f"{sys.implementation.name} {sys.version.split()[0]}, {os.cpu_count()} cores")
    turns: dict[str, list[dict[str, float]]] = {way: [] for way in sides}
    for _ in range(options.rounds):
        for way, worker in sides.items():
            turns[way].append(_ask(worker, options.chunk))
    for way, rounds in turns.items():
        own_cpu, server = (median(turn[figure] / turn["names"] for turn in rounds) for figure in ("cpu", "postgres"))
        print(f"{way:12} {1 / own_cpu:9,.0f} names per second of CPU, {1e6 * own_cpu:6.1f} us each;"
              f" PostgreSQL {1e6 * server:6.1f} us each")  # fmt: skip
    ratio = {figure: median(b[figure] / a[figure] for a, b in zip(turns["copy"], turns["executemany"], strict=True))
             for figure in ("cpu", "postgres")}  # fmt: skip
    print(f"executemany takes {ratio['cpu']:.1f} times the CPU of COPY, {ratio['postgres']:.1f} times in PostgreSQL")
    _grow(sides["copy"], turns["copy"], options)
    for worker in sides.values():
        worker.communicate()


def _grow(worker: Worker, rounds: list[dict[str, float]], options: argparse.Namespace) -> None:
    """Load the remaining names and print the memory from the third chunk on, after warm-up."""
    while sum(turn["names"] for turn in rounds) < options.names:
        rounds.append(_ask(worker, options.chunk))
    sizes = [turn["rss"] / MEGABYTE for turn in rounds[2:]]
    late = [turn["cpu"] / turn["names"] for turn in rounds[-options.rounds :]]
    print(f"{sum(turn['names'] for turn in rounds):,.0f} names: RSS {sizes[0]:.0f} MB at first, at most"
          f" {max(sizes):.0f} MB, {sizes[-1]:.0f} MB at the end;"
          f" {1e6 * median(late):.1f} us each at the end")  # fmt: skip


def _database(dsn: str, name: str) -> str:
    with psycopg.connect(libpq(sqlalchemy_url(dsn)), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE seed_{name} TEMPLATE template0")
    return sqlalchemy_url(dsn).set(database=f"seed_{name}").render_as_string(hide_password=False)


def _started(url: str, postmaster: int, way: str) -> Worker:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.seed.worker", url, str(postmaster), way],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _ask(worker: Worker, names: int) -> dict[str, float]:
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(f"{names}\n")
    worker.stdin.flush()
    answer: dict[str, float] = json.loads(worker.stdout.readline())
    return answer


if __name__ == "__main__":
    main()
