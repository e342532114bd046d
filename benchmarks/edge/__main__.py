"""`python -m benchmarks.edge`: what metrics, traces and compression cost a cached answer of /api/discover.

CPU of the server per request, all contestants in turns: trust the ratios.
"""

import argparse
import asyncio
import contextlib
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from statistics import median
from typing import Final

from benchmarks.crawl.report import machine, table
from benchmarks.search import load

CONTESTANTS: Final = {
    "nothing": ("plain", ""),
    "metrics": ("metrics", ""),
    "metrics and traces": ("traces", ""),
    "gzip": ("plain", "gzip"),
    "zstd": ("plain", "zstd"),
    "gzip by starlette-compress": ("library", "gzip"),
    "zstd by starlette-compress": ("library", "zstd"),
}
"""Name -> variant of the server, Accept-Encoding."""


@contextlib.contextmanager
def served(variant: str) -> Iterator[int]:
    """Yield the port of a server of this variant."""
    command = [sys.executable, "-m", "benchmarks.edge.server", variant]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def request(coding: str) -> bytes:
    return load.target("send a parcel").replace(b"Accept: ", f"Accept-Encoding: {coding}\r\nAccept: ".encode())


async def cpu(port: int) -> float:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return float(await load._send(reader, writer, b"GET /cpu HTTP/1.1\r\nHost: x\r\n\r\n"))
    finally:
        writer.close()


async def measure(ports: dict[str, int], rounds: int, requests: int) -> dict[str, list[float]]:
    """Return microseconds of CPU per request, by contestant and round."""
    took: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds + 1):
        for name, (variant, coding) in CONTESTANTS.items():
            before = await cpu(ports[variant])
            await load.closed_loop(ports[variant], [request(coding)] * requests, 4)
            if number:  # the first round warms up
                took[name].append(1e6 * (await cpu(ports[variant]) - before) / requests)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.edge", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=1_000, help="of a round")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        variants = {variant for variant, _ in CONTESTANTS.values()}
        ports = {variant: stack.enter_context(served(variant)) for variant in variants}
        took = asyncio.run(measure(ports, options.rounds, options.requests))
    rows = [("a cached answer with", "µs of CPU", "× nothing")]
    for name, values in took.items():
        ratio = median(value / plain for value, plain in zip(values, took["nothing"], strict=True))
        rows.append((name, f"{median(values):.0f}", f"{ratio:.2f}"))
    print(table(rows, markdown=False), machine("uvicorn", "uvloop", "zstandard"), sep="\n\n")


if __name__ == "__main__":
    main()
