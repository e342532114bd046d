"""The embedded engine in process: what building it costs, how large it is, and what a whole answer costs.

A whole answer is the question read and embedded, candidates, ranking, and ten hits explained; cards of the database
are not in it. Two sides in turns on the same services: the product, and the product without vectors, which is the
baseline. Each is built and asked in processes of its own, so that memory is what a reader holds.
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

from benchmarks.relevance.systems import answered
from benchmarks.search.texts import Texts
from benchmarks.trees import HERE, ROOT
from registry.core.ranking import Embedder, explain
from registry.search.backend import make_documents
from registry.search.embedded import EmbeddedBackend
from registry.search.embedding import default_embedder
from registry.search.generation import NEAREST

WORDS: Final = "without vectors"
_BATCH: Final = 500
_PAGE: Final = 10
_LOOKED_AT: Final = 50_000_000  # rows that are looked at one by one, to see what the graph misses


@dataclass(frozen=True, slots=True)
class Built:
    """CPU and wall seconds, of the CPU what the embedder took; bytes on disk; peak memory of the builder in MB."""

    cpu: float
    wall: float
    embedding: float
    size: int
    memory: float


@dataclass(frozen=True, slots=True)
class Asked:
    """CPU milliseconds of each answer over all rounds; memory of the reader in MB: resident, and of that its own."""

    took: tuple[float, ...]
    resident: float
    own: float
    recall: float | None


def measure(
    services: int, requests: int, rounds: int, kept: Path | None = None, *, alone: bool = False
) -> dict[str, tuple[Built, Asked]]:
    """Indexes are made in the folder `kept` and stay there for the next run, else in a temporary one. `alone`: without
    the baseline."""
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as scratch:
        sides = (HERE,) if alone else (HERE, WORDS)
        folders = {side: (kept or Path(scratch)) / f"{services}-{number}" for number, side in enumerate(sides)}
        built = {side: _built(side, folder, services) for side, folder in folders.items()}
        asking = {side: _started("ask", side, folder, requests) for side, folder in folders.items()}
        took: dict[str, list[float]] = {side: [] for side in folders}
        for turn in range(rounds + 1):
            for side, process in asking.items():
                answer = _line(process, "round")
                if turn:  # the first one loads pages and compiles
                    took[side] += answer
        last = {side: _line(process, "end") for side, process in asking.items()}
        for process in asking.values():
            process.communicate()
        return {side: (built[side], Asked(tuple(took[side]), **last[side])) for side in folders}


def rows(services: int, sides: dict[str, tuple[Built, Asked]]) -> list[tuple[str, ...]]:
    head = (f"{services:,} services", "CPU ms p50", "p99", "× without vectors", "build CPU s", "of it embedding",
            "index MB", "reader MB", "of it mapped", f"recall@{NEAREST}")  # fmt: skip
    table: list[tuple[str, ...]] = [head]
    base = median(sides[WORDS][1].took) if WORDS in sides else None
    for side, (built, asked) in sides.items():
        table.append((
            side, f"{median(asked.took):.2f}", f"{quantiles(asked.took, n=100)[98]:.2f}",
            f"{median(asked.took) / base:.1f}" if base else "",
            f"{built.cpu:.0f}", f"{built.embedding:.0f}", f"{built.size / 1e6:.0f}",
            f"{asked.resident:.0f}", f"{asked.resident - asked.own:.0f}",
            "" if asked.recall is None else f"{asked.recall:.3f}",
        ))  # fmt: skip
    return table


def main() -> None:
    """Arguments: build or ask, the side, the folder, a number of services or of requests."""
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
        while batch := list(islice(stream, _BATCH)):  # making texts up is not counted
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


def _built(side: str, folder: Path, services: int) -> Built:
    """What building it cost, now or when it was built."""
    noted = folder.with_suffix(".json")
    if not noted.exists():
        folder.mkdir(parents=True, exist_ok=True)
        noted.write_text(json.dumps(_run("build", side, folder, services)))
    return Built(**json.loads(noted.read_text()))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def _ask(backend: EmbeddedBackend, embedder: Embedder | None, requests: int) -> None:
    questions = Texts(seed=7).requests(requests)
    for line in sys.stdin:
        if line.strip() == "round":
            answer: Any = [await _answered(backend, said, embedder) for said in questions]
        else:
            memory = _memory()
            answer = {"recall": _recall(backend, embedder, questions), **memory}
        print(json.dumps(answer), flush=True)


async def _answered(backend: EmbeddedBackend, said: str, embedder: Embedder | None) -> float:
    start = time.process_time_ns()
    ranking = await answered(backend, said, embedder)
    for place in range(min(_PAGE, len(ranking))):
        explain(ranking, place)
    return (time.process_time_ns() - start) / 1e6


def _recall(backend: EmbeddedBackend, embedder: Embedder | None, questions: Sequence[str]) -> float | None:
    """The share of the true nearest services that the engine's own way finds."""
    if embedder is None:
        return None
    snapshot = backend._snapshot()
    rows, places = snapshot.columns.first_vectors(np.flatnonzero(snapshot.alive))
    found = []
    for asked in embedder.encode(questions[: max(1, min(200, _LOOKED_AT // len(rows)))]):
        near = np.concatenate(list(_nearness(snapshot.columns, places, asked)))
        least = np.partition(near, -NEAREST)[-NEAREST]
        true = set(rows[near > least].tolist())  # those as near as the last one may stand for it
        mine = set(snapshot._nearest.rows(asked, snapshot.alive, NEAREST).tolist())
        found.append(len(true & mine) / len(true) if true else 1.0)
    return float(np.mean(found))


def _nearness(columns: Any, places: Any, asked: Any) -> Iterator[Any]:
    for start in range(0, len(places), 100_000):
        part = places[start : start + 100_000]
        yield np.vecdot(columns.vectors[part].astype(np.float32), asked) * columns.scales(part)


def _memory() -> dict[str, float]:
    """Resident MB, and without pages of files, which processes share and the kernel may drop."""
    status = Path("/proc/self/status").read_text().splitlines()
    sizes = {key: int(rest.split()[0]) / 1024 for key, _, rest in (one.partition(":") for one in status) if "Rss" in key
             or key == "VmRSS"}  # fmt: skip
    return {"resident": sizes["VmRSS"], "own": sizes["RssAnon"]}


def _run(act: str, side: str, folder: Path, number: int) -> dict[str, Any]:
    done = subprocess.run(_command(act, side, folder, number), check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    answer: dict[str, Any] = json.loads(done.stdout)
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
