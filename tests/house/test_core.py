"""The core is pure: no input or output, no clock, nothing of the outside. Imports alone cannot show that; calls can."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import Module, modules
from tests.support.shared import ROOT

CORE = "registry/core"

OUTSIDE = frozenset(
    {
        "asyncio", "concurrent", "ctypes", "fcntl", "fileinput", "ftplib", "glob", "http", "io", "locale", "logging",
        "mmap", "multiprocessing", "os", "pathlib", "platform", "random", "resource", "secrets", "select", "selectors",
        "shutil", "signal", "smtplib", "socket", "socketserver", "sqlite3", "ssl", "subprocess", "sys", "syslog",
        "tempfile", "time", "warnings", "zoneinfo",
    }
)  # fmt: skip
"""Of the standard library: what reaches files, the network, other processes, the environment, chance or the clock."""

LIBRARIES = frozenset(
    {
        "ada_url", "cryptography", "idna", "jiter", "jsonschema_rs", "numpy", "orjson", "pydantic", "rfc8785",
        "Stemmer", "tldextract", "yaml",
    }
)  # fmt: skip
"""Pure functions over bytes, and data. Another one is a decision: add it here with its reason in the commit."""

BUILTINS = frozenset({"open", "print", "input", "breakpoint", "exec", "eval", "compile", "__import__"})


def impurities(tree: ast.Module) -> Iterator[str]:
    """What a module of the core must not do, with its line."""
    for node in ast.walk(tree):
        line = f"line {getattr(node, 'lineno', 0)}"
        for name in _imported(node):
            root = name.partition(".")[0]
            if root in OUTSIDE or (root not in sys.stdlib_module_names and root not in LIBRARIES | {"registry"}):
                yield f"{line}: imports {name}"
        if isinstance(node, ast.Name) and node.id in BUILTINS:
            yield f"{line}: uses {node.id}"
        if isinstance(node, ast.Attribute) and node.attr == "environ":
            yield f"{line}: reads the environment"
        if isinstance(node, ast.Attribute) and node.attr in ("now", "utcnow", "today") and _is_clock(node.value):
            yield f"{line}: asks the clock"
        if isinstance(node, ast.AsyncFunctionDef | ast.Await):
            yield f"{line}: is asynchronous"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "registry"]  # relative imports stay inside
    return []


def _is_clock(value: ast.expr) -> bool:
    name = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
    return name in ("datetime", "date", "time")


@pytest.mark.parametrize("module", modules(CORE), ids=lambda module: module.name)
def test_core_is_pure(module: Module) -> None:
    assert list(impurities(module.tree)) == []


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "from pathlib import Path",
        "import httpx2",
        "from sqlalchemy.orm import Session",
        "value = open('x').read()",
        "print(1)",
        "value = thing.environ['HOME']",
        "value = datetime.now(UTC)",
        "value = datetime.datetime.utcnow()",
        "value = date.today()",
        "async def fetch(): ...",
    ],
)
def test_an_impure_line_is_seen(line: str) -> None:
    assert len(list(impurities(ast.parse(line)))) == 1


@pytest.mark.parametrize(
    "line",
    ["import re", "import jiter", "from registry.core import robots", "value = re.compile('x')", "now = job.now()"],
)
def test_a_pure_line_passes(line: str) -> None:
    assert list(impurities(ast.parse(line))) == []


def ruff(*arguments: str, source: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("ruff")), "check", "--no-cache", *arguments]
    return subprocess.run(command, cwd=ROOT, input=source, capture_output=True, text=True, timeout=120, check=False)


def test_linter_keeps_the_clock_out_of_the_core() -> None:
    checked = ruff("--select", "TID251,DTZ", CORE)
    assert checked.returncode == 0, checked.stdout


def test_linter_would_see_a_clock_in_the_core() -> None:
    source = "import time\nfrom datetime import UTC, datetime\n\nSTARTED = (datetime.now(UTC), time.time())\n"
    checked = ruff("--stdin-filename", f"{CORE}/planted.py", "-", source=source)
    assert checked.returncode == 1
    assert checked.stdout.count("TID251") == 2
