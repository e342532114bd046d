"""What a person takes from a document, and whether the API says it too: `python -m tests.flow.fidelity`.

The demo crawls the documents of the shared corpus that a person labelled, laid out as web sites, and serves the API.
The shared tool asks it for each labelled value, and prints a table with every miss.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.support.demo import served_demo
from tests.support.shared import SHARED

LABELS: Final = SHARED / "fidelity" / "expected.jsonl"
LAYOUT: Final = SHARED / "tools" / "corpus_sites.py"
TOOL: Final = SHARED / "tools" / "fidelity.py"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Crawl the labelled sites with the demo; yield the address of its API. Raise RuntimeError if it does not come."""
    sites = folder / "sites"
    subprocess.run([sys.executable, LAYOUT, sites, "--labels", LABELS], check=True, capture_output=True)
    with served_demo(folder, sites) as base:
        yield base


def judged(base: str) -> dict[str, Any]:
    """Return what the tool counts at a running registry: `keys` (judged and right of each) and `misses`."""
    command = [sys.executable, TOOL, "--base", base, "--all", "--claims", "--json"]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="waypost-fidelity-") as folder, served(Path(folder)) as base:
        subprocess.run([sys.executable, TOOL, "--base", base, "--all", "--claims"], check=True)


if __name__ == "__main__":
    main()
