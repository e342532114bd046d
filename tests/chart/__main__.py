"""`python -m tests.chart`: build what checks the chart, once (half an hour), then check the chart and the monitoring.

The exit code is 1 when a tool could not be built or a test fails. Tests that need etcd, kubectl or Prometheus are
skipped by name where those are not on PATH.
"""

import subprocess
import sys

from tests.chart.tools import ChartTools
from tests.conformance.tools import Missing


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    faults: list[str] = []
    for name, build in ChartTools(may_build=True).builders.items():
        say(f"building {name}, unless it is there")
        try:
            build()
        except Missing as fault:
            faults.append(str(fault))
    command = [sys.executable, "-m", "pytest", "-n", "0", "-rs", "-m", "long", "tests/chart"]
    tests = subprocess.run(command, check=False)
    for fault in faults:
        say(f"not built: {fault}")
    return 1 if faults or tests.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
