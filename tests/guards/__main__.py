"""Switches each guard off in a copy of the tree and runs its tests: `python -m tests.guards [PART OF A NAME ...]`.

Red with the edit, green without it; otherwise the exit code is 1. The working tree is never touched.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import typer

from tests.guards.table import GUARDS, Guard
from tests.support.shared import ROOT

PARTS = ("crawler", "registry", "migrations", "tests", "pyproject.toml")
SECONDS = 600


@contextmanager
def copy_of_the_tree() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="waypost-guards-") as folder:
        for part in PARTS:
            source, target = ROOT / part, Path(folder) / part
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        yield Path(folder)


@contextmanager
def switched_off(guard: Guard, tree: Path) -> Iterator[None]:
    path = tree / guard.file
    kept = path.read_text(encoding="utf-8")
    if kept.count(guard.old) != 1:
        raise SystemExit(f"{guard.name}: the edit does not fit {guard.file}")
    path.write_text(kept.replace(guard.old, guard.new), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(kept, encoding="utf-8")


def passes(tree: Path, tests: Sequence[str], *, complain: bool = False) -> bool:
    """Whether all of them pass. A test that was skipped, or that cannot be collected, proves nothing: SystemExit."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:randomly", "-rs", *tests]
    try:
        done = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    if complain and done.returncode:
        typer.echo(done.stdout[-3000:])
    if done.returncode not in (0, 1) or "SKIPPED" in done.stdout:
        raise SystemExit(f"{' '.join(tests)}: nothing was proven\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0


def main(parts: Sequence[str]) -> int:
    chosen = [guard for guard in GUARDS if not parts or any(part in guard.name for part in parts)]
    with copy_of_the_tree() as tree:
        everything = sorted(set(chain.from_iterable(guard.tests for guard in chosen)))
        if not passes(tree, everything, complain=True):
            typer.echo("tests fail with every guard in its place")
            return 1
        useless = []
        for guard in chosen:
            with switched_off(guard, tree):
                green = [test for test in guard.tests if passes(tree, [test])]
            typer.echo(f"{'GREEN' if green else 'red  '}  {guard.name}" + (f": {', '.join(green)}" if green else ""))
            useless += green
    typer.echo(f"{len(chosen)} guards switched off, {len(useless)} tests that did not notice")
    return 1 if useless else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
