"""`python -m tests.conformance [NAME ...] [--table FILE] [--json FILE] [--url URL]`: run all independent verifiers.

NAME selects interfaces, or checks whose name has that text. The exit code is 1 when a check failed; skipped checks are
listed with the reason and fail nothing, unless `--all` demands that every check runs.
"""

import argparse
import contextlib
import os
import sys
import tempfile
from pathlib import Path

from tests.conformance.check import Check, Site
from tests.conformance.runner import Result, all_checks, as_json, run_all, served, table
from tests.conformance.tools import Tools


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("names", nargs="*", help="interfaces, or parts of names of checks")
    parser.add_argument("--url", help="a registry that is served already, instead of the demo")
    parser.add_argument("--table", type=Path, help="also write the results as Markdown")
    parser.add_argument("--json", type=Path, help="also write the results as JSON")
    parser.add_argument("--all", action="store_true", help="a skipped check is a failure")
    options = parser.parse_args()
    checks = [check for check in all_checks() if _is_wanted(check, options.names)]
    if not checks:
        parser.error("no check has such a name")
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="waypost-conformance-") as folder:
        own = (
            contextlib.nullcontext(Site(options.url.rstrip("/"), dict(os.environ), Path(folder)))
            if options.url
            else None
        )
        with own or served(Path(folder)) as site:
            for result in run_all(checks, site, Tools()):
                results.append(result)
                _show(result)
    for path, text in ((options.table, table(results)), (options.json, as_json(results))):
        if path is not None:
            path.write_text(text)
    counts = {state: sum(result.state == state for result in results) for state in ("passed", "failed", "skipped")}
    _print(", ".join(f"{count} {state}" for state, count in counts.items()))
    return int(counts["failed"] > 0 or (options.all and counts["skipped"] > 0))


def _site(url: str | None, folder: Path) -> contextlib.AbstractContextManager[Site]:
    return served(folder) if url is None else contextlib.nullcontext(Site(url.rstrip("/"), dict(os.environ), folder))


def _is_wanted(check: Check, names: list[str]) -> bool:
    return not names or any(name == check.interface or name in check.name for name in names)


def _show(result: Result) -> None:
    check = result.check
    _print(f"{result.state:8}{check.interface}: {check.name} ({check.verifier}, {result.seconds:.1f} s)")
    for line in result.says.strip().splitlines()[: 1 if result.state == "passed" else 60]:
        _print(f"        {line}")


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
