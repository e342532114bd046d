"""`python -m benchmarks.mcp`: CPU of a call over MCP as a multiple of that of `/api/discover`; `--memory`: its growth.

In each round every kind asks the same questions in turn, each question once and later than the cache of answers keeps
one, so that none comes from there. The figure of a kind is the median over the rounds of the server's CPU time in
its turn, divided by that of `/api/discover` in the same round.
"""

import argparse
import asyncio
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.crawl.report import machine, table
from benchmarks.search import load
from benchmarks.search.texts import Texts
from benchmarks.sides import Side, served
from benchmarks.trees import HERE, ROOT
from registry.api.response_cache import LIFETIME_SECONDS
from registry.store.embedded_postgres import server as embedded

ROWS: Final = 5
AT_ONCE: Final = 4
MODERN, LEGACY = "2026-07-28", "2025-11-25"


def over_api(question: str) -> bytes:
    return load.target(question, ROWS)


def over_mcp(version: str) -> Callable[[str], bytes]:
    """Return what makes the request of a question in one era of the protocol."""

    def request(question: str) -> bytes:
        params: dict[str, object] = {"name": "discover_services", "arguments": {"q": question, "limit": ROWS}}
        headers = f"MCP-Protocol-Version: {version}\r\n"
        if version == MODERN:
            prefix = "io.modelcontextprotocol/"
            params["_meta"] = {f"{prefix}protocolVersion": version, f"{prefix}clientCapabilities": {}}
            headers += "Mcp-Method: tools/call\r\nMcp-Name: discover_services\r\n"
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        head = (
            "POST /mcp HTTP/1.1\r\nHost: registry.example\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    return request


KINDS: Final[Mapping[str, Callable[[str], bytes]]] = {
    "GET /api/discover": over_api,
    f"discover_services, {MODERN}": over_mcp(MODERN),
    f"discover_services, {LEGACY}": over_mcp(LEGACY),
}


async def costs(side: Side, rounds: int, requests: int) -> dict[str, list[float]]:
    """Return CPU seconds of the server by kind and round."""
    questions = itertools.chain.from_iterable(Texts(seed).requests(10_000) for seed in itertools.count(7))
    spent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(rounds + 1):
        asked = list(itertools.islice(questions, requests))
        for kind, request in KINDS.items():
            await asyncio.sleep(1.5 * LIFETIME_SECONDS)  # the API has forgotten its answers to these questions
            before = cpu_seconds(side.process.pid)
            await load.closed_loop(side.port, [request(question) for question in asked], AT_ONCE)
            if number:  # the first round warms up
                spent[kind].append(cpu_seconds(side.process.pid) - before)
    return spent


async def growth(side: Side, calls: Sequence[int]) -> list[tuple[int, int]]:
    """Return calls made, in both eras in turn, and resident bytes after them."""
    questions = itertools.cycle(itertools.islice(Texts(3).requests(2_000), 2_000))
    requests = itertools.cycle([over_mcp(MODERN), over_mcp(LEGACY)])
    made, sizes = 0, []
    for target in calls:
        while made < target:
            batch = min(500, target - made)
            await load.closed_loop(
                side.port, [next(requests)(question) for question in itertools.islice(questions, batch)], AT_ONCE
            )
            made += batch
        sizes.append((made, resident_bytes(side.process.pid)))
    return sizes


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp", description=__doc__)
    parser.add_argument("--services", type=int, default=10_000, help="how many services (10,000)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each kind (9)")
    parser.add_argument("--requests", type=int, default=600, help="questions of a turn (600)")
    parser.add_argument("--memory", type=int, nargs="+", metavar="CALLS", help="measure memory after these calls")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # the account that runs the database must reach its folder
        database = embedded.start(folder / "postgres")
        try:
            with served("benchmarks.mcp.server", {HERE: ROOT}, database.dsn, folder, options.services) as (side,):
                if options.memory:
                    rows = _memory_rows(asyncio.run(growth(side, sorted(options.memory))))
                else:
                    rows = _cost_rows(asyncio.run(costs(side, options.rounds, options.requests)), options.requests)
        finally:
            database.release()
    print(table(rows, markdown=False), machine("mcp", "fastapi", "uvicorn"), sep="\n\n")


def _cost_rows(spent: Mapping[str, Sequence[float]], requests: int) -> list[tuple[str, ...]]:
    alone = spent["GET /api/discover"]
    rows: list[tuple[str, ...]] = [("kind", "CPU ms", "× /api/discover")]
    for kind, seconds in spent.items():
        ratio = median(one / base for one, base in zip(seconds, alone, strict=True))
        rows.append((kind, f"{1e3 * median(seconds) / requests:.2f}", f"{ratio:.2f}"))
    return rows


def _memory_rows(sizes: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
    first = sizes[0][1]
    return [
        ("calls", "MB", "× first"),
        *((f"{calls:,}", f"{size / 1e6:.1f}", f"{size / first:.3f}") for calls, size in sizes),
    ]


if __name__ == "__main__":
    main()
