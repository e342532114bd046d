"""`python -m benchmarks.web`: the time of a page of search results beside that of `/api/discover` for its question.

Requests are made one after the other, each question once for each kind and later than the cache of answers keeps one.
"""

import argparse
import http.client
import itertools
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Final
from urllib.parse import urlencode

from benchmarks.crawl.report import machine, table
from benchmarks.search.texts import Texts
from benchmarks.sides import served
from benchmarks.trees import HERE, ROOT
from registry.api.response_cache import LIFETIME_SECONDS
from registry.store.embedded_postgres import server as embedded
from registry.web.search import GROUPS, ROWS

_SHOWN: Final = urlencode({"limit": ROWS, "highlights": "true", "facets": ",".join(GROUPS)})
KINDS: Final = {
    "GET /api/discover": "/api/discover?",
    "the same, with all that the page shows": f"/api/discover?{_SHOWN}&",
    "page /search": "/search?",
}


def times(port: int, questions: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Return milliseconds of each request by kind; the first round warms up and is left out."""
    spent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    turns = itertools.batched(questions, -(-len(questions) // rounds)) if hasattr(itertools, "batched") else [questions]
    for asked in turns:
        for kind, path in KINDS.items():
            time.sleep(1.5 * LIFETIME_SECONDS)
            connection = http.client.HTTPConnection("127.0.0.1", port)
            for question in asked:
                began = time.perf_counter()
                connection.request("GET", f"{path}{urlencode({'q': question})}", headers={"Accept": "text/html"})
                response = connection.getresponse()
                body = response.read()
                spent[kind].append(1e3 * (time.perf_counter() - began))
                assert response.status == 200, body[:300]
            connection.close()
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.web", description=__doc__)
    parser.add_argument("--services", type=int, default=10_000, help="how many services (10,000)")
    parser.add_argument("--requests", type=int, default=1_000, help="questions (1,000)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each kind (5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # the account that runs the database must reach its folder
        database = embedded.start(folder / "postgres")
        try:
            with served("benchmarks.mcp.server", {HERE: ROOT}, database.dsn, folder, options.services) as (side,):
                questions = list(itertools.islice(Texts(7).requests(options.requests), options.requests))
                times(side.port, questions[:50], 1)
                spent = times(side.port, questions, options.rounds)
        finally:
            database.release()
    base = median(spent["GET /api/discover"])
    rows = [("kind", "p50 ms", "p95 ms", "p50 × /api/discover")]
    for kind, taken in spent.items():
        rows.append((kind, f"{median(taken):.1f}", f"{quantiles(taken, n=20)[-1]:.1f}", f"{median(taken) / base:.2f}"))
    print(table(rows, markdown=False), machine("jinja2", "fastapi", "uvicorn"), sep="\n\n")


if __name__ == "__main__":
    main()
