"""`python -m tests.search.meilisearch_kills --engine PATH`: kill engine and indexer at random; the index stays correct.

A real Meilisearch (the program at PATH, on loopback, with its own data folder), a real PostgreSQL, a real
`waypost worker --drain-only` and now and then a `waypost reindex` beside it. Services are added, changed and removed
all the time; at moments drawn from a printed seed the engine, the indexer, the rebuild or all of them die by SIGKILL
and are started again. Then all changes end, and within a minute the index must match the database: every host, every
hash, and the counts of the collection, compared here and by `waypost verify-index`. Exit code 1 if it does not.
"""

import argparse
import asyncio
import os
import random
import secrets
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from registry.core.model.listing import Filters, Listing, SearchUnavailable
from registry.core.ranking import Embedder, parse_query
from registry.search.backend import make_documents
from registry.search.embedding import default_embedder
from registry.search.meilisearch.admin import make_keys
from registry.search.meilisearch.backend import MeiliBackend
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.actions.catalogue import put, remove
from tests.search.listings import listing
from tests.search.processes import Process, database, engine_of, free_port, keep_logs, say, until_answering
from tests.support.candidates import count_corpus
from tests.support.shared import ROOT

INDEX: Final = "kills"
HOSTS: Final = 400
SETTLE_SECONDS: Final = 60.0
WORDS: Final = ["weather", "email", "parcel", "route", "stamp", "inbox", "tide", "flour", "bicycle", "lantern"]


async def main() -> int:
    options = _options()
    say(f"seed {options.seed}, {options.kills} kills")
    async with database("kills") as (folder, dsn):
        return await _run(options, folder, dsn)


async def _run(options: argparse.Namespace, folder: Path, dsn: str) -> int:
    master, port = secrets.token_hex(16), free_port()
    url = f"http://127.0.0.1:{port}"
    engine = engine_of(options.engine, folder, port, master)
    engine.start()
    await until_answering(url)
    keys = await asyncio.to_thread(make_keys, url, master, INDEX)
    environment = {
        "DATABASE_URL": dsn, "MEILI_URL": url, "MEILI_INDEX": INDEX, "WAYPOST_DATA": str(folder / "data"),
        "MEILI_SEARCH_KEY": str(keys.search), "MEILI_INDEXER_KEY": str(keys.indexer),
        "MEILI_TASKS_KEY": str(keys.tasks), "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    command = [sys.executable, "-m", "registry.cli"]
    feeder = Process([*command, "worker", "--drain-only"], environment, folder / "feeder.log")
    rebuild = Process([*command, "reindex"], environment, folder / "rebuild.log")
    embedder = default_embedder()
    backend = MeiliBackend(url, keys, INDEX, model=embedder.id, dims=embedder.dims)
    store = Store(make_engine(dsn))
    feeder.start()
    try:
        counts = await _run_with_kills(options, store, backend, embedder, engine, feeder, rebuild)
        matches = await _index_matches_store(store, backend, embedder, counts)
        return int(not (matches and await _verify_index([*command, "verify-index"], environment)))
    finally:
        for process in (rebuild, feeder, engine):
            process.stop()
        await backend.close()
        await store.close()
        if options.logs:
            await asyncio.to_thread(keep_logs, folder, options.logs)


async def _run_with_kills(
    options: argparse.Namespace, store: Store, backend: MeiliBackend, embedder: Embedder,
    engine: Process, feeder: Process, rebuild: Process,
) -> Counter[str]:  # fmt: skip
    chance = random.Random(options.seed)
    counts: Counter[str] = Counter()
    done = asyncio.Event()
    tasks = [asyncio.create_task(_change(store, chance, done, counts)),
              asyncio.create_task(_read(backend, embedder, done, counts))]  # fmt: skip
    victims = {"engine": [engine], "feeder": [feeder], "rebuild": [rebuild], "all": [engine, feeder, rebuild]}
    for _ in range(options.kills):
        await asyncio.sleep(chance.expovariate(1 / options.pause))
        if not rebuild.is_running and chance.random() < 0.5:
            rebuild.start()
            await asyncio.sleep(chance.random() * 4)
        name = chance.choice(list(victims))
        for process in victims[name]:
            process.kill()
        counts[f"killed: {name}"] += 1
        await asyncio.sleep(chance.random())
        for process in (engine, feeder):
            if not process.is_running:
                process.start()
    done.set()
    await asyncio.gather(*tasks)
    return counts


async def _change(store: Store, chance: random.Random, done: asyncio.Event, counts: Counter[str]) -> None:
    while not done.is_set():
        services = [_service(chance) for _ in range(chance.randint(1, 12))]
        if chance.random() < 0.3:
            await remove(store, *services)
        else:
            await put(store, *{service.host: service for service in services}.values(), hidden=chance.random() < 0.1)
        counts["changes"] += len(services)
        await asyncio.sleep(chance.random() * 0.1)


def _service(chance: random.Random) -> Listing:
    host = f"h{chance.randrange(HOSTS)}.example"
    text = f"{chance.choice(WORDS)}: {' '.join(chance.choices(WORDS, k=6))}"
    return listing(host, text, chance.choice(WORDS), score=chance.randint(0, 100))


async def _read(backend: MeiliBackend, embedder: Embedder, done: asyncio.Event, counts: Counter[str]) -> None:
    """Search all the time: an unavailable engine must cause SearchUnavailable, never an empty answer."""
    while not done.is_set():
        started = time.monotonic()
        try:
            await backend.candidates(parse_query("weather for a parcel", embedder), Filters(), 200)
            counts["questions answered"] += 1
        except SearchUnavailable:
            counts["questions refused"] += 1
        counts["slowest answer, ms"] = max(counts["slowest answer, ms"], round(1e3 * (time.monotonic() - started)))
        await asyncio.sleep(0.05)


async def _index_matches_store(store: Store, backend: MeiliBackend, embedder: Embedder, counts: Counter[str]) -> bool:
    started = time.monotonic()
    while not await _is_settled(store, backend):
        if time.monotonic() - started > SETTLE_SECONDS:
            say(f"not settled within {SETTLE_SECONDS:.0f} s: {dict(counts)}")
            return False
        await asyncio.sleep(0.2)
    seconds = time.monotonic() - started
    async with store.begin() as uow:
        listings = await uow.search.all_listings(("", ""), limit=10 * HOSTS)
    expected = make_documents(listings, embedder)
    hashes = {host: digest async for host, digest in backend.hashes()}
    faults = {document.listing.host for document in expected if hashes.get(document.listing.host) != document.hash}
    faults |= hashes.keys() - {document.listing.host for document in expected}
    stats = (await backend.candidates(parse_query("weather", embedder), Filters(), 10)).stats
    counts_fit = stats == count_corpus(document.record for document in expected)
    say(dict(sorted(counts.items())))
    say(f"settled {seconds:.1f} s after the last change; {len(hashes)} services; "
          f"wrong, missing or too many: {sorted(faults)}; counts fit: {counts_fit}")  # fmt: skip
    return counts_fit and not faults


async def _verify_index(command: list[str], environment: dict[str, str]) -> bool:
    """Run `waypost verify-index` as an operator would."""
    completed = await asyncio.to_thread(
        subprocess.run, command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    say(f"waypost verify-index: exit code {completed.returncode}; {(completed.stdout + completed.stderr).strip()}")
    return completed.returncode == 0


async def _is_settled(store: Store, backend: MeiliBackend) -> bool:
    async with store.begin() as uow:
        pending = await uow.search.count(backend.target)
    return pending == 0 and (await backend.health()).generation is not None


def _options() -> Any:
    parser = argparse.ArgumentParser(prog="python -m tests.search.meilisearch_kills", description=__doc__)
    parser.add_argument("--engine", required=True, metavar="PATH", help="the Meilisearch program")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--pause", type=float, default=3.0, help="mean seconds between two kills (3)")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="keep what the processes said")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
