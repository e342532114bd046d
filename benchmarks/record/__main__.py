"""`python -m benchmarks.record`: CPU of leasing and recording visits, of this process and of PostgreSQL.

Nearly all hosts have no documents, so their cost matters most. The baseline is a COPY of the same rows of the ledger,
one transaction per batch; another commit can be measured beside this tree (`--against REV`). Everything is measured in
one run, with the sides taking turns round by round, on a PostgreSQL server of the benchmark.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import psycopg

from benchmarks.trees import HERE, ROOT, exported, search_path
from registry.store.embedded_postgres import server as embedded
from registry.store.engine import libpq, sqlalchemy_url

FIRST, AGAIN, COPY = "first visits", "visits again", "COPY alone"
SIZES: Final = """
SELECT name, (sum(pg_total_relation_size(relid)) / greatest(sum(n_live_tup), 1))::int
FROM pg_stat_user_tables, substring(relname FROM '^(visits|hosts|domains)') AS name WHERE name IS NOT NULL GROUP BY 1
"""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        server = embedded.start(Path(folder) / "postgres")
        trees = {HERE: ROOT}
        if options.against:
            parts = "benchmarks.record.worker", "migrations", "pyproject.toml"
            trees[options.against] = exported(options.against, Path(folder) / "other", *parts)
        print(f"CPython {sys.version.split()[0]}, {os.cpu_count()} cores, batches of {options.batch} domains, "
              f"{'no' if not options.hits else f'1 in {options.hits}'} hosts with a service")  # fmt: skip
        for domains in options.domains:
            _report(domains, _measured(server.dsn, trees, domains, options))
        server.release()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description=__doc__)
    parser.add_argument("--domains", type=int, nargs="+", default=[2_000, 20_000], help="sizes of the table")
    parser.add_argument("--batch", type=int, default=100, help="domains in a lease and a transaction (default 100)")
    parser.add_argument("--hosts", type=int, default=500, help="hosts that each side visits in a round (default 500)")
    parser.add_argument("--rounds", type=int, default=4, help="rounds of first visits, and of second ones (default 4)")
    parser.add_argument("--hits", type=int, default=0, help="one in how many hosts offers a service (default: none)")
    parser.add_argument("--against", metavar="REV", help="also measure another commit, in turns with this tree")
    return parser.parse_args()


Turns = dict[str, dict[str, list[dict[str, float]]]]  # side -> kind of visit -> what each round spent


def _measured(server: str, trees: dict[str, Path], domains: int, options: argparse.Namespace) -> Turns:
    turns: Turns = {side: {FIRST: [], AGAIN: [], COPY: []} for side in trees}
    with _databases(server, [*trees, COPY]) as databases:  # COPY has its own: beside it a side costs a tenth more
        postmaster = _postmaster(server)
        workers = {
            side: _started(tree, [databases[side], *map(str, (postmaster, domains, options.batch, options.hits))])
            for side, tree in {**trees, COPY: ROOT}.items()
        }
        for kind in (FIRST, AGAIN):
            for _ in range(options.rounds):
                for side in trees:
                    turns[side][kind].append(_ask(workers[side], f"visit {options.hosts}"))
                _ask(workers[COPY], f"visit {options.hosts}")
                turns[HERE][COPY].append(_ask(workers[COPY], f"copy {options.hosts}"))
            for worker in workers.values():
                _ask(worker, "later")
        for worker in workers.values():
            worker.communicate()
        for side in trees:
            with psycopg.connect(libpq(sqlalchemy_url(databases[side]))) as connection:
                connection.execute("ANALYZE")
                sizes = ", ".join(f"{size} of {table}" for table, size in connection.execute(SIZES).fetchall())
                print(f"bytes a row, indexes and dead ones included, {side}: {sizes}")
    return turns


@contextmanager
def _databases(server: str, sides: list[str]) -> Iterator[dict[str, str]]:
    """Yield the URL of an empty database for each side."""
    with psycopg.connect(libpq(sqlalchemy_url(server)), autocommit=True) as admin:
        names = {side: f"benchmark_{number}" for number, side in enumerate(sides)}
        for name in names.values():
            admin.execute(f"DROP DATABASE IF EXISTS {name}")
            admin.execute(f"CREATE DATABASE {name}")
        yield {
            side: sqlalchemy_url(server).set(database=name).render_as_string(hide_password=False)
            for side, name in names.items()
        }
        for name in names.values():
            admin.execute(f"DROP DATABASE {name}")


def _postmaster(server: str) -> int:
    with psycopg.connect(libpq(sqlalchemy_url(server))) as connection:
        stat = Path(f"/proc/{connection.info.backend_pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def _started(tree: Path, arguments: list[str]) -> "subprocess.Popen[str]":
    program = "import asyncio; from benchmarks.record.worker import main; asyncio.run(main())"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": search_path(tree)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _ask(worker: "subprocess.Popen[str]", act: str) -> dict[str, Any]:
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(act + "\n")
    worker.stdin.flush()
    answer: dict[str, Any] = json.loads(worker.stdout.readline())
    return answer


def _report(domains: int, sides: Turns) -> None:
    print(f"\n{domains:,} domains, CPU ms per host (median of the rounds)")
    print(f"{'':32} {'lease':>7} {'record':>7} {'both':>7} {'PostgreSQL':>11} {'hosts a CPU second':>19}")
    for side, kinds in sides.items():
        for kind, rounds in kinds.items():
            measured = [turn for turn in rounds if turn["hosts"]]
            if not measured:
                continue
            lease, record, server = (
                median(1e3 * turn[part] / turn["hosts"] for turn in measured)
                for part in ("lease", "record", "postgres")
            )
            total = lease + record
            name = f"{side}: {kind}" if kind != COPY else COPY
            print(f"{name:32} {lease:7.3f} {record:7.3f} {total:7.3f} {server:11.3f} {1e3 / total:19,.0f}")
    first_visits, copies = sides[HERE][FIRST], sides[HERE][COPY]
    ratio = _cost(first_visits) / _cost(copies)
    print(f"lease and record of a first visit cost {ratio:.1f} times the COPY of its row of the ledger", end="")
    for side, kinds in sides.items():
        if side != HERE:
            print(f"; {side} costs {_cost(kinds[FIRST]) / _cost(first_visits):.1f} times this tree", end="")
    print()


def _cost(rounds: list[dict[str, float]]) -> float:
    return median((turn["lease"] + turn["record"]) / turn["hosts"] for turn in rounds if turn["hosts"])


if __name__ == "__main__":
    main()
