"""`python -m benchmarks.crawl`: hosts per CPU second of waypost's crawler, compared with alternatives.

All contestants take turns in one run, so that a slow phase of the machine affects all of them. CPU time is measured,
not wall time, except where waiting is the subject (`--list mixed`, `--list polite`).
"""

import argparse
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from benchmarks.crawl import farm, namespace, postgres, report
from benchmarks.crawl.contest import CONTESTANTS, Arena, build_go
from benchmarks.crawl.lists import LISTS
from registry.store.embedded_postgres import server as embedded

SERVER, TEMPLATE, CORE, GO = (f"WAYPOST_BENCH_{name}" for name in ("SERVER", "TEMPLATE", "CORE", "GO"))
"""Environment variables for the process in the namespace: URL of the database server, name of the migrated template,
core of the contestants (empty: no separate core), path of the Go program."""


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that children are stopped, too
    try:
        if SERVER not in os.environ:
            namespace.check_tools("nginx", "taskset")
            sys.exit(_outside(options))
        _inside(options)
    except namespace.Missing as missing:
        sys.exit(f"the benchmark cannot run: {missing}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crawl", description=__doc__)
    parser.add_argument("--list", choices=list(LISTS), default="plain", help="which hosts, and what is asked (plain)")
    parser.add_argument("--only", metavar="A,B", help=f"contestants, of: {', '.join(CONTESTANTS)}")
    parser.add_argument("--hosts", type=int, help="how many hosts (each list has its own default)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contestant (3)")
    parser.add_argument("--in-flight", type=int, help="hosts at once (each list has its own default)")
    parser.add_argument("--paths", type=int, metavar="N", help="ask N paths of each host instead of all of the plan; "
                        "waypost always asks its whole plan")  # fmt: skip
    parser.add_argument("--sizes", metavar="N,N", help="--list growth: numbers of domains (1000,10000,30000)")
    parser.add_argument("--where", action="store_true", help="where each contestant's CPU goes, by room and function")
    parser.add_argument("--json", action="store_true", help="every run as one line of JSON")
    parser.add_argument("--markdown", action="store_true", help="tables as they stand in benchmarks/README.md")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the tables into their place on that page")
    return parser.parse_args()


def _outside(options: argparse.Namespace) -> int:
    """Start the database, which may not run as the namespace's root, then the rest inside. Return the exit code."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(0, {cores[0]})  # inherited by all child processes; the contestants use another core
    folder = Path(tempfile.gettempdir()) / f"waypost-bench-{os.geteuid()}"
    server = embedded.start(folder)
    try:
        with postgres.template(server.dsn) as template:
            variables = {SERVER: server.dsn, TEMPLATE: template, CORE: str(cores[1]) if len(cores) > 1 else ""}
            if "go" in (options.only or "").split(","):
                variables[GO] = str(build_go(folder))
            return namespace.enter(sys.argv[1:], variables)
    finally:
        server.release()


def _inside(options: argparse.Namespace) -> None:
    trial = LISTS[options.list](options)
    core = int(os.environ[CORE]) if os.environ[CORE] else None
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)
        namespace.enclose(folder)
        with farm.running(folder, trial.most_hosts()) as web_farm:
            arena = Arena(web_farm, os.environ[SERVER], os.environ[TEMPLATE], folder, core, os.environ.get(GO))
            runs = []
            for run in trial.runs(arena):
                runs.append(run)
                print(json.dumps(report.as_json(run)) if options.json else report.line(run), flush=True)
    if not options.json:
        print(report.summary(trial, runs, markdown=options.markdown))
    if options.page is not None:
        report.write_into(options.page, trial.key, report.summary(trial, runs, markdown=True))


if __name__ == "__main__":
    main()
