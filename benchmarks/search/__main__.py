"""`python -m benchmarks.search`: the cost of a search, in process and over HTTP.

CPU time is measured, not wall time, except for the times at half load. All sides take turns in one run, so compare
ratios.
"""

import argparse
import json
from pathlib import Path

from benchmarks.crawl.report import machine, table, write_into
from benchmarks.search import engine, served

PACKAGES = ("tantivy", "numpy", "usearch", "fastapi", "uvicorn", "uvloop")


def main() -> None:
    options = _options()
    if options.what == "http":
        turns, memory = served.measure(
            (options.services or [10_000])[0], options.requests, options.rounds, options.against
        )
        if options.json:
            for turn in turns:
                print(json.dumps(served.as_json(turn)))
        _show(options, "search-http", served.rows(turns, memory))
    else:
        for services in options.services or (100_000,):
            sides = engine.measure(services, options.requests, options.rounds, options.kept, alone=options.alone)
            _show(options, f"search-engine-{services}", engine.rows(services, sides))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("what", choices=["engine", "http"], help="in process, or /api/discover by a server")
    parser.add_argument("--services", type=int, nargs="+", help="how many services (engine 100,000, http 10,000)")
    parser.add_argument("--requests", type=int, default=2_000, help="requests of a round (2,000)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side (3)")
    parser.add_argument("--against", metavar="REV", help="http: also another commit, in turns with this tree")
    parser.add_argument("--kept", type=Path, metavar="DIR", help="engine: where indexes are made and kept")
    parser.add_argument("--alone", action="store_true", help="engine: without the baseline")
    parser.add_argument("--json", action="store_true", help="every turn as one line of JSON")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the table into its place on that page")
    return parser.parse_args()


def _show(options: argparse.Namespace, key: str, rows: list[tuple[str, ...]]) -> None:
    if not options.json:
        print(table(rows, markdown=False), machine(*PACKAGES), sep="\n\n")
    if options.page is not None:
        write_into(options.page, key, f"{table(rows, markdown=True)}\n\n{machine(*PACKAGES)}")


if __name__ == "__main__":
    main()
