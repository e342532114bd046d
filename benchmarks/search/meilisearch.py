"""`python -m benchmarks.search.meilisearch`: what an answer costs on a Meilisearch server, and whether it is the same.

Needs a server that may be written to: MEILI_URL and MEILI_MASTER_KEY. Each run has an index of its own there and
removes it, but for one that `--keep` names: that is filled once and found again. The server's own CPU is in all times;
on a machine with few cores it takes turns with ours. `--pid` tells which process it is, and its CPU is told apart.
"""

import argparse
import asyncio
import os
import sys
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import numpy as np
from meilisearch import Client

from benchmarks.crawl.report import machine, table, write_into
from benchmarks.relevance.collection import read, shared_folders
from benchmarks.relevance.measures import MEASURES, differences, means, score
from benchmarks.relevance.systems import documents, indexed
from benchmarks.search.scratch import remove_index
from benchmarks.search.texts import Texts
from registry.actions.answering.discover import POOL
from registry.core.listing import Filters, SearchUnavailable
from registry.core.ranking import Embedder, Question, ask, explain, rank
from registry.search.backend import Backend, Pool, SearchDocument
from registry.search.embedding import default_embedder
from registry.search.meilisearch import legs
from registry.search.meilisearch.admin import Admin, Keys
from registry.search.meilisearch.asking import AT_ONCE, BUDGET_SECONDS, Asker
from registry.search.meilisearch.backend import MeiliBackend
from registry.search.meilisearch.keys import make_keys

_PAGE: Final = 10
_DEPTH: Final = 10
READERS: Final = 4

Told = str | list[tuple[str, ...]]
"""A sentence, or a table."""


def main() -> None:
    options = _options()
    url, master = os.environ.get("MEILI_URL"), os.environ.get("MEILI_MASTER_KEY")
    if not url or not master:
        sys.exit("no server: set MEILI_URL and MEILI_MASTER_KEY")
    told = asyncio.run(_WHAT[options.what](options, url, master))
    where = f"Meilisearch {Admin(url, Keys(master, master, master)).version()}; {machine('meilisearch', 'httpx2')}"
    print("\n\n".join([*(one if isinstance(one, str) else table(one, markdown=False) for one in told), where]))
    if options.page is not None:
        tables = [one if isinstance(one, str) else table(one, markdown=True) for one in told]
        write_into(options.page, f"meilisearch-{options.what}", "\n\n".join([*tables, where]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search.meilisearch", description=__doc__)
    parser.add_argument("what", choices=sorted(_WHAT))
    parser.add_argument("--services", type=int, default=50_000)
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="parity: every N-th query only (1)")
    parser.add_argument("--keep", metavar="NAME", help="speed: leave the index there under this name; find it again")
    parser.add_argument("--pid", type=int, help="speed: the server's process, where it runs on this machine")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the tables into their place on that page")
    return parser.parse_args()


@asynccontextmanager
async def engine(
    url: str, master: str, embedder: Embedder, keep: str | None = None
) -> AsyncIterator[tuple[MeiliBackend, str, Keys]]:
    index = f"bench{keep or uuid.uuid4().hex[:8]}"
    keys = await asyncio.to_thread(make_keys, url, master, index)
    backend = MeiliBackend(url, keys, index, model=embedder.id, dims=embedder.dims)
    try:
        yield backend, index, keys
    finally:
        await backend.close()
        if keep is None:
            await asyncio.to_thread(remove_index, url, master, index)


async def fill(backend: Backend, held: Sequence[SearchDocument]) -> float:
    """Seconds from the first document to the swap."""
    started = time.perf_counter()
    async with backend.build() as build:
        for start in range(0, len(held), 1_000):
            await build.add(held[start : start + 1_000])
        await build.swap()
    return time.perf_counter() - started


async def answer(backend: Backend, said: str, embedder: Embedder, filters: Filters | None = None) -> int:
    """The whole answer but the database's cards: read the question, candidates, order, a page explained."""
    question = ask(said, embedder)
    pool = await backend.candidates(question, filters or Filters(), POOL)
    ranking = rank(question, pool.candidates, pool.stats)
    for place in range(min(_PAGE, len(ranking))):
        explain(ranking, place)
    return len(pool.candidates)


async def speed(options: argparse.Namespace, url: str, master: str) -> list[Told]:
    """Alone, one question after another; then with a filter that keeps half; then 200 at once."""
    embedder = default_embedder()
    texts = Texts()
    asked = texts.requests(options.requests)
    async with engine(url, master, embedder, options.keep) as (backend, _, _):
        told: list[Told] = []
        if (await backend.health()).services != options.services:
            seconds = await fill(backend, documents(list(texts.services(options.services)), embedder))
            told.append(f"{options.services:,} services, one vector each: built and swapped in {seconds:.0f} s.")
        rows: list[tuple[str, ...]] = [
            (
                f"{options.services:,} services",
                "p50 ms",
                "p95",
                "p99",
                "slowest",
                "our CPU ms",
                "server's",
                "candidates",
            )
        ]
        for name, filters in (("alone", Filters()), ("half filtered out", Filters(auth_types=("none",), min_score=40))):
            for said in asked[:50]:
                await _patiently(backend, ask(said, embedder))
            took, sizes, refused = [], [], 0
            before, theirs = time.process_time(), _cpu_of(options.pid)
            for said in asked:
                started = time.perf_counter()
                try:
                    sizes.append(await answer(backend, said, embedder, filters))
                except SearchUnavailable:
                    refused += 1
                took.append(1e3 * (time.perf_counter() - started))
            ours = 1e3 * (time.process_time() - before) / len(asked)
            served = f"{1e3 * (_cpu_of(options.pid) - theirs) / len(asked):.1f}" if options.pid else ""
            rows.append((name, *_spread(took), f"{ours:.1f}", served, f"{median(sizes):.0f}", str(refused)))
        return [*told, rows, *await _burst(backend, asked, embedder)]


def _cpu_of(process: int | None) -> float:
    """Seconds of CPU that it used so far (Linux)."""
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _burst(
    backend: MeiliBackend, asked: Sequence[str], embedder: Embedder, at_once: int = 200, rounds: int = 5
) -> list[Told]:
    took: dict[str, list[float]] = defaultdict(list)

    async def one(said: str) -> None:
        started = time.perf_counter()
        end = "answered"
        try:
            await answer(backend, said, embedder)
        except SearchUnavailable as error:
            end = f"refused: {error}"
        took[end].append(1e3 * (time.perf_counter() - started))

    for round_ in range(rounds):
        start = (round_ * at_once) % max(1, len(asked) - at_once)
        await asyncio.gather(*(one(said) for said in asked[start : start + at_once]))
        await asyncio.sleep(1)
    rows: list[tuple[str, ...]] = [
        (f"{at_once} at once, {rounds} times", "questions", "p50 ms", "p95", "p99", "slowest")
    ]
    rows += [(end, str(len(some)), *_spread(some)) for end, some in sorted(took.items())]
    return [f"At most {AT_ONCE} at the server, each given up after {BUDGET_SECONDS} s:", rows]


async def clients(options: argparse.Namespace, url: str, master: str) -> list[Told]:
    """The same candidate queries by the official client in threads, and by the pooled one."""
    embedder = default_embedder()
    texts = Texts()
    held = documents(list(texts.services(options.services)), embedder)
    async with engine(url, master, embedder) as (backend, index, keys):
        await fill(backend, held)
        known = (await _patiently(backend, ask("a", embedder))).stats
        bodies = []
        for said in texts.requests(options.requests):
            question = ask(said, embedder)
            near, worded = (
                legs.vector_leg(index, question, Filters()),
                legs.word_legs(index, question, Filters(), known),
            )
            bodies.append([legs.probe(index), *near, *worded])
        rows: list[tuple[str, ...]] = [
            (f"{len(bodies)} calls, {AT_ONCE} at once", "calls/s", "our CPU, ms each", "p50 ms", "p99 ms")
        ]
        for _ in range(2):
            rows.append(("official, threads", *await _paced(bodies, _official(url, keys))))
            rows.append(("pooled, asynchronous", *await _paced(bodies, _pooled(url, keys))))
        return [f"Queries of one call: {median(len(body) for body in bodies):.0f}.", rows]


Call = Callable[[list[dict[str, Any]]], Awaitable[Any]]


def _official(url: str, keys: Keys) -> Call:
    threads = ThreadPoolExecutor(AT_ONCE)

    async def call(body: list[dict[str, Any]]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(
            threads, lambda: Client(url, keys.search, timeout=10).multi_search(body)
        )

    return call


def _pooled(url: str, keys: Keys) -> Call:
    asker = Asker(url, keys.search)
    return lambda body: asker.ask(body, time.monotonic() + 10)


async def _paced(bodies: Sequence[list[dict[str, Any]]], call: Call) -> tuple[str, ...]:
    left, took = iter(bodies), []

    async def one_after_another() -> None:
        for body in left:
            started = time.perf_counter()
            await call(body)
            took.append(1e3 * (time.perf_counter() - started))

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))
    seconds, used = time.perf_counter() - started, time.process_time() - cpu
    p50, _, p99, _ = _spread(took)
    return f"{len(bodies) / seconds:.0f}", f"{1e3 * used / len(bodies):.1f}", p50, p99


async def rebuild(options: argparse.Namespace, url: str, master: str) -> list[Told]:
    """Questions all the time, while another process builds the index anew and swaps it in, three times."""
    embedder = default_embedder()
    asked = Texts().requests(options.requests)
    async with engine(url, master, embedder) as (backend, index, keys):
        builder = ProcessPoolExecutor(1, get_context("spawn"))
        build = partial(_rebuilt, url, keys, index, options.services)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(builder, build)
        done = asyncio.Event()
        answers: Counter[str] = Counter()
        took: list[float] = []

        async def reader(first: int) -> None:
            place = first
            while not done.is_set():
                started = time.perf_counter()
                try:
                    answers["answered" if await answer(backend, asked[place % len(asked)], embedder) else "empty"] += 1
                except SearchUnavailable as error:
                    answers[f"failed: {error}"] += 1
                took.append(1e3 * (time.perf_counter() - started))
                place += 7
                await asyncio.sleep(0.02)

        readers = [asyncio.create_task(reader(number)) for number in range(READERS)]
        seconds = [await loop.run_in_executor(builder, build) for _ in range(3)]
        done.set()
        await asyncio.gather(*readers)
        builder.shutdown()
        told = ", ".join(f"{one:.0f}" for one in seconds)
        outcomes = ", ".join(f"{many:,} {end}" for end, many in sorted(answers.items()))
        head = ("", "questions meanwhile", "p50 ms", "p95", "p99", "slowest")
        return [
            f"Three rebuilds of {options.services:,} services, swapped in after {told} s; {READERS} ask all the time:",
            [head, (outcomes, f"{len(took):,}", *_spread(took))],
        ]


def _rebuilt(url: str, keys: Keys, index: str, services: int) -> float:
    """As `waypost reindex` does it; seconds from the first document to the swap."""
    embedder = default_embedder()

    async def build() -> float:
        backend = MeiliBackend(url, keys, index, model=embedder.id, dims=embedder.dims)
        seconds = await fill(backend, documents(list(Texts().services(services)), embedder))
        await backend.close()
        return seconds

    return asyncio.run(build())


async def parity(options: argparse.Namespace, url: str, master: str) -> list[Told]:
    """The labelled queries of the shared sets on both engines: measures, and the differences query by query."""
    embedder = default_embedder()
    told: list[Told] = []
    for folder in shared_folders():
        collection = read(folder)
        held = documents(collection.listings, embedder)
        queries = collection.queries[:: options.every]
        async with engine(url, master, embedder) as (server, _, _), indexed(embedder, held) as embedded:
            await fill(server, held)
            found: dict[str, list[tuple[float, ...]]] = {"embedded": [], "meilisearch": []}
            same = 0
            for one in queries:
                question = ask(one.text, embedder)
                tops = []
                for name, backend in (("embedded", embedded), ("meilisearch", server)):
                    pool = await _patiently(backend, question)
                    tops.append(rank(question, pool.candidates, pool.stats).hosts[:_DEPTH])
                    found[name].append(score(tops[-1], one.grades))
                same += tops[0] == tops[1]
        scores = {name: np.array(rows) for name, rows in found.items()}
        rows: list[tuple[str, ...]] = [(collection.name, *MEASURES)]
        rows += [(name, *(f"{one.mean:.2f}" for one in means(each))) for name, each in scores.items()]
        between = differences(scores["meilisearch"], scores["embedded"])
        rows.append(("difference", *(f"{one.mean:+.2f} ({one.low:+.2f} to {one.high:+.2f})" for one in between)))
        told.append(
            f"{len(queries):,} queries, {len(held):,} services; the same ten in order: {same / len(queries):.1%}"
        )
        told.append(rows)
    return told


async def _patiently(backend: Backend, question: Question) -> Pool:
    """Whether the engine answers in time is measured elsewhere."""
    for _ in range(100):
        with suppress(SearchUnavailable):
            return await backend.candidates(question, Filters(), POOL)
        await asyncio.sleep(1)
    return await backend.candidates(question, Filters(), POOL)


def _spread(took: Sequence[float]) -> tuple[str, str, str, str]:
    """The middle, two percentiles, the slowest."""
    cuts = quantiles(took, n=100, method="inclusive") if len(took) > 1 else [took[0]] * 99
    return f"{median(took):.1f}", f"{cuts[94]:.1f}", f"{cuts[98]:.1f}", f"{max(took):.1f}"


_WHAT: Final = {"speed": speed, "clients": clients, "rebuild": rebuild, "parity": parity}


if __name__ == "__main__":
    main()
