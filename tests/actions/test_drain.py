"""Index and database agree: after each drain, after crashes at every step, after any sequence of changes."""

import asyncio
import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from registry.actions.indexing import DrainCounts, ReindexCounts
from registry.actions.queries.discover import SearchActions
from registry.core.model.listing import Listing
from registry.core.ranking import index_hash
from registry.core.scheduling.jobs import INDEX_FORGOTTEN_AFTER
from registry.search import generation
from registry.search.backend import Backend, IndexState, SearchDocument, WriterBusy
from registry.search.embedded import EmbeddedBackend
from registry.store.unit_of_work import Store
from tests.actions.catalogue import NOW, put, remove
from tests.search.contract import MAIL, MAPS, SHOP, found
from tests.search.listings import listing
from tests.support.builders import on

pytestmark = pytest.mark.slow  # seconds of PostgreSQL and an index


async def indexed_hashes(backend: Backend) -> list[tuple[str, bytes]]:
    return sorted([pair async for pair in backend.hashes()])


async def stored_hashes(store: Store) -> list[tuple[str, bytes]]:
    async with store.begin() as uow:
        return sorted(
            (stored_listing.host, index_hash(stored_listing))
            for stored_listing in await uow.search.all_listings(("", ""), limit=1_000)
        )


async def note_count(store: Store, backend: Backend) -> int:
    async with store.begin() as uow:
        return await uow.search.count(backend.target)


async def test_a_new_index_is_built_from_the_database(store: Store, backend: EmbeddedBackend) -> None:
    await put(store, MAIL, SHOP)
    drained = await on(store, backend=backend).search.drain()
    assert drained is not None
    assert (drained.rebuilt, drained.written, drained.deleted) == (True, 0, 0)
    assert await indexed_hashes(backend) == await stored_hashes(store) != []
    assert await note_count(store, backend) == 0


async def test_a_search_of_an_empty_registry_has_no_hits(store: Store, backend: EmbeddedBackend) -> None:
    await on(store, backend=backend).search.drain()
    assert await found(backend, "email") == []


async def test_changes_are_applied_to_the_index(store: Store, search: SearchActions, backend: EmbeddedBackend) -> None:
    await put(store, MAIL, SHOP)
    await search.drain()
    await put(store, MAPS, listing("shop.example", "Bakery"))
    await remove(store, MAIL)
    assert await search.drain() == DrainCounts(notes=3, written=2, deleted=1, rebuilt=False)
    assert await found(backend, "email stamps route bakery") == ["maps.example", "shop.example"]
    assert await search.drain() == DrainCounts(0, 0, 0, False)


async def test_an_unchanged_document_is_not_written_again(
    store: Store, search: SearchActions, backend: EmbeddedBackend
) -> None:
    await put(store, MAIL)
    await search.drain()
    async with store.begin() as uow:
        await uow.search.note_all(backend.target, now=NOW)
    before = await backend.health()
    assert await search.drain() == DrainCounts(notes=1, written=0, deleted=0, rebuilt=False)
    assert await backend.health() == before


async def test_hidden_services_leave_the_index_and_come_back(
    store: Store, search: SearchActions, backend: EmbeddedBackend
) -> None:
    await put(store, MAIL, SHOP)
    await search.drain()
    async with store.begin() as uow:
        await uow.services.hide("mail.example", ["mail.example"])
    await search.drain()
    assert await found(backend, "email stamps") == ["shop.example"]
    await put(store, MAIL)
    await search.drain()
    assert await found(backend, "email stamps") == ["mail.example", "shop.example"]


async def test_more_notes_than_one_batch(
    store: Store, search: SearchActions, backend: EmbeddedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.actions.indexing._BATCH", 2)
    await search.drain()
    await put(store, *[listing(f"h{n}.example", "Weather") for n in range(5)])
    drained = await search.drain()
    assert drained is not None
    assert drained.written == 5
    assert await indexed_hashes(backend) == await stored_hashes(store)


class FailingBackend(EmbeddedBackend):
    """Fails at one step and leaves everything as it is, as a killed process does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.fail_at = ""

    def _fail_if_at(self, step: str) -> None:
        if self.fail_at == step:
            raise RuntimeError(step)

    async def delete(self, hosts: Sequence[str]) -> int:
        self._fail_if_at("delete")
        return await super().delete(hosts)

    async def upsert(self, documents: Sequence[SearchDocument]) -> int:
        self._fail_if_at("upsert")
        return await super().upsert(documents)

    async def commit(self) -> None:
        self._fail_if_at("before commit")
        await super().commit()
        self._fail_if_at("after commit")


@pytest.mark.parametrize("step", ["delete", "upsert", "before commit", "after commit"])
@pytest.mark.parametrize("restart", [True, False])
async def test_a_crash_at_any_step_loses_nothing(store: Store, tmp_path: Path, step: str, restart: bool) -> None:
    backend = FailingBackend(tmp_path)
    await put(store, MAIL, SHOP)
    await on(store, backend=backend).search.drain()
    await remove(store, MAIL)
    await put(store, MAPS)
    backend.fail_at = step
    with pytest.raises(RuntimeError, match=step):
        await on(store, backend=backend).search.drain()
    assert await note_count(store, backend) == 2
    if restart:
        await backend.close()
        backend = FailingBackend(tmp_path)
    backend.fail_at = ""
    await on(store, backend=backend).search.drain()
    assert await indexed_hashes(backend) == await stored_hashes(store)
    assert await note_count(store, backend) == 0
    await backend.close()


class InterruptedBackend(EmbeddedBackend):
    """Changes services between the reading of the notes and their deletion."""

    def __init__(self, folder: Path, store: Store) -> None:
        super().__init__(folder)
        self.store = store
        self.meanwhile: list[Listing] = []

    async def commit(self) -> None:
        await super().commit()
        while self.meanwhile:
            await put(self.store, self.meanwhile.pop())


async def test_a_change_during_the_drain_is_not_lost(store: Store, tmp_path: Path) -> None:
    backend = InterruptedBackend(tmp_path, store)
    await on(store, backend=backend).search.drain()
    await put(store, MAIL)
    backend.meanwhile = [listing("mail.example", "Pigeons")]
    await on(store, backend=backend).search.drain()
    await on(store, backend=backend).search.drain()
    assert await found(backend, "pigeons email") == ["mail.example"]
    assert await indexed_hashes(backend) == await stored_hashes(store)
    await backend.close()


async def test_an_index_has_one_drain_at_a_time(store: Store, search: SearchActions, backend: EmbeddedBackend) -> None:
    await search.drain()
    await put(store, MAIL)
    async with search.feeding() as hold:
        assert hold is not None
        assert await search.drain() is None
    assert await note_count(store, backend) == 1
    assert await search.drain() is not None


async def test_only_the_writer_of_an_index_drains_its_notes(store: Store, tmp_path: Path) -> None:
    writer, other_backend = EmbeddedBackend(tmp_path), EmbeddedBackend(tmp_path)
    await on(store, backend=writer).search.drain()
    assert writer.claim()
    await put(store, MAIL)
    assert await on(store, backend=other_backend).search.drain() is None
    assert await on(store, backend=writer).search.drain() == DrainCounts(1, 1, 0, False)
    assert await found(other_backend, "email") == ["mail.example"]
    await writer.close()


async def test_two_folders_are_drained_independently(store: Store, tmp_path: Path) -> None:
    first, second = EmbeddedBackend(tmp_path / "a"), EmbeddedBackend(tmp_path / "b")
    await on(store, backend=first).search.drain()
    await on(store, backend=second).search.drain()
    await put(store, MAIL)
    await on(store, backend=first).search.drain()
    assert (await found(first, "email"), await found(second, "email")) == (["mail.example"], [])
    await on(store, backend=second).search.drain()
    assert await indexed_hashes(second) == await indexed_hashes(first)
    await first.close()
    await second.close()


async def test_a_wiped_folder_is_filled_again(store: Store, tmp_path: Path) -> None:
    await put(store, MAIL)
    first = EmbeddedBackend(tmp_path / "index")
    await on(store, backend=first).search.drain()
    await first.close()
    (tmp_path / "index").rename(tmp_path / "lost")
    second = EmbeddedBackend(tmp_path / "index")
    await on(store, backend=second).search.drain()
    assert second.target != first.target
    assert await found(second, "email") == ["mail.example"]
    await second.close()


async def test_a_folder_removed_while_in_use_is_rebuilt(
    store: Store, search: SearchActions, backend: EmbeddedBackend, tmp_path: Path
) -> None:
    await put(store, MAIL)
    await search.drain()
    shutil.rmtree(tmp_path / "index")
    drained = await search.drain()
    assert drained is not None and drained.rebuilt
    await put(store, SHOP)
    await search.drain()
    other_backend = EmbeddedBackend(tmp_path / "index")  # a process that starts later uses the same target name
    assert other_backend.target == backend.target
    assert await found(other_backend, "stamps") == ["shop.example"]
    assert not other_backend.claim()
    await other_backend.close()


async def test_an_outdated_index_is_built_again(
    store: Store, backend: EmbeddedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(store, MAIL)
    await on(store, backend=backend).search.drain()
    monkeypatch.setattr(generation, "LAYOUT", "another")
    reopened = EmbeddedBackend(backend._folder)
    assert (await reopened.health()).state is IndexState.OUTDATED
    drained = await on(store, backend=reopened).search.drain()
    assert drained is not None
    assert drained.rebuilt
    assert await found(reopened, "email") == ["mail.example"]
    await reopened.close()


async def test_an_index_unused_for_a_week_is_forgotten_and_resynced_later(store: Store, tmp_path: Path) -> None:
    idle_backend, other_backend = EmbeddedBackend(tmp_path / "a"), EmbeddedBackend(tmp_path / "b")
    await put(store, MAIL, SHOP)
    await on(store, backend=idle_backend).search.drain()
    later = NOW + INDEX_FORGOTTEN_AFTER + timedelta(seconds=1)
    await on(store, later, backend=other_backend).search.drain()
    await remove(store, MAIL)
    await put(store, MAPS)
    assert await note_count(store, idle_backend) == 0
    await on(store, later, backend=idle_backend).search.drain()
    assert await indexed_hashes(idle_backend) == await stored_hashes(store)
    assert await found(idle_backend, "email stamps route") == ["maps.example", "shop.example"]
    await idle_backend.close()
    await other_backend.close()


async def test_an_index_in_use_is_not_forgotten(store: Store, backend: EmbeddedBackend, tmp_path: Path) -> None:
    other_backend = EmbeddedBackend(tmp_path / "other")
    for hours in range(0, 24 * 9, 12):
        await on(store, NOW + timedelta(hours=hours), backend=backend).search.drain()
    await on(store, NOW + timedelta(days=9), backend=other_backend).search.drain()
    await put(store, MAIL)
    assert await note_count(store, backend) == 1


async def test_reindex_builds_a_new_generation_and_reports_progress(
    store: Store, search: SearchActions, backend: EmbeddedBackend
) -> None:
    await put(store, MAIL, SHOP, MAPS)
    await search.drain()
    before = (await backend.health()).generation
    progress_reports: list[tuple[int, int]] = []
    reindexed = await search.reindex(progress=lambda done, total: progress_reports.append((done, total)))
    assert isinstance(reindexed, ReindexCounts)
    assert (reindexed.services, progress_reports[-1]) == (3, (3, 3))
    assert reindexed.generation != before
    assert await indexed_hashes(backend) == await stored_hashes(store)


async def test_changes_during_a_rebuild_are_in_the_new_index(
    store: Store, search: SearchActions, backend: EmbeddedBackend
) -> None:
    """The change comes after the snapshot and before the swap."""
    await put(store, MAIL, SHOP)
    await search.drain()
    changes: list[asyncio.Task[None]] = []

    def change(done: int, total: int) -> None:
        changes.append(asyncio.ensure_future(remove(store, MAIL)))
        changes.append(asyncio.ensure_future(put(store, MAPS)))

    await search.reindex(progress=change)
    await asyncio.gather(*changes)
    await search.drain()
    assert await indexed_hashes(backend) == await stored_hashes(store)
    assert await found(backend, "email stamps route") == ["maps.example", "shop.example"]


async def test_reindex_gives_up_if_the_index_stays_busy(search: SearchActions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("registry.actions.indexing._WAIT_SECONDS", 0.001)
    async with search.feeding() as hold:
        assert hold is not None
        with pytest.raises(WriterBusy):
            await search.reindex()


async def test_a_failed_rebuild_leaves_the_old_index(
    store: Store, search: SearchActions, backend: EmbeddedBackend
) -> None:
    await put(store, MAIL)
    await search.drain()

    def fail(done: int, total: int) -> None:
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        await search.reindex(progress=fail)
    assert await found(backend, "email") == ["mail.example"]
    assert await search.drain() is not None
