"""Follow a how-to: apply the code blocks of a page of docs/ to a copy of the tree, and run its tests there.

The first line of a block names its file. With ", before `LINE`", the block goes before that line, which occurs once;
otherwise it is the whole file.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT, SHARED

COPIED = (
    "registry", "crawler", "migrations", "tests", "docs", "pyproject.toml", "Makefile", "README.md", "CHANGELOG.md",
)  # fmt: skip

_BLOCK = re.compile(r"```python\n# ([\w/.-]+)(?:, before `([^\n]+)`)?\n(.*?)```", re.DOTALL)


def blocks(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield (file, line before which the text goes, text) of each code block; no line: the whole file."""
    yield from _BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


def copy_tree(folder: Path) -> None:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
        else:
            shutil.copy(ROOT / name, folder)


def follow(page: str, folder: Path) -> None:
    """Apply the blocks of a page to a copy of the tree."""
    for name, line, text in blocks(page):
        path = folder / name
        if not line:
            path.write_text(text, encoding="utf-8")
            continue
        source = path.read_text(encoding="utf-8")
        assert source.count(f"\n{line}\n") == 1, f"{name}: {line}"
        path.write_text(source.replace(f"\n{line}\n", f"\n{text}{line}\n"), encoding="utf-8")


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy."""
    environment = {**os.environ, "WAYPOST_SHARED": str(SHARED)}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS,
        check=False,
    )  # fmt: skip


def make_docs(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Do in the copy what `make docs` does."""
    return run(folder, "-m", "docs.generate", *options)


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(folder, "-m", "pytest", "-n", "0", *arguments)
