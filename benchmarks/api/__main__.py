"""`python -m benchmarks.api`: the times of discover beside one client that sends expensive requests at its limit.

Without and with that client in turns, so compare ratios.
"""

import argparse
from pathlib import Path

from benchmarks.api import paired
from benchmarks.crawl.report import machine, table, write_into

PACKAGES = ("fastapi", "uvicorn", "uvloop")


def main() -> None:
    options = _options()
    before = paired.load_average()
    times = paired.measure(
        options.services, options.rounds, options.requests, options.rate, options.only or (), options.against
    )
    if options.json:
        print(paired.as_json(times))
        return
    requests = len(next(iter(times.values())).took)
    said = (
        f"{options.services:,} services; {requests:,} requests of each kind, {options.rate:g} a second, in rounds of "
        f"{options.requests:,}; load average before {before}, after {paired.load_average()}"
    )
    rows = paired.rows(times)
    print(table(rows, markdown=False), said, machine(*PACKAGES), sep="\n\n")
    if options.page is not None:
        write_into(options.page, "api-beside", f"{table(rows, markdown=True)}\n\n{said}. {machine(*PACKAGES)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.api", description=__doc__)
    parser.add_argument("--services", type=int, default=20_000, help="how many services (20,000)")
    parser.add_argument("--rounds", type=int, default=14, help="turns of each kind (14)")
    parser.add_argument("--requests", type=int, default=1_500, help="honest requests of a turn (1,500)")
    parser.add_argument("--rate", type=float, default=100, help="honest requests a second (100)")
    parser.add_argument("--only", nargs="+", metavar="PART", help="kinds with a part in their name")
    parser.add_argument("--against", metavar="REV", help="also another commit, in turns with this tree")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the table into its place on that page")
    return parser.parse_args()


if __name__ == "__main__":
    main()
