"""The core is pure: no input or output, no clock. Import contracts cannot show that, so syntax trees are checked."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import modules
from tests.support.hang import HANG_SECONDS
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
"""Modules of the standard library that reach files, the network, processes, the environment, chance or the clock."""

LIBRARIES = frozenset(
    {
        "ada_url", "cryptography", "idna", "jiter", "jsonschema_rs", "lxml", "numpy", "orjson", "publicsuffixlist",
        "pydantic", "rapidfuzz", "rfc8785", "standardwebhooks", "Stemmer", "yaml",
    }
)  # fmt: skip
"""Pure functions over bytes, and data. To allow another library, add it here and say why in the commit."""

BUILTINS = frozenset({"open", "print", "input", "breakpoint", "exec", "eval", "compile", "__import__"})


def impurities(tree: ast.Module) -> Iterator[str]:
    """Yield what a module of the core must not do, with its line."""
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


def test_core_is_pure() -> None:
    assert {module.name: found for module in modules(CORE) if (found := list(impurities(module.tree)))} == {}


IMPURE = """\
import os
from pathlib import Path
import httpx2
from sqlalchemy.orm import Session
value = open('x').read()
print(1)
value = thing.environ['HOME']
value = datetime.now(UTC)
value = datetime.datetime.utcnow()
value = date.today()
async def fetch(): ...
"""
PURE = "import re\nimport jiter\nfrom registry.core import robots\nvalue = re.compile('x')\nnow = job.now()\n"


def test_impure_lines_are_reported_and_no_others() -> None:
    assert [line for line in IMPURE.splitlines() if len(list(impurities(ast.parse(line)))) != 1] == []
    assert list(impurities(ast.parse(PURE))) == []


def ruff(*arguments: str, source: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("ruff")), "check", "--no-cache", *arguments]
    return subprocess.run(
        command, cwd=ROOT, input=source, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )


def test_linter_keeps_the_clock_out_of_the_core() -> None:
    process = ruff("--select", "TID251,DTZ", CORE)
    assert process.returncode == 0, process.stdout


def test_linter_reports_a_clock_in_the_core() -> None:
    source = "import time\nfrom datetime import UTC, datetime\n\nSTARTED = (datetime.now(UTC), time.time())\n"
    process = ruff("--stdin-filename", f"{CORE}/planted.py", "-", source=source)
    assert process.returncode == 1
    assert process.stdout.count("TID251") == 2
