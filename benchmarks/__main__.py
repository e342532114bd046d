"""`python -m benchmarks`: run the benchmarks of reference.toml, and compare their ratios with the best ones so far.

Each figure is a ratio that one benchmark measures in one run: this tree beside another commit, or beside another
program. The best ratio that any commit reached is kept in reference.toml, so that a loss shows even if each single
change costs little. Exits with 1 when a ratio is worse than the best by more than TOLERANCE. Needs a quiet machine.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.crawl.report import table
from benchmarks.trees import ROOT

REFERENCE: Final = Path(__file__).with_name("reference.toml")
TOLERANCE: Final = 0.1
"""The part by which a ratio may be worse than the best one: runs on the same machine differ by as much."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A ratio of a benchmark.

    `command`: module and arguments, for `python -m`. `pattern`: finds the ratio in its output, or this tree's value and
    then the baseline's. `best`: the best ratio so far, with where it was measured in `by`.
    """

    name: str
    command: str
    pattern: str
    higher_is_better: bool
    best: float
    by: str

    def ratio(self, output: str) -> float:
        """Return the ratio in the output of the benchmark. Raise ValueError if it has none."""
        found = re.search(self.pattern, output, re.MULTILINE)
        if found is None:
            raise ValueError(f"{self.name}: the output of {self.command!r} has no {self.pattern!r}")
        value, *baseline = (float(text.replace(",", "")) for text in found.groups())
        return value / baseline[0] if baseline else value

    def is_worse(self, ratio: float) -> bool:
        if self.higher_is_better:
            return ratio < self.best * (1 - TOLERANCE)
        return ratio > self.best * (1 + TOLERANCE)


def figures(file: Path = REFERENCE) -> list[Figure]:
    return [Figure(name, **values) for name, values in tomllib.loads(file.read_text(encoding="utf-8")).items()]


def measured(wanted: Iterable[Figure], run: Callable[[str], str]) -> Mapping[str, float]:
    """Return the ratio of each figure by its name. `run` returns the output of a command; each is run once."""
    outputs: dict[str, str] = {}
    for figure in wanted:
        if figure.command not in outputs:
            outputs[figure.command] = run(figure.command)
    return {figure.name: figure.ratio(outputs[figure.command]) for figure in wanted}


def _run(command: str) -> str:
    print(f"python -m {command}", file=sys.stderr)
    done = subprocess.run([sys.executable, "-m", *command.split()], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    sys.stderr.buffer.write(done.stdout)
    return done.stdout.decode()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="figures to measure (all), by parts of their names")
    options = parser.parse_args()
    wanted = [figure for figure in figures() if not options.names or any(part in figure.name for part in options.names)]
    ratios = measured(wanted, _run)
    rows = [("figure", "ratio", "best", "measured by", "")]
    for figure in wanted:
        ratio = ratios[figure.name]
        verdict = "WORSE" if figure.is_worse(ratio) else ""
        rows.append((figure.name, f"{ratio:.2f}", f"{figure.best:.2f}", figure.by, verdict))
    print(table(rows, markdown=False))
    sys.exit(any(figure.is_worse(ratios[figure.name]) for figure in wanted))


if __name__ == "__main__":
    main()
