"""Switch each guard off in a copy of the tree and run its tests: `python -m tests.guards [PART OF A NAME ...]`.

Red with the edit, green without it; otherwise the exit code is 1. The working tree is never touched. `--from NAME`
resumes an interrupted run at the last name that it printed.
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


def run_tests(tree: Path, tests: Sequence[str], seconds: float | None = SECONDS) -> str | None:
    """Return what pytest prints about the tests; None when they take too long. Raise Unproven where one was skipped or
    cannot be collected."""
    command = [sys.executable, "-m", "pytest", "-q", "-rsfE", *tests]
    # a third of the time is compiling, where the environment says not to keep what was compiled
    environment = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tree / ".bytecode")}
    environment |= {"WAYPOST_TEST_HANG_SECONDS": "60"}
    try:
        process = subprocess.run(
            command, cwd=tree, env=os.environ | environment, capture_output=True, text=True, timeout=seconds
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    if process.returncode not in (0, 1) or re.search(r"^SKIPPED \[", process.stdout, re.MULTILINE):
        raise Unproven(f"{' '.join(tests)}\n{process.stdout[-2000:]}{process.stderr[-2000:]}")
    return process.stdout


def green(tree: Path, tests: Sequence[str], seconds: float | None = SECONDS) -> list[str]:
    """Return the tests that pass in all their cases. Raise Unproven. Tests that take too long together run alone."""
    output = run_tests(tree, tests, seconds)
    if output is None:
        return [passed for test in tests for passed in green(tree, [test])] if len(tests) > 1 else []
    red = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    return [t for t in tests if not any(name == t or name.startswith((f"{t}[", f"{t}::")) for name in red)]


def problem_of(guard: Guard, tree: Path) -> str:
    """Return what is wrong with its tests; empty when each of them turned red."""
    with edited(guard, tree):
        try:
            return ", ".join(green(tree, guard.tests))
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
        if red := set(tests) - set(green(tree, tests, None)):
            typer.echo(f"tests fail with every guard in its place: {', '.join(sorted(red))}")
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
