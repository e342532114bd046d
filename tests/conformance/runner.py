"""Runs the checks of all interfaces and says what each verifier found. See `__main__` for the options."""

import importlib
import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import tests.conformance
from tests.conformance.check import Check, Failed, Site, Skipped
from tests.conformance.tools import Missing, Tools
from tests.support.demo import forget_database
from tests.support.hang import NETWORK_ENVIRONMENT
from tests.support.shared import ROOT

START_SECONDS: Final = 180
State = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Result:
    check: Check
    state: State
    says: str
    seconds: float


def all_checks() -> Sequence[Check]:
    """Return the checks of every package below this one, by interface: each has a function `checks`."""
    found: list[Check] = []
    for module in pkgutil.iter_modules(tests.conformance.__path__):
        if module.ispkg:
            found += importlib.import_module(f"tests.conformance.{module.name}").checks()
    return sorted(found, key=lambda check: check.interface)


def run_all(checks: Sequence[Check], site: Site, tools: Tools) -> Iterator[Result]:
    for check in checks:
        began = time.monotonic()
        state, says = _run(check, site, tools)
        yield Result(check, state, says, time.monotonic() - began)


def _run(check: Check, site: Site, tools: Tools) -> tuple[State, str]:
    try:
        return "passed", check.run(site, tools)
    except (Skipped, Missing) as reason:
        return "skipped", str(reason)
    except Failed as fault:
        return "failed", str(fault)
    except Exception:  # a fault of the check itself must not hide what the others find
        return "failed", traceback.format_exc()


@contextmanager
def served(folder: Path) -> Iterator[Site]:
    """Yield a registry that has crawled the sample web and serves it: `waypost demo`, as a user runs it."""
    data, log = folder / "data", folder / "demo.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    environment |= {"WAYPOST_DATA": str(data), "WAYPOST_READ_RATE": "1000000", "WAYPOST_SUBMIT_RATE": "100000"}
    environment |= NETWORK_ENVIRONMENT
    command = [sys.executable, "-m", "registry.cli", "demo", "--port", "0", "--data", str(data)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        yield Site(_url(process, log), environment, folder)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        forget_database(data)


def _url(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Return the address that the demo prints when it serves. Raise RuntimeError with its output."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if match := re.search(r"the API answers at (http://[^ ]+) until", log.read_text(errors="replace")):
            return match[1]
        time.sleep(0.2)
    raise RuntimeError(f"the demo does not serve:\n{log.read_text(errors='replace')[-3_000:]}")


def table(results: Sequence[Result]) -> str:
    """Return the results as a table in Markdown, for docs/interfaces.md."""
    lines = ["| interface | check | verifier | result |", "| --- | --- | --- | --- |"]
    for result in results:
        says = result.says.strip().splitlines()[0] if result.says.strip() else ""
        row = (result.check.interface, result.check.name, result.check.verifier, f"{result.state}: {says[:200]}")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    return "\n".join(lines) + "\n"


def as_json(results: Sequence[Result]) -> str:
    rows = [
        {
            "interface": result.check.interface, "check": result.check.name, "verifier": result.check.verifier,
            "state": result.state, "says": result.says, "seconds": round(result.seconds, 1),
        }
        for result in results
    ]  # fmt: skip
    return json.dumps(rows, indent=2)
