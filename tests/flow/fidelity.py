"""What a person takes from a document, and whether the API says it too: `python -m tests.flow.fidelity`.

The demo crawls the documents of the shared corpus that a person labelled, laid out as web sites, and serves the API.
The shared tool asks it for each labelled value, and prints the table of docs/fidelity.md with every miss.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.support.demo import forget_database
from tests.support.hang import HANG_SECONDS, NETWORK_ENVIRONMENT
from tests.support.shared import SHARED

LABELS: Final = SHARED / "fidelity" / "expected.jsonl"
LAYOUT: Final = SHARED / "tools" / "corpus_sites.py"
TOOL: Final = SHARED / "tools" / "fidelity.py"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Crawl the labelled sites with the demo; yield the address of its API. Raise RuntimeError if it does not come."""
    sites, data, log = folder / "sites", folder / "data", folder / "demo.log"
    subprocess.run([sys.executable, LAYOUT, sites, "--labels", LABELS], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "registry.cli", "demo", "--sites", sites, "--port", str(port), "--data", data]
    environment = os.environ | NETWORK_ENVIRONMENT | {"WAYPOST_READ_RATE": "100000"}
    with log.open("wb") as output:
        demo = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        deadline = time.monotonic() + HANG_SECONDS
        while "/api/discover?q=" not in log.read_text(errors="replace"):
            if demo.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log.read_text(errors="replace"))
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGINT)
        demo.wait(HANG_SECONDS)
        forget_database(data)


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
