"""The embedded engine in process: the cost of building it, its size, and the cost of a whole search.

A whole search parses and embeds the question, retrieves candidates, ranks them and explains ten hits; loading service
rows from the database is not included. Two sides take turns on the same services: the product, and the product without
vectors as the baseline. Each is built and queried in separate processes, so the measured memory is a reader's.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import numpy as np

from benchmarks.relevance.systems import ranking_of
from benchmarks.search.texts import Texts
from benchmarks.trees import HERE, ROOT
from registry.core.ranking import Embedder, explain
from registry.search.backend import make_documents
from registry.search.embedded import EmbeddedBackend
from registry.search.embedding import default_embedder
from registry.search.generation import VECTOR_CANDIDATES

WORDS: Final = "without vectors"
_BATCH: Final = 500
_PAGE: Final = 10
_RECALL_SCANS: Final = 50_000_000  # rows scanned linearly in total, to measure the graph's recall


@dataclass(frozen=True, slots=True)
class BuildCost:
    """CPU and wall seconds, the embedder's part of the CPU; bytes on disk; peak memory of the builder in MB."""

    cpu: float
    wall: float
    embedding: float
    size: int
    memory: float


@dataclass(frozen=True, slots=True)
class SearchCost:
    """CPU milliseconds of each search over all rounds; memory of the reader in MB: resident, and anonymous (`own`)."""

    milliseconds: tuple[float, ...]
    resident: float
    own: float
    recall: float | None


def measure(
    services: int, requests: int, rounds: int, index_folder: Path | None = None, *, alone: bool = False
) -> dict[str, tuple[BuildCost, SearchCost]]:
    """Build and query both sides. With `index_folder`, the indexes are built there and reused by the next run. `alone`
    leaves out the baseline."""
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as scratch:
        sides = (HERE,) if alone else (HERE, WORDS)
        folders = {side: (index_folder or Path(scratch)) / f"{services}-{number}" for number, side in enumerate(sides)}
        built = {side: _built(side, folder, services) for side, folder in folders.items()}
        processes = {side: _started("ask", side, folder, requests) for side, folder in folders.items()}
        milliseconds: dict[str, list[float]] = {side: [] for side in folders}
        for turn in range(rounds + 1):
            for side, process in processes.items():
                answer = _line(process, "round")
                if turn:  # the first round only warms up
                    milliseconds[side] += answer
        figures = {side: _line(process, "end") for side, process in processes.items()}
        for process in processes.values():
            process.communicate()
        return {side: (built[side], SearchCost(tuple(milliseconds[side]), **figures[side])) for side in folders}


def rows(services: int, sides: dict[str, tuple[BuildCost, SearchCost]]) -> list[tuple[str, ...]]:
    head = (f"{services:,} services", "CPU ms p50", "p99", "× without vectors", "build CPU s", "of it embedding",
            "index MB", "reader MB", "of it mapped", f"recall@{VECTOR_CANDIDATES}")  # fmt: skip
    table: list[tuple[str, ...]] = [head]
    base = median(sides[WORDS][1].milliseconds) if WORDS in sides else None
    for side, (build_cost, search_cost) in sides.items():
        table.append((
            side, f"{median(search_cost.milliseconds):.2f}", f"{quantiles(search_cost.milliseconds, n=100)[98]:.2f}",
            f"{median(search_cost.milliseconds) / base:.1f}" if base else "",
            f"{build_cost.cpu:.0f}", f"{build_cost.embedding:.0f}", f"{build_cost.size / 1e6:.0f}",
            f"{search_cost.resident:.0f}", f"{search_cost.resident - search_cost.own:.0f}",
            "" if search_cost.recall is None else f"{search_cost.recall:.3f}",
        ))  # fmt: skip
    return table


def main() -> None:
    """Run the worker. Arguments: build or ask, the side, the folder, the number of services or of requests."""
    act, side, folder, number = sys.argv[1:]
    embedder = default_embedder() if side == HERE else None
    model, dims = (embedder.id, embedder.dims) if embedder else ("", 0)
    backend = EmbeddedBackend(Path(folder), model, dims)
    if act == "build":
        print(json.dumps(asyncio.run(_build(backend, embedder, Path(folder), int(number)))))
    else:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        asyncio.run(_ask(backend, embedder, int(number)))


async def _build(backend: EmbeddedBackend, embedder: Embedder | None, folder: Path, services: int) -> dict[str, Any]:
    stream = Texts().services(services)
    cpu, start, embedding = 0.0, time.perf_counter(), 0.0
    async with backend.build() as build:
        while batch := list(islice(stream, _BATCH)):  # generating texts is not measured
            before = time.process_time()
            documents = make_documents(batch, embedder)
            embedding += time.process_time() - before
            await build.add(documents)
            cpu += time.process_time() - before
        before = time.process_time()
        await build.swap()
        cpu += time.process_time() - before
    return {
        "cpu": cpu, "wall": time.perf_counter() - start, "embedding": embedding if embedder else 0.0,
        "size": _size(folder),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }  # fmt: skip


def _built(side: str, folder: Path, services: int) -> BuildCost:
    """Return the cost of building the index, measured now or stored by an earlier run."""
    cost_file = folder.with_suffix(".json")
    if not cost_file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        cost_file.write_text(json.dumps(_run("build", side, folder, services)))
    return BuildCost(**json.loads(cost_file.read_text()))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def _ask(backend: EmbeddedBackend, embedder: Embedder | None, requests: int) -> None:
    questions = Texts(seed=7).requests(requests)
    for line in sys.stdin:
        if line.strip() == "round":
            answer: Any = [await _search_ms(backend, question, embedder) for question in questions]
        else:
            memory = _memory()
            answer = {"recall": _recall(backend, embedder, questions), **memory}
        print(json.dumps(answer), flush=True)


async def _search_ms(backend: EmbeddedBackend, question: str, embedder: Embedder | None) -> float:
    start = time.process_time_ns()
    ranking = await ranking_of(backend, question, embedder)
    for place in range(min(_PAGE, len(ranking))):
        explain(ranking, place)
    return (time.process_time_ns() - start) / 1e6


def _recall(backend: EmbeddedBackend, embedder: Embedder | None, questions: Sequence[str]) -> float | None:
    """Return the share of the true nearest services that the engine finds; None without vectors."""
    if embedder is None:
        return None
    snapshot = backend._snapshot()
    rows, places = snapshot.columns.first_vectors(np.flatnonzero(snapshot.alive))
    shares = []
    for vector in embedder.encode(questions[: max(1, min(200, _RECALL_SCANS // len(rows)))]):
        nearness = np.concatenate(list(_nearness(snapshot.columns, places, vector)))
        threshold = np.partition(nearness, -VECTOR_CANDIDATES)[-VECTOR_CANDIDATES]
        nearest = set(rows[nearness > threshold].tolist())  # without ties at the last place
        found = set(snapshot._nearest.rows(vector, snapshot.alive, VECTOR_CANDIDATES).tolist())
        shares.append(len(nearest & found) / len(nearest) if nearest else 1.0)
    return float(np.mean(shares))


def _nearness(columns: Any, places: Any, vector: Any) -> Iterator[Any]:
    for start in range(0, len(places), 100_000):
        part = places[start : start + 100_000]
        yield np.vecdot(columns.vectors[part].astype(np.float32), vector) * columns.scales(part)


def _memory() -> dict[str, float]:
    """Return resident MB, in total and without file pages, which processes share and the kernel may drop."""
    status = Path("/proc/self/status").read_text().splitlines()
    sizes = {key: int(value.split()[0]) / 1024 for key, _, value in (line.partition(":") for line in status)
             if "Rss" in key or key == "VmRSS"}  # fmt: skip
    return {"resident": sizes["VmRSS"], "own": sizes["RssAnon"]}


def _run(act: str, side: str, folder: Path, number: int) -> dict[str, Any]:
    completed = subprocess.run(
        _command(act, side, folder, number), check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    answer: dict[str, Any] = json.loads(completed.stdout)
    return answer


def _started(act: str, side: str, folder: Path, number: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        _command(act, side, folder, number), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def _command(act: str, side: str, folder: Path, number: int) -> list[str]:
    return [
        sys.executable,
        "-c",
        "from benchmarks.search.engine import main; main()",
        act,
        side,
        str(folder),
        str(number),
    ]


def _line(process: "subprocess.Popen[str]", act: str) -> Any:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(act + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())
