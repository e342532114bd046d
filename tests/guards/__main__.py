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

from tests.guards.guard import Guard
from tests.guards.table import GUARDS
from tests.support.shared import ROOT

PARTS = ("crawler", "registry", "migrations", "tests", "pyproject.toml")
SECONDS = 600
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
def switched_off(guard: Guard, tree: Path) -> Iterator[None]:
    path = tree / guard.file
    kept = path.read_text(encoding="utf-8")
    if kept.count(guard.old) != 1:
        raise SystemExit(f"{guard.name}: the edit does not fit {guard.file}")
    _write(path, kept.replace(guard.old, guard.new))
    try:
        yield
    finally:
        _write(path, kept)


def _write(path: Path, text: str) -> None:
    """With a time of its own: bytecode counts as that of a source of the same size and second."""
    path.write_text(text, encoding="utf-8")
    moment = next(_seconds)
    os.utime(path, (moment, moment))


def passes(tree: Path, tests: Sequence[str], *, seconds: float | None = SECONDS, complain: bool = False) -> bool:
    """Whether all of them pass. Raises Unproven where one was skipped or cannot be collected."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:randomly", "-rs", *tests]
    # a third of the time is compiling, where the environment says not to keep what was compiled
    cache = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tree / ".bytecode")}
    try:
        done = subprocess.run(
            command, cwd=tree, env=os.environ | cache, check=False, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return False
    if complain and done.returncode:
        typer.echo(done.stdout[-3000:])
    if done.returncode not in (0, 1) or re.search(r"^SKIPPED \[", done.stdout, re.MULTILINE):
        raise Unproven(f"{' '.join(tests)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0


def noticed(guard: Guard, tree: Path) -> str:
    """What is wrong with its tests; empty when each of them turned red."""
    with switched_off(guard, tree):
        try:
            return ", ".join(test for test in guard.tests if passes(tree, [test]))
        except Unproven as unproven:
            return f"nothing was proven: {unproven}"


def chosen(arguments: Sequence[str]) -> list[Guard]:
    """Those with one of the parts in their name, or all from the one that is named; raises SystemExit for none."""
    if arguments[:1] == ["--from"]:
        found = list(dropwhile(lambda guard: guard.name not in arguments[1:], GUARDS))
    else:
        found = [guard for guard in GUARDS if not arguments or any(part in guard.name for part in arguments)]
    if not found:
        raise SystemExit("no guard has such a name")
    return found


def main(arguments: Sequence[str]) -> int:
    guards = chosen(arguments)
    with copy_of_the_tree() as tree:
        everything = sorted(set(chain.from_iterable(guard.tests for guard in guards)))
        if not passes(tree, everything, seconds=None, complain=True):
            typer.echo("tests fail with every guard in its place")
            return 1
        typer.echo(f"green  {len(everything)} tests with every guard in its place")
        useless = 0
        for guard in guards:
            wrong = noticed(guard, tree)
            useless += bool(wrong)
            typer.echo(f"{'GREEN' if wrong else 'red  '}  {guard.name}" + (f": {wrong}" if wrong else ""))
    typer.echo(f"{len(guards)} guards switched off, {useless} of them not missed")
    return 1 if useless else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
