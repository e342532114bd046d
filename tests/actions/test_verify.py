"""The comparison of index and database: it finds every kind of damage, and none where there is none."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from registry.actions.indexing import IndexComparison
from registry.actions.queries.discover import SearchActions
from registry.core.model.listing import SearchUnavailable
from registry.search.backend import SearchDocument, WriterBusy, make_document
from registry.search.embedded import EmbeddedBackend
from registry.store.unit_of_work import Store
from tests.actions.catalogue import put, remove
from tests.search.contract import MAIL, MAPS, SHOP
from tests.search.listings import listing
from tests.support.builders import on
from tests.support.embedder import WordEmbedder

pytestmark = pytest.mark.slow  # seconds of PostgreSQL and an index


async def test_without_an_index_there_is_nothing_to_compare(store: Store, backend: EmbeddedBackend) -> None:
    with pytest.raises(SearchUnavailable):
        await on(store, backend=backend).search.verify_index()


async def test_every_kind_of_damage_is_found_and_mended(
    store: Store, search: SearchActions, backend: EmbeddedBackend
) -> None:
    await put(store, MAIL, SHOP, MAPS)
    await search.drain()
    assert await search.verify_index() == IndexComparison(3, 0, (), (), ())
    await backend.delete(["mail.example"])
    await backend.upsert([make_document(listing("ghost.example")), make_document(listing("shop.example", "Bakery"))])
    await backend.commit()
    damage = (("mail.example",), ("ghost.example",), ("shop.example",))
    assert await search.verify_index() == IndexComparison(3, 0, *damage)
    assert await search.verify_index(repair=True) == IndexComparison(3, 0, *damage, repaired=True)
    assert await search.verify_index() == IndexComparison(3, 3, (), (), ())
    await search.drain()
    assert await search.verify_index() == IndexComparison(3, 0, (), (), ())


async def test_changes_not_drained_yet_are_pending_and_not_wrong(store: Store, search: SearchActions) -> None:
    await put(store, MAIL, SHOP)
    await search.drain()
    await remove(store, MAIL)
    await put(store, MAPS, listing("shop.example", "Bakery"))
    assert await search.verify_index() == IndexComparison(2, 3, (), (), ())


async def test_vectors_of_another_model_are_another_document(store: Store, backend: EmbeddedBackend) -> None:
    await put(store, MAIL)
    await on(store, backend=backend).search.drain()
    compared = await on(store, backend=backend, embedder=WordEmbedder("wp_other")).search.verify_index()
    assert compared.different == ("mail.example",)


async def test_verify_gives_up_if_the_index_stays_busy(search: SearchActions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("registry.actions.indexing._WAIT_SECONDS", 0.001)
    async with search.feeding() as hold:
        assert hold is not None
        with pytest.raises(WriterBusy):
            await search.verify_index()


class Killed(Exception):
    pass


class BreakingBackend(EmbeddedBackend):
    """Fails at its n-th step as a killed process does, without any cleanup."""

    steps: int | None = None

    def _step(self) -> None:
        if self.steps is not None:
            self.steps -= 1
            if self.steps < 0:
                raise Killed

    async def delete(self, hosts: Sequence[str]) -> int:
        self._step()
        return await super().delete(hosts)

    async def upsert(self, documents: Sequence[SearchDocument]) -> int:
        self._step()
        return await super().upsert(documents)

    async def commit(self) -> None:
        self._step()
        await super().commit()
        self._step()


@pytest.mark.parametrize("seed", range(4))
async def test_index_and_database_agree_after_any_writes_and_crashes(store: Store, tmp_path: Path, seed: int) -> None:
    """The model is what was put and neither removed nor hidden. At any moment only pending changes differ, and after a
    last drain nothing is pending."""
    rng = random.Random(seed)
    backend = BreakingBackend(tmp_path / "index")
    model: set[str] = set()
    await on(store, backend=backend).search.drain()
    for _ in range(30):
        host = f"h{rng.randrange(8)}.example"
        match rng.choice(["put", "put", "remove", "hide", "drain", "crash", "rebuild"]):
            case "put":
                await put(store, listing(host, f"Weather {rng.randrange(3)}"))
                model.add(host)
            case "remove":
                await remove(store, listing(host))
                model.discard(host)
            case "hide":
                async with store.begin() as uow:
                    await uow.services.hide(host, [host])
                model.discard(host)
            case "drain":
                await on(store, backend=backend).search.drain()
            case "rebuild":
                await on(store, backend=backend).search.reindex()
            case "crash":
                backend.steps = rng.randrange(4)
                try:
                    await on(store, backend=backend).search.drain()
                except Killed:
                    await backend.close()
                    backend = BreakingBackend(tmp_path / "index")
                backend.steps = None
        assert (await on(store, backend=backend).search.verify_index()).wrong == ()
    await on(store, backend=backend).search.drain()
    assert await on(store, backend=backend).search.verify_index() == IndexComparison(len(model), 0, (), (), ())
    assert {host async for host, _ in backend.hashes()} == model
    await backend.close()
