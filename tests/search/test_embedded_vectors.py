"""The embedded engine with vectors: the contract, and what its files must withstand."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from registry.core.listing import Filters, SearchUnavailable
from registry.core.ranking import ask, rank
from registry.search import ann, generation
from registry.search.backend import Backend, IndexState, make_document, make_documents
from registry.search.embedded import EmbeddedBackend
from tests.search.contract import MAIL, MAPS, SHOP
from tests.search.listings import listing
from tests.search.vector_contract import WORDS, VectorContract, fill, pool, ranked, some
from tests.support.embedder import WordEmbedder
from tests.support.shared import ROOT

pytestmark = pytest.mark.slow  # many commits of an index


def engine(folder: Path, embedder: WordEmbedder = WORDS) -> EmbeddedBackend:
    return EmbeddedBackend(folder, embedder.id, embedder.dims)


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    made = engine(tmp_path / "index")
    yield made
    await made.close()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """So small a number of rows that are looked at one by one, that a graph is made for the others."""
    few = 8
    monkeypatch.setattr(ann, "FEW", few)
    monkeypatch.setattr(ann, "LOOKS", 0)
    monkeypatch.setattr(generation, "FEW", few)
    return few


class TestEmbedded(VectorContract):
    pass


class TestEmbeddedWithGraph(VectorContract):
    """The same where a graph answers for most rows."""

    @pytest.fixture(autouse=True)
    def few_rows(self, few: int) -> None:
        pass


def only_generation(folder: Path) -> Path:
    (found,) = folder.glob("gen-*")
    return found


async def test_a_graph_is_made_when_rows_are_many_and_extended_as_they_come(tmp_path: Path, few: int) -> None:
    backend = engine(tmp_path)
    services = some(40, seed=1)
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
    assert sorted((await pool(backend, "email")).candidates.hosts) == sorted(one.host for one in services)
    await backend.close()


async def test_the_graph_and_the_look_at_all_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services = some(600, seed=2)
    await fill(engine(tmp_path / "plain"), services)
    monkeypatch.setattr(ann, "FEW", 100)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # by several threads it is another graph each time
    await fill(engine(tmp_path / "graph"), services)
    plain, graph = engine(tmp_path / "plain")._snapshot(), engine(tmp_path / "graph")._snapshot()
    assert (plain.state.graph, graph.state.covered) == (None, 600)
    common = 0
    for text in ("letter", "move the visit to another day", "rain forecast. pay the bill."):
        asked = ask(text, WORDS).whole
        assert asked is not None
        sides = [set(one._nearest.rows(asked, one.alive, 50).tolist()) for one in (plain, graph)]
        common += len(sides[0] & sides[1])
    assert common >= 0.95 * 150  # a graph may miss a neighbour


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


async def test_files_full_of_dead_rows_are_to_be_written_anew_and_answer_meanwhile(tmp_path: Path, few: int) -> None:
    backend = engine(tmp_path)
    await fill(backend, [MAIL])
    for n in range(few + 6):
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
    tmp_path: Path, few: int, name: str, damage: str
) -> None:
    services = some(20, seed=3)
    await fill(engine(tmp_path), services)
    path = only_generation(tmp_path) / f"{name}.bin"
    whole = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        noise = np.random.default_rng(0).bytes(len(whole))
        path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "noise": noise}[damage])
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


async def test_killed_at_any_moment_the_index_is_one_of_its_commits(tmp_path: Path) -> None:
    """The child commits services 0 to n, one commit after the other, and tells n; it is killed while it does so."""
    script = f"""
import asyncio, sys
from contextlib import suppress
from pathlib import Path
from registry.search import ann, generation
from registry.search.backend import make_documents
from registry.search.embedded import EmbeddedBackend
from tests.search.vector_contract import WORDS, some

ann.FEW = generation.FEW = 8
ann.LOOKS = 0

async def main():
    backend = EmbeddedBackend(Path({str(tmp_path)!r}), WORDS.id, WORDS.dims)
    services = some(2_000, seed=5)
    start = await backend.count()
    for n in range(start, 2_000, 3):
        await backend.upsert(make_documents(services[n:n + 3], WORDS))
        await backend.commit()
        print(n + 3, flush=True)

asyncio.run(main())
"""
    services = some(2_000, seed=5)
    await fill(engine(tmp_path), [])
    dice = random.Random(6)
    told = 0
    for _ in range(8):
        child = await asyncio.to_thread(
            subprocess.Popen, [sys.executable, "-c", script], cwd=ROOT, env=os.environ, stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        first = await asyncio.to_thread(child.stdout.readline)
        await asyncio.to_thread(time.sleep, dice.uniform(0.0, 0.3))
        child.send_signal(signal.SIGKILL)
        rest = await asyncio.to_thread(child.stdout.read)
        await asyncio.to_thread(child.wait)
        told = max([told, *(int(line) for line in (first + rest).split())])
        backend = engine(tmp_path)
        held = await backend.count()
        assert held in (told, told + 3)
        hashes = {host: digest async for host, digest in backend.hashes()}
        assert hashes == {one.listing.host: one.hash for one in make_documents(services[:held], WORDS)}
        answer = await pool(backend, "letter about a parcel")
        assert set(answer.candidates.hosts) <= set(hashes)
        assert len(rank(ask("letter about a parcel", WORDS), answer.candidates, answer.stats)) > 0
        await backend.close()


async def test_two_readers_ask_the_graph_at_once(tmp_path: Path, few: int) -> None:
    services = some(300, seed=4)
    backend = engine(tmp_path)
    await fill(backend, services)
    question = ask("letter", WORDS)
    first = set((await backend.candidates(question, Filters(), 200)).candidates.hosts)
    answers = await asyncio.gather(*(backend.candidates(question, Filters(), 200) for _ in range(40)))
    assert all(set(answer.candidates.hosts) == first for answer in answers)


async def test_a_changed_service_is_not_found_by_its_old_vector(tmp_path: Path) -> None:
    backend = engine(tmp_path)
    await fill(backend, [MAIL, MAPS])
    await backend.upsert([make_document(listing("mail.example", "Ledger: money and bills"), WORDS)])
    await backend.commit()
    snapshot = backend._snapshot()
    asked = ask("letter", WORDS).whole
    assert asked is not None
    rows = snapshot._nearest.rows(asked, snapshot.alive, 10)
    assert sorted(snapshot.columns.hosts(rows)) == ["mail.example", "maps.example"]
    await backend.close()
