"""Switches each guard off in a copy of the tree and runs its tests: `python -m tests.guards [PART OF A NAME ...]`.

Red with the edit, green without it; otherwise the exit code is 1. The working tree is never touched. A run that was
interrupted goes on with `--from NAME`, the last name that it said.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, count, dropwhile
from pathlib import Path

import typer

from tests.guards.guard import Guard, find, switched_off
from tests.guards.table import GUARDS
from tests.support.shared import ROOT

PARTS = ("crawler", "registry", "migrations", "tests", "pyproject.toml")
SECONDS = 120
"""For the tests of one guard: without it, some would wait for ever."""

_seconds = count(1)


class Unproven(Exception):
    """Nothing was proven; the message says of which tests, and what they said."""


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
def edited(guard: Guard, tree: Path) -> Iterator[None]:
    """Switch the guard off in the tree until the block ends. Raise ValueError where its edit does not fit."""
    path = find(tree, guard.key)
    original = path.read_text(encoding="utf-8")
    _write(path, switched_off(original, guard))
    try:
        yield
    finally:
        _write(path, original)


def _write(path: Path, text: str) -> None:
    """With a time of its own: bytecode counts as that of a source of the same size and second."""
    path.write_text(text, encoding="utf-8")
    moment = next(_seconds)
    os.utime(path, (moment, moment))


def passes(tree: Path, tests: Sequence[str], *, seconds: float | None = SECONDS, print_failures: bool = False) -> bool:
    """Whether all of them pass. Raises Unproven where one was skipped or cannot be collected."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:randomly", "-rs", *tests]
    # a third of the time is compiling, where the environment says not to keep what was compiled
    cache = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tree / ".bytecode")}
    limit = {"WAYPOST_TEST_HANG_SECONDS": "60"}
    try:
        process = subprocess.run(
            command,
            cwd=tree,
            env=os.environ | cache | limit,
            check=False,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return False
    if print_failures and process.returncode:
        typer.echo(process.stdout[-3000:])
    if process.returncode not in (0, 1) or re.search(r"^SKIPPED \[", process.stdout, re.MULTILINE):
        raise Unproven(f"{' '.join(tests)}\n{process.stdout[-2000:]}{process.stderr[-2000:]}")
    return process.returncode == 0


def problem_of(guard: Guard, tree: Path) -> str:
    """What is wrong with its tests; empty when each of them turned red."""
    with edited(guard, tree):
        try:
            return ", ".join(test for test in guard.tests if passes(tree, [test]))
        except Unproven as unproven:
            return f"nothing was proven: {unproven}"


def chosen(arguments: Sequence[str]) -> list[Guard]:
    """Those with one of the parts in their name, or all from the one that is named; raises SystemExit for none."""
    if arguments[:1] == ["--from"]:
        guards = list(dropwhile(lambda guard: guard.name not in arguments[1:], GUARDS))
    else:
        guards = [guard for guard in GUARDS if not arguments or any(part in guard.name for part in arguments)]
    if not guards:
        raise SystemExit("no guard has such a name")
    return guards


def main(arguments: Sequence[str]) -> int:
    guards = chosen(arguments)
    with copy_of_the_tree() as tree:
        tests = sorted(set(chain.from_iterable(guard.tests for guard in guards)))
        if not passes(tree, tests, seconds=None, print_failures=True):
            typer.echo("tests fail with every guard in its place")
            return 1
        typer.echo(f"green  {len(tests)} tests with every guard in its place")
        not_missed = 0
        for guard in guards:
            problem = problem_of(guard, tree)
            not_missed += bool(problem)
            typer.echo(f"{'GREEN' if problem else 'red  '}  {guard.name}" + (f": {problem}" if problem else ""))
    typer.echo(f"{len(guards)} guards switched off, {not_missed} of them not missed")
    return 1 if not_missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
