"""`python -m benchmarks.assess`: documents per CPU second, compared with parsing alone and with another commit.

Everything is measured in one run, with the sides taking turns round by round, so that a slow phase of the machine
affects all of them. CPU time is measured, not wall time, so other work on the machine does not count.
"""

import argparse
import cProfile
import json
import os
import pstats
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median, quantiles

from benchmarks.assess.worker import assess, bodies, costs
from benchmarks.trees import HERE, ROOT, exported, search_path

_PARSERS = "parsers alone"


def main() -> None:
    options = _options()
    if options.profile:
        _profile(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        trees = {HERE: ROOT}
        if options.against:
            trees[options.against] = exported(options.against, Path(folder), "benchmarks.assess.worker")
        print(f"{sys.implementation.name} {sys.version.split()[0]}, {os.cpu_count()} cores, {options.rounds} rounds")
        _report("typical documents", _measured(trees, options.each, "-", options.rounds))
        if options.shared is not None:
            _report("recorded documents", _measured(trees, 0, str(options.shared), options.rounds))


def _options() -> argparse.Namespace:
    shared = Path(os.environ.get("WAYPOST_SHARED", ROOT.parent / "shared"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.assess", description=__doc__)
    parser.add_argument("--each", type=int, default=40, help="documents of each kind (default 40)")
    parser.add_argument("--rounds", type=int, default=7, help="how often all are judged (default 7)")
    parser.add_argument("--against", metavar="REV", help="also measure another commit, in turns with this tree")
    parser.add_argument("--profile", action="store_true", help="the functions that take the time, instead of figures")
    parser.add_argument("--only", metavar="KIND", help="with --profile: one kind of document")
    parser.add_argument("--shared", type=Path, default=shared if (shared / "corpus").is_dir() else None,
                        help="folder with recorded documents")  # fmt: skip
    return parser.parse_args()


def _measured(trees: dict[str, Path], each: int, shared: str, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Side -> kind -> the median over the rounds of the CPU milliseconds that each document took."""
    workers = {side: _started(tree, each, shared) for side, tree in trees.items()}
    workers[_PARSERS] = _started(ROOT, each, shared)  # beside them, a side would cost a tenth more than another
    timings: dict[str, list[dict[str, list[float]]]] = defaultdict(list)
    for _ in range(rounds):
        for side, worker in workers.items():
            for act, spent in _ask(worker, "jiter json" if side == _PARSERS else "assess").items():
                timings[side if act == "assess" else act].append(spent)
    for worker in workers.values():
        worker.communicate()
    return {
        side: {kind: _medians([turn[kind] for turn in turns]) for kind in turns[0]} for side, turns in timings.items()
    }


def _started(tree: Path, each: int, shared: str) -> "subprocess.Popen[str]":
    program = "from benchmarks.assess.worker import main; main()"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program, str(each), shared],
        env={**os.environ, "PYTHONPATH": search_path(tree)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _ask(worker: "subprocess.Popen[str]", acts: str) -> dict[str, dict[str, list[float]]]:
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(acts + "\n")
    worker.stdin.flush()
    answer: dict[str, dict[str, list[float]]] = json.loads(worker.stdout.readline())
    return answer


def _medians(turns: list[list[float]]) -> list[float]:
    return [median(costs_of_one) for costs_of_one in zip(*turns, strict=True)]


def _report(title: str, sides: dict[str, dict[str, list[float]]]) -> None:
    all_costs = {side: [cost for spent in kinds.values() for cost in spent] for side, kinds in sides.items()}
    print(f"\n{title}: {len(all_costs[HERE])}, CPU ms each")
    print(f"{'':20} {'docs':>5} {'p50':>8} {'p99':>8} {'a second':>9}")
    for kind, spent in sides[HERE].items():
        print(f"{kind:20} {_row(spent)}")
    for side, spent in all_costs.items():
        ratio = "" if side == HERE else f"   {sum(all_costs[HERE]) / sum(spent):.2f} times its time here"
        print(f"{'all: ' + side:20} {_row(spent)}{ratio}")


def _row(spent: list[float]) -> str:
    high = quantiles(spent, n=100)[98] if len(spent) > 1 else spent[0]
    return f"{len(spent):5} {median(spent):8.3f} {high:8.3f} {1e3 * len(spent) / sum(spent):9,.0f}"


def _profile(options: argparse.Namespace) -> None:
    chosen = [body for body in bodies(options.each, None) if options.only in (None, body.kind)]
    costs(assess, chosen)
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(options.rounds):
        costs(assess, chosen)
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    main()
