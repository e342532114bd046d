"""`python -m benchmarks.search.meilisearch`: the cost of a search on a Meilisearch server, and parity of the results.

Needs a writable server: MEILI_URL and MEILI_MASTER_KEY. Each run creates its own index there and removes it, except one
named by `--keep`, which is filled once and reused. All times include the server's own CPU; on a machine with few cores
it competes with this process. With `--pid`, the server's process, its CPU is reported separately.
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
from registry.actions.queries.discover import POOL
from registry.core.model.listing import Filters, SearchUnavailable
from registry.core.ranking import Embedder, ParsedQuery, explain, parse_query, rank
from registry.search.backend import Backend, Pool, SearchDocument
from registry.search.embedding import default_embedder
from registry.search.meilisearch import queries
from registry.search.meilisearch.admin import Admin, Keys, make_keys
from registry.search.meilisearch.backend import MeiliBackend
from registry.search.meilisearch.query_client import BUDGET_SECONDS, MAX_CONCURRENT, QueryClient

_PAGE: Final = 10
_DEPTH: Final = 10
READERS: Final = 4

Section = str | list[tuple[str, ...]]
"""A sentence, or a table."""


def main() -> None:
    options = _options()
    url, master = os.environ.get("MEILI_URL"), os.environ.get("MEILI_MASTER_KEY")
    if not url or not master:
        sys.exit("no server: set MEILI_URL and MEILI_MASTER_KEY")
    sections = asyncio.run(_MEASUREMENTS[options.what](options, url, master))
    conditions = f"Meilisearch {Admin(url, Keys(master, master, master)).version()}; {machine('meilisearch', 'httpx2')}"
    print(
        "\n\n".join(
            [
                *(section if isinstance(section, str) else table(section, markdown=False) for section in sections),
                conditions,
            ]
        )
    )
    if options.page is not None:
        tables = [section if isinstance(section, str) else table(section, markdown=True) for section in sections]
        write_into(options.page, f"meilisearch-{options.what}", "\n\n".join([*tables, conditions]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search.meilisearch", description=__doc__)
    parser.add_argument("what", choices=sorted(_MEASUREMENTS))
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


async def fill(backend: Backend, service_documents: Sequence[SearchDocument]) -> float:
    """Build and swap in an index; return the seconds that it took."""
    started = time.perf_counter()
    async with backend.build() as build:
        for start in range(0, len(service_documents), 1_000):
            await build.add(service_documents[start : start + 1_000])
        await build.swap()
    return time.perf_counter() - started


async def answer(backend: Backend, text: str, embedder: Embedder, filters: Filters | None = None) -> int:
    """Run a whole search except the database rows: parse, candidates, rank, explain a page. Return the candidates'
    number."""
    question = parse_query(text, embedder)
    pool = await backend.candidates(question, filters or Filters(), POOL)
    ranking = rank(question, pool.candidates, pool.stats)
    for place in range(min(_PAGE, len(ranking))):
        explain(ranking, place)
    return len(pool.candidates)


async def speed(options: argparse.Namespace, url: str, master: str) -> list[Section]:
    """Measure questions one after another, then with a filter that keeps half, then 200 at once."""
    embedder = default_embedder()
    texts = Texts()
    questions = texts.requests(options.requests)
    async with engine(url, master, embedder, options.keep) as (backend, _, _):
        sections: list[Section] = []
        if (await backend.health()).services != options.services:
            seconds = await fill(backend, documents(list(texts.services(options.services)), embedder))
            sections.append(f"{options.services:,} services, one vector each: built and swapped in {seconds:.0f} s.")
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
            for text in questions[:50]:
                await _patiently(backend, parse_query(text, embedder))
            milliseconds, sizes, refused = [], [], 0
            before, server_cpu = time.process_time(), _cpu_of(options.pid)
            for text in questions:
                started = time.perf_counter()
                try:
                    sizes.append(await answer(backend, text, embedder, filters))
                except SearchUnavailable:
                    refused += 1
                milliseconds.append(1e3 * (time.perf_counter() - started))
            own_ms = 1e3 * (time.process_time() - before) / len(questions)
            server_ms = f"{1e3 * (_cpu_of(options.pid) - server_cpu) / len(questions):.1f}" if options.pid else ""
            rows.append(
                (name, *_spread(milliseconds), f"{own_ms:.1f}", server_ms, f"{median(sizes):.0f}", str(refused))
            )
        return [*sections, rows, *await _burst(backend, questions, embedder)]


def _cpu_of(process: int | None) -> float:
    """Return the CPU seconds that a process has used so far (Linux); 0 without a process."""
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _burst(
    backend: MeiliBackend, questions: Sequence[str], embedder: Embedder, at_once: int = 200, rounds: int = 5
) -> list[Section]:
    milliseconds: dict[str, list[float]] = defaultdict(list)

    async def search(text: str) -> None:
        started = time.perf_counter()
        end = "answered"
        try:
            await answer(backend, text, embedder)
        except SearchUnavailable as error:
            end = f"refused: {error}"
        milliseconds[end].append(1e3 * (time.perf_counter() - started))

    for round_ in range(rounds):
        start = (round_ * at_once) % max(1, len(questions) - at_once)
        await asyncio.gather(*(search(text) for text in questions[start : start + at_once]))
        await asyncio.sleep(1)
    rows: list[tuple[str, ...]] = [
        (f"{at_once} at once, {rounds} times", "questions", "p50 ms", "p95", "p99", "slowest")
    ]
    rows += [(end, str(len(times)), *_spread(times)) for end, times in sorted(milliseconds.items())]
    return [f"At most {MAX_CONCURRENT} at the server, each given up after {BUDGET_SECONDS} s:", rows]


async def clients(options: argparse.Namespace, url: str, master: str) -> list[Section]:
    """Compare the same candidate queries by the official client in threads and by the pooled one."""
    embedder = default_embedder()
    texts = Texts()
    service_documents = documents(list(texts.services(options.services)), embedder)
    async with engine(url, master, embedder) as (backend, index, keys):
        await fill(backend, service_documents)
        stats = (await _patiently(backend, parse_query("a", embedder))).stats
        bodies = []
        for text in texts.requests(options.requests):
            question = parse_query(text, embedder)
            near, worded = (
                queries.vector_queries(index, question, Filters()),
                queries.word_queries(index, question, Filters(), stats),
            )
            bodies.append([queries.generation_query(index), *near, *worded])
        rows: list[tuple[str, ...]] = [
            (f"{len(bodies)} calls, {MAX_CONCURRENT} at once", "calls/s", "our CPU, ms each", "p50 ms", "p99 ms")
        ]
        for _ in range(2):
            rows.append(("official, threads", *await _paced(bodies, _official(url, keys))))
            rows.append(("pooled, asynchronous", *await _paced(bodies, _pooled(url, keys))))
        return [f"Queries of one call: {median(len(body) for body in bodies):.0f}.", rows]


Call = Callable[[list[dict[str, Any]]], Awaitable[Any]]


def _official(url: str, keys: Keys) -> Call:
    threads = ThreadPoolExecutor(MAX_CONCURRENT)

    async def call(body: list[dict[str, Any]]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(
            threads, lambda: Client(url, keys.search, timeout=10).multi_search(body)
        )

    return call


def _pooled(url: str, keys: Keys) -> Call:
    client = QueryClient(url, keys.search)
    return lambda body: client.multi_search(body, time.monotonic() + 10)


async def _paced(bodies: Sequence[list[dict[str, Any]]], call: Call) -> tuple[str, ...]:
    remaining, milliseconds = iter(bodies), []

    async def one_after_another() -> None:
        for body in remaining:
            started = time.perf_counter()
            await call(body)
            milliseconds.append(1e3 * (time.perf_counter() - started))

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one_after_another() for _ in range(MAX_CONCURRENT)))
    seconds, cpu_used = time.perf_counter() - started, time.process_time() - cpu
    p50, _, p99, _ = _spread(milliseconds)
    return f"{len(bodies) / seconds:.0f}", f"{1e3 * cpu_used / len(bodies):.1f}", p50, p99


async def rebuild(options: argparse.Namespace, url: str, master: str) -> list[Section]:
    """Search continuously while another process rebuilds the index and swaps it in, three times."""
    embedder = default_embedder()
    questions = Texts().requests(options.requests)
    async with engine(url, master, embedder) as (backend, index, keys):
        builder = ProcessPoolExecutor(1, get_context("spawn"))
        build = partial(_rebuilt, url, keys, index, options.services)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(builder, build)
        done = asyncio.Event()
        answers: Counter[str] = Counter()
        milliseconds: list[float] = []

        async def reader(first: int) -> None:
            place = first
            while not done.is_set():
                started = time.perf_counter()
                try:
                    answers[
                        "answered" if await answer(backend, questions[place % len(questions)], embedder) else "empty"
                    ] += 1
                except SearchUnavailable as error:
                    answers[f"failed: {error}"] += 1
                milliseconds.append(1e3 * (time.perf_counter() - started))
                place += 7
                await asyncio.sleep(0.02)

        readers = [asyncio.create_task(reader(number)) for number in range(READERS)]
        seconds = [await loop.run_in_executor(builder, build) for _ in range(3)]
        done.set()
        await asyncio.gather(*readers)
        builder.shutdown()
        durations = ", ".join(f"{duration:.0f}" for duration in seconds)
        outcomes = ", ".join(f"{count:,} {end}" for end, count in sorted(answers.items()))
        head = ("", "questions meanwhile", "p50 ms", "p95", "p99", "slowest")
        return [
            f"Three rebuilds of {options.services:,} services, swapped in after {durations} s;"
            f" {READERS} ask all the time:",
            [head, (outcomes, f"{len(milliseconds):,}", *_spread(milliseconds))],
        ]


def _rebuilt(url: str, keys: Keys, index: str, services: int) -> float:
    """Rebuild the index as `waypost reindex` does; return the seconds from the first document to the swap."""
    embedder = default_embedder()

    async def build() -> float:
        backend = MeiliBackend(url, keys, index, model=embedder.id, dims=embedder.dims)
        seconds = await fill(backend, documents(list(Texts().services(services)), embedder))
        await backend.close()
        return seconds

    return asyncio.run(build())


async def parity(options: argparse.Namespace, url: str, master: str) -> list[Section]:
    """Run the labelled queries of the shared sets on both engines: measures, and paired differences."""
    embedder = default_embedder()
    sections: list[Section] = []
    for folder in shared_folders():
        collection = read(folder)
        service_documents = documents(collection.listings, embedder)
        labelled_queries = collection.queries[:: options.every]
        async with engine(url, master, embedder) as (server, _, _), indexed(embedder, service_documents) as embedded:
            await fill(server, service_documents)
            measured: dict[str, list[tuple[float, ...]]] = {"embedded": [], "meilisearch": []}
            identical = 0
            for query in labelled_queries:
                question = parse_query(query.text, embedder)
                tops = []
                for name, backend in (("embedded", embedded), ("meilisearch", server)):
                    pool = await _patiently(backend, question)
                    tops.append(rank(question, pool.candidates, pool.stats).hosts[:_DEPTH])
                    measured[name].append(score(tops[-1], query.grades))
                identical += tops[0] == tops[1]
        scores = {name: np.array(rows) for name, rows in measured.items()}
        rows: list[tuple[str, ...]] = [(collection.name, *MEASURES)]
        rows += [
            (name, *(f"{interval.mean:.2f}" for interval in means(engine_scores)))
            for name, engine_scores in scores.items()
        ]
        between = differences(scores["meilisearch"], scores["embedded"])
        rows.append(
            (
                "difference",
                *(f"{interval.mean:+.2f} ({interval.low:+.2f} to {interval.high:+.2f})" for interval in between),
            )
        )
        sections.append(
            f"{len(labelled_queries):,} queries, {len(service_documents):,} services;"
            f" the same ten in order: {identical / len(labelled_queries):.1%}"
        )
        sections.append(rows)
    return sections


async def _patiently(backend: Backend, question: ParsedQuery) -> Pool:
    """Return the candidates, with retries, because timeouts are measured elsewhere."""
    for _ in range(100):
        with suppress(SearchUnavailable):
            return await backend.candidates(question, Filters(), POOL)
        await asyncio.sleep(1)
    return await backend.candidates(question, Filters(), POOL)


def _spread(milliseconds: Sequence[float]) -> tuple[str, str, str, str]:
    """Return the median, the 95th and 99th percentile, and the maximum."""
    cuts = quantiles(milliseconds, n=100, method="inclusive") if len(milliseconds) > 1 else [milliseconds[0]] * 99
    return f"{median(milliseconds):.1f}", f"{cuts[94]:.1f}", f"{cuts[98]:.1f}", f"{max(milliseconds):.1f}"


_MEASUREMENTS: Final = {"speed": speed, "clients": clients, "rebuild": rebuild, "parity": parity}


if __name__ == "__main__":
    main()
