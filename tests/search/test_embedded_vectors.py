"""The embedded engine with vectors: the contract, and crashes and damage of its files."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from registry.core.model.listing import Filters, SearchUnavailable
from registry.core.ranking import parse_query, rank
from registry.search import ann, generation
from registry.search.backend import Backend, IndexState, make_document, make_documents
from registry.search.embedded import EmbeddedBackend
from tests.search.contract import MAIL, MAPS, SHOP
from tests.search.folding_contract import POST, copies_of
from tests.search.listings import listing
from tests.search.vector_contract import WORDS, VectorContract, fill, pool, random_services, ranked
from tests.support.embedder import WordEmbedder
from tests.support.shared import ROOT

pytestmark = pytest.mark.slow  # many commits of an index


def engine(folder: Path, embedder: WordEmbedder = WORDS) -> EmbeddedBackend:
    return EmbeddedBackend(folder, embedder.id, embedder.dims)


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    embedded = engine(tmp_path / "index")
    yield embedded
    await embedded.close()


@pytest.fixture
def linear_rows(monkeypatch: pytest.MonkeyPatch) -> int:
    """Make the number of rows for exhaustive search so small that a graph is built for the others."""
    rows = 8
    monkeypatch.setattr(ann, "LINEAR_ROWS", rows)
    monkeypatch.setattr(ann, "SCANS_PER_NEIGHBOUR", 0)
    monkeypatch.setattr(generation, "LINEAR_ROWS", rows)
    return rows


class TestEmbedded(VectorContract):
    pass


class TestEmbeddedWithGraph(VectorContract):
    """The same contract with a graph for most rows."""

    @pytest.fixture(autouse=True)
    def lower_linear_rows(self, linear_rows: int) -> None:
        pass


def only_generation(folder: Path) -> Path:
    (path,) = folder.glob("gen-*")
    return path


async def test_a_graph_is_built_for_many_rows_and_extended(tmp_path: Path, linear_rows: int) -> None:
    backend = engine(tmp_path)
    services = random_services(40, seed=1)
    await fill(backend, services[:5])
    assert not list(only_generation(tmp_path).glob("graph-*"))
    await backend.upsert(make_documents(services[5:20], WORDS))
    await backend.commit()
    (first,) = only_generation(tmp_path).glob("graph-*")
    await backend.upsert(make_documents(services[20:24], WORDS))
    await backend.commit()
    assert list(only_generation(tmp_path).glob("graph-*")) == [first]
    await backend.upsert(make_documents(services[24:], WORDS))
    await backend.commit()
    assert list(only_generation(tmp_path).glob("graph-*")) != [first]
    assert sorted((await pool(backend, "email")).candidates.hosts) == sorted(service.host for service in services)
    await backend.close()


async def test_graph_and_exhaustive_search_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services = random_services(600, seed=2)
    await fill(engine(tmp_path / "plain"), services)
    monkeypatch.setattr(ann, "LINEAR_ROWS", 100)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # several threads would build a different graph each time
    await fill(engine(tmp_path / "graph"), services)
    plain, graph = engine(tmp_path / "plain")._snapshot(), engine(tmp_path / "graph")._snapshot()
    assert (plain.state.graph, graph.state.covered) == (None, 600)
    common = 0
    for text in ("letter", "move the visit to another day", "rain forecast. pay the bill."):
        vector = parse_query(text, WORDS).whole
        assert vector is not None
        neighbours = [set(snapshot._nearest.rows(vector, snapshot.alive, 50).tolist()) for snapshot in (plain, graph)]
        common += len(neighbours[0] & neighbours[1])
    assert common >= 0.95 * 150  # a graph may miss a neighbour


class _WithoutScan(ann.NearestNeighbours):
    def _scan_all(self, *_: object) -> NoReturn:
        raise AssertionError("all rows are scanned")


async def test_many_copies_do_not_cause_a_scan_of_all_rows(
    tmp_path: Path, linear_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most of the nearest rows are folded copies; a scan costs as much as thousands of neighbours."""
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # several threads would build a different graph each time
    copies = copies_of(replace(POST, description=f"{POST.description} and sends a letter"), 300)
    backend = engine(tmp_path)
    await fill(backend, [*random_services(600, seed=2), *copies])
    snapshot = backend._snapshot()
    vector = parse_query("books a parcel, and sends a letter to every town", WORDS).whole
    assert vector is not None
    assert snapshot.graph is not None
    passing = snapshot._passing(Filters())
    assert len(passing.folded.positions) == 299
    nearest = _WithoutScan(snapshot.columns, snapshot.graph, snapshot.state.covered)
    assert len(nearest.rows(vector, passing.mask, 50)) == 50


async def test_an_index_of_another_model_is_outdated(tmp_path: Path) -> None:
    await fill(engine(tmp_path), [MAIL])
    other = engine(tmp_path, WordEmbedder("wp_other"))
    assert (await other.health()).state is IndexState.OUTDATED
    with pytest.raises(SearchUnavailable):
        await pool(other, "email")
    assert (await EmbeddedBackend(tmp_path).health()).state is IndexState.OUTDATED


async def test_vectors_of_other_dimensions_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    backend = engine(tmp_path)
    await fill(backend, [MAIL])
    with pytest.raises(ValueError, match="dimensions"):
        await backend.upsert([make_document(SHOP, WordEmbedder(dims=7))])
    await backend.commit()
    assert await backend.count() == 1
    await backend.close()


async def test_an_index_of_mostly_dead_rows_is_outdated_but_searchable(tmp_path: Path, linear_rows: int) -> None:
    backend = engine(tmp_path)
    await fill(backend, [MAIL])
    for n in range(linear_rows + 6):
        await backend.upsert([make_document(listing("shop.example", f"Shop {n}: parcels"), WORDS)])
        await backend.commit()
    assert (await backend.health()).state is IndexState.OUTDATED
    assert (await ranked(backend, "parcels"))[0] == "shop.example"
    await backend.close()
    await fill(backend, [MAIL, SHOP])
    assert (await backend.health()).state is IndexState.READY


FILES = ["rows", "hosts", "facets", "terms", "counts", "scales", "vectors", "capabilities", "alive-1", "graph-1"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "noise"])
async def test_damaged_columns_are_an_error_of_the_index_and_a_rebuild_heals_them(
    tmp_path: Path, linear_rows: int, name: str, damage: str
) -> None:
    services = random_services(20, seed=3)
    await fill(engine(tmp_path), services)
    path = only_generation(tmp_path) / f"{name}.bin"
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        noise = np.random.default_rng(0).bytes(len(content))
        path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "noise": noise}[damage])
    backend = engine(tmp_path)
    state = (await backend.health()).state
    if damage != "noise":
        assert state is IndexState.UNREADABLE
        with pytest.raises(SearchUnavailable):
            await pool(backend, "email")
    else:
        with suppress(SearchUnavailable, UnicodeDecodeError):
            await ranked(backend, "email")
    await fill(backend, services)
    assert (await backend.health()).state is IndexState.READY
    assert len((await pool(backend, "email")).candidates) == 20
    await backend.close()


@pytest.mark.long
async def test_a_killed_process_leaves_the_last_commit(tmp_path: Path) -> None:
    """The child makes one commit after the other and prints the number of services; it is killed meanwhile."""
    script = f"""
import asyncio, sys
from contextlib import suppress
from pathlib import Path
from registry.search import ann, generation
from registry.search.backend import make_documents
from registry.search.embedded import EmbeddedBackend
from tests.search.vector_contract import WORDS, random_services

ann.LINEAR_ROWS = generation.LINEAR_ROWS = 8
ann.SCANS_PER_NEIGHBOUR = 0

async def main():
    backend = EmbeddedBackend(Path({str(tmp_path)!r}), WORDS.id, WORDS.dims)
    services = random_services(2_000, seed=5)
    start = await backend.count()
    for n in range(start, 2_000, 3):
        await backend.upsert(make_documents(services[n:n + 3], WORDS))
        await backend.commit()
        print(n + 3, flush=True)

asyncio.run(main())
"""
    services = random_services(2_000, seed=5)
    await fill(engine(tmp_path), [])
    dice = random.Random(6)
    committed = 0
    for _ in range(8):
        child = await asyncio.to_thread(
            subprocess.Popen, [sys.executable, "-c", script], cwd=ROOT, env=os.environ, stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        first_line = await asyncio.to_thread(child.stdout.readline)
        await asyncio.to_thread(time.sleep, dice.uniform(0.0, 0.3))
        child.send_signal(signal.SIGKILL)
        other_lines = await asyncio.to_thread(child.stdout.read)
        await asyncio.to_thread(child.wait)
        committed = max([committed, *(int(line) for line in (first_line + other_lines).split())])
        backend = engine(tmp_path)
        count = await backend.count()
        assert count in (committed, committed + 3)
        hashes = {host: digest async for host, digest in backend.hashes()}
        assert hashes == {document.listing.host: document.hash for document in make_documents(services[:count], WORDS)}
        answer = await pool(backend, "letter about a parcel")
        assert set(answer.candidates.hosts) <= set(hashes)
        assert len(rank(parse_query("letter about a parcel", WORDS), answer.candidates, answer.stats)) > 0
        await backend.close()


async def test_concurrent_readers_of_the_graph_get_the_same_answer(tmp_path: Path, linear_rows: int) -> None:
    services = random_services(300, seed=4)
    backend = engine(tmp_path)
    await fill(backend, services)
    question = parse_query("letter", WORDS)
    first = set((await backend.candidates(question, Filters(), 200)).candidates.hosts)
    answers = await asyncio.gather(*(backend.candidates(question, Filters(), 200) for _ in range(40)))
    assert all(set(answer.candidates.hosts) == first for answer in answers)


async def test_a_changed_service_is_not_found_by_its_old_vector(tmp_path: Path) -> None:
    backend = engine(tmp_path)
    await fill(backend, [MAIL, MAPS])
    await backend.upsert([make_document(listing("mail.example", "Ledger: money and bills"), WORDS)])
    await backend.commit()
    snapshot = backend._snapshot()
    vector = parse_query("letter", WORDS).whole
    assert vector is not None
    rows = snapshot._nearest.rows(vector, snapshot.alive, 10)
    assert sorted(snapshot.columns.hosts(rows)) == ["mail.example", "maps.example"]
    await backend.close()
