"""`python -m tests.conformance [NAME ...] [--url URL]`: run all independent verifiers.

NAME selects interfaces, or checks whose name has that text. The exit code is 1 when a check failed; skipped checks are
listed with the reason and fail nothing, unless `--all` demands that every check runs.
"""

import argparse
import contextlib
import importlib
import os
import pkgutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import tests.conformance
from registry.demo.sites import SAMPLE_WEB
from tests.conformance.check import Check, Failed, Site, Skipped
from tests.conformance.tools import Missing, Tools
from tests.support.demo import served_demo

State = Literal["passed", "failed", "skipped"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("names", nargs="*", help="interfaces, or parts of names of checks")
    parser.add_argument("--url", help="a registry that is served already, instead of the demo")
    parser.add_argument("--all", action="store_true", help="a skipped check is a failure")
    options = parser.parse_args()
    checks = [check for check in all_checks() if _is_wanted(check, options.names)]
    if not checks:
        parser.error("no check has such a name")
    counts: Counter[State] = Counter()
    with tempfile.TemporaryDirectory(prefix="waypost-conformance-") as folder, _site(options.url, Path(folder)) as site:
        tools = Tools()
        for check in checks:
            began = time.monotonic()
            state, says = _run(check, site, tools)
            counts[state] += 1
            _print(f"{state:8}{check.interface}: {check.name} ({check.verifier}, {time.monotonic() - began:.1f} s)")
            for line in says.strip().splitlines()[: 1 if state == "passed" else 60]:
                _print(f"        {line}")
    _print(", ".join(f"{counts[state]} {state}" for state in ("passed", "failed", "skipped")))
    return int(counts["failed"] > 0 or (options.all and counts["skipped"] > 0))


def all_checks() -> Sequence[Check]:
    """Return the checks of every package below this one, by interface: each has a function `checks`."""
    found: list[Check] = []
    for module in pkgutil.iter_modules(tests.conformance.__path__):
        if module.ispkg:
            found += importlib.import_module(f"tests.conformance.{module.name}").checks()
    return sorted(found, key=lambda check: check.interface)


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
def _site(url: str | None, folder: Path) -> Iterator[Site]:
    """Yield the registry of this URL, or one that has crawled the sample web."""
    with contextlib.nullcontext(url) if url else served_demo(folder, SAMPLE_WEB) as base:
        yield Site(base.rstrip("/"), os.environ | {"WAYPOST_DATA": str(folder / "data")}, folder)


def _is_wanted(check: Check, names: list[str]) -> bool:
    return not names or any(name == check.interface or name in check.name for name in names)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
