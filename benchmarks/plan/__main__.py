"""`python -m benchmarks.plan`: CPU and memory of the pure part of a visit, compared with another commit.

No network: answers are prepared, and the plan is driven as the transport drives it. The sides take turns, round by
round, so that a slow phase of the machine affects all of them; the cheapest round of each side counts. CPU time is
measured, not wall time.
"""

import argparse
import cProfile
import json
import os
import pstats
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.plan.sites import KINDS
from benchmarks.plan.worker import prepared, visit_all
from benchmarks.trees import HERE, ROOT, exported, search_path


def main() -> None:
    options = _options()
    if options.profile:
        _profile(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        trees = {HERE: ROOT}
        if options.against:
            trees[options.against] = exported(options.against, Path(folder), "benchmarks.plan.worker")
        print(f"{sys.implementation.name} {sys.version.split()[0]}, {os.cpu_count()} cores, {options.rounds} rounds")
        workers = {side: _started(tree, options.hosts) for side, tree in trees.items()}
        rounds = [{side: _ask(process, "cpu") for side, process in workers.items()} for _ in range(options.rounds)]
        cpu = {side: {kind.name: min(turn[side][kind.name] for turn in rounds) for kind in KINDS} for side in workers}
        _report("CPU milliseconds of one host", cpu, 3)
        _report(
            "KB held by a visit before it ends", {side: _ask(process, "memory") for side, process in workers.items()}, 1
        )
        for worker in workers.values():
            worker.communicate()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plan", description=__doc__)
    parser.add_argument("--hosts", type=int, default=40, help="hosts of each kind (default 40)")
    parser.add_argument("--rounds", type=int, default=9, help="how often (default 9)")
    parser.add_argument("--against", metavar="REV", help="also measure another commit, in turns with this tree")
    parser.add_argument("--profile", metavar="KIND", help="the functions that take the time for one kind, no figures")
    return parser.parse_args()


def _started(tree: Path, hosts: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-P", "-c", "from benchmarks.plan.worker import main; main()", str(hosts)],
        env={**os.environ, "PYTHONPATH": search_path(tree)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _ask(worker: "subprocess.Popen[str]", figure: str) -> dict[str, float]:
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(figure + "\n")
    worker.stdin.flush()
    answer: dict[str, float] = json.loads(worker.stdout.readline())
    return answer


def _report(title: str, sides: dict[str, dict[str, float]], digits: int) -> None:
    print(f"\n{title:34}" + "".join(f"{side:>12}" for side in sides))
    for kind in KINDS:
        _row(f"{kind.name} ({kind.share} %)", [side[kind.name] for side in sides.values()], digits)
    mixed = [sum(kind.share * side[kind.name] for kind in KINDS) / 100 for side in sides.values()]
    _row("all, in these shares", mixed, digits)


def _row(name: str, figures: list[float], digits: int) -> None:
    ratio = f"{figures[1] / figures[0]:10.1f} times" if len(figures) > 1 else ""
    print(f"  {name:32}" + "".join(f"{figure:12.{digits}f}" for figure in figures) + ratio)


def _profile(options: argparse.Namespace) -> None:
    kind = next(candidate for candidate in KINDS if candidate.name == options.profile)
    visit_all(prepared(kind, 20, "warm"))
    sites = prepared(kind, options.hosts, "cold")
    profile = cProfile.Profile()
    profile.runcall(visit_all, sites)
    pstats.Stats(profile).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    main()
