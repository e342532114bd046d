"""Index and database agree: after each drain, after crashes at every step, after any sequence of changes."""

import asyncio
import random
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from registry.actions.indexing.drain import Drained, drain
from registry.actions.indexing.feeding import feeding
from registry.actions.indexing.reindex import Reindexed, reindex
from registry.core.listing import Filters, Listing
from registry.core.ranking import ask, index_hash
from registry.core.retention import TARGET_UNFED
from registry.search import generation
from registry.search.backend import Backend, IndexState, SearchDocument, WriterBusy
from registry.search.embedded import EmbeddedBackend
from registry.store.unit_of_work import Store
from tests.actions.catalogue import NOW, put, remove
from tests.search.contract import MAIL, MAPS, SHOP, found
from tests.search.listings import listing

pytestmark = pytest.mark.slow  # seconds of PostgreSQL and an index


async def in_index(backend: Backend) -> list[tuple[str, bytes]]:
    return sorted([pair async for pair in backend.hashes()])


async def in_database(store: Store) -> list[tuple[str, bytes]]:
    async with store.begin() as uow:
        return sorted((one.host, index_hash(one)) for one in await uow.search.all_listings(("", ""), limit=1_000))


async def notes(store: Store, backend: Backend) -> int:
    async with store.begin() as uow:
        return await uow.search.count(backend.target)


async def test_a_fresh_index_is_built_from_what_is_there(store: Store, backend: EmbeddedBackend) -> None:
    await put(store, MAIL, SHOP)
    done = await drain(store, backend, now=NOW)
    assert done is not None
    assert (done.rebuilt, done.written, done.deleted) == (True, 0, 0)
    assert await in_index(backend) == await in_database(store) != []
    assert await notes(store, backend) == 0


async def test_an_empty_registry_is_answered_with_nothing_not_with_an_error(
    store: Store, backend: EmbeddedBackend
) -> None:
    await drain(store, backend, now=NOW)
    assert await found(backend, "email") == []


async def test_changes_are_carried_over(store: Store, backend: EmbeddedBackend) -> None:
    await put(store, MAIL, SHOP)
    await drain(store, backend, now=NOW)
    await put(store, MAPS, listing("shop.example", "Bakery"))
    await remove(store, MAIL)
    assert await drain(store, backend, now=NOW) == Drained(notes=3, written=2, deleted=1, rebuilt=False)
    assert await found(backend, "email stamps route bakery") == ["maps.example", "shop.example"]
    assert await drain(store, backend, now=NOW) == Drained(0, 0, 0, False)


async def test_a_change_of_nothing_that_is_shown_is_not_written(store: Store, backend: EmbeddedBackend) -> None:
    await put(store, MAIL)
    await drain(store, backend, now=NOW)
    async with store.begin() as uow:
        await uow.search.note_all(backend.target, now=NOW)
    before = await backend.health()
    assert await drain(store, backend, now=NOW) == Drained(notes=1, written=0, deleted=0, rebuilt=False)
    assert await backend.health() == before


async def test_hidden_services_leave_the_index_and_come_back(store: Store, backend: EmbeddedBackend) -> None:
    await put(store, MAIL, SHOP)
    await drain(store, backend, now=NOW)
    async with store.begin() as uow:
        await uow.services.hide("mail.example", ["mail.example"])
    await drain(store, backend, now=NOW)
    assert await found(backend, "email stamps") == ["shop.example"]
    await put(store, MAIL)
    await drain(store, backend, now=NOW)
    assert await found(backend, "email stamps") == ["mail.example", "shop.example"]


async def test_more_notes_than_one_batch(
    store: Store, backend: EmbeddedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.actions.indexing.feeding._BATCH", 2)
    await drain(store, backend, now=NOW)
    await put(store, *[listing(f"h{n}.example", "Weather") for n in range(5)])
    done = await drain(store, backend, now=NOW)
    assert done is not None
    assert done.written == 5
    assert await in_index(backend) == await in_database(store)


class Stumbling(EmbeddedBackend):
    """Fails as a process does that is killed: at one step, leaving everything as it is."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.fail_at = ""

    def _stumble(self, step: str) -> None:
        if self.fail_at == step:
            raise RuntimeError(step)

    async def delete(self, hosts: Sequence[str]) -> int:
        self._stumble("delete")
        return await super().delete(hosts)

    async def upsert(self, documents: Sequence[SearchDocument]) -> int:
        self._stumble("upsert")
        return await super().upsert(documents)

    async def commit(self) -> None:
        self._stumble("before commit")
        await super().commit()
        self._stumble("after commit")


@pytest.mark.parametrize("step", ["delete", "upsert", "before commit", "after commit"])
@pytest.mark.parametrize("restart", [True, False])
async def test_a_crash_at_any_step_loses_nothing(store: Store, tmp_path: Path, step: str, restart: bool) -> None:
    backend = Stumbling(tmp_path)
    await put(store, MAIL, SHOP)
    await drain(store, backend, now=NOW)
    await remove(store, MAIL)
    await put(store, MAPS)
    backend.fail_at = step
    with pytest.raises(RuntimeError, match=step):
        await drain(store, backend, now=NOW)
    assert await notes(store, backend) == 2
    if restart:
        await backend.close()
        backend = Stumbling(tmp_path)
    backend.fail_at = ""
    await drain(store, backend, now=NOW)
    assert await in_index(backend) == await in_database(store)
    assert await notes(store, backend) == 0
    await backend.close()


class Interrupted(EmbeddedBackend):
    """Something happens between the reading of the notes and their end."""

    def __init__(self, folder: Path, store: Store) -> None:
        super().__init__(folder)
        self.store = store
        self.meanwhile: list[Listing] = []

    async def commit(self) -> None:
        await super().commit()
        while self.meanwhile:
            await put(self.store, self.meanwhile.pop())


async def test_a_change_during_the_drain_is_not_lost(store: Store, tmp_path: Path) -> None:
    backend = Interrupted(tmp_path, store)
    await drain(store, backend, now=NOW)
    await put(store, MAIL)
    backend.meanwhile = [listing("mail.example", "Pigeons")]
    await drain(store, backend, now=NOW)
    await drain(store, backend, now=NOW)
    assert await found(backend, "pigeons email") == ["mail.example"]
    assert await in_index(backend) == await in_database(store)
    await backend.close()


async def test_one_drainer_per_index(store: Store, backend: EmbeddedBackend) -> None:
    await drain(store, backend, now=NOW)
    await put(store, MAIL)
    async with feeding(store, backend) as hold:
        assert hold is not None
        assert await drain(store, backend, now=NOW) is None
    assert await notes(store, backend) == 1
    assert await drain(store, backend, now=NOW) is not None


async def test_who_is_not_the_writer_leaves_the_notes_to_it(store: Store, tmp_path: Path) -> None:
    writer, other = EmbeddedBackend(tmp_path), EmbeddedBackend(tmp_path)
    await drain(store, writer, now=NOW)
    assert writer.claim()
    await put(store, MAIL)
    assert await drain(store, other, now=NOW) is None
    assert await drain(store, writer, now=NOW) == Drained(1, 1, 0, False)
    assert await found(other, "email") == ["mail.example"]
    await writer.close()


async def test_two_folders_are_fed_independently(store: Store, tmp_path: Path) -> None:
    first, second = EmbeddedBackend(tmp_path / "a"), EmbeddedBackend(tmp_path / "b")
    await drain(store, first, now=NOW)
    await drain(store, second, now=NOW)
    await put(store, MAIL)
    await drain(store, first, now=NOW)
    assert (await found(first, "email"), await found(second, "email")) == (["mail.example"], [])
    await drain(store, second, now=NOW)
    assert await in_index(second) == await in_index(first)
    await first.close()
    await second.close()


async def test_a_wiped_folder_is_filled_again(store: Store, tmp_path: Path) -> None:
    await put(store, MAIL)
    first = EmbeddedBackend(tmp_path / "index")
    await drain(store, first, now=NOW)
    await first.close()
    (tmp_path / "index").rename(tmp_path / "lost")
    second = EmbeddedBackend(tmp_path / "index")
    await drain(store, second, now=NOW)
    assert second.target != first.target
    assert await found(second, "email") == ["mail.example"]
    await second.close()


async def test_a_folder_removed_under_its_feeder_comes_back(
    store: Store, backend: EmbeddedBackend, tmp_path: Path
) -> None:
    await put(store, MAIL)
    await drain(store, backend, now=NOW)
    shutil.rmtree(tmp_path / "index")
    done = await drain(store, backend, now=NOW)
    assert done is not None and done.rebuilt
    await put(store, SHOP)
    await drain(store, backend, now=NOW)
    other = EmbeddedBackend(tmp_path / "index")  # a process that starts later knows it by the same name
    assert other.target == backend.target
    assert await found(other, "stamps") == ["shop.example"]
    assert not other.claim()
    await other.close()


async def test_an_outdated_index_is_built_again(
    store: Store, backend: EmbeddedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(store, MAIL)
    await drain(store, backend, now=NOW)
    monkeypatch.setattr(generation, "LAYOUT", "another")
    fresh = EmbeddedBackend(backend._folder)
    assert (await fresh.health()).state is IndexState.OUTDATED
    done = await drain(store, fresh, now=NOW)
    assert done is not None
    assert done.rebuilt
    assert await found(fresh, "email") == ["mail.example"]
    await fresh.close()


async def test_an_index_unseen_for_a_week_is_forgotten_and_put_right_when_it_comes_back(
    store: Store, tmp_path: Path
) -> None:
    sleeper, other = EmbeddedBackend(tmp_path / "a"), EmbeddedBackend(tmp_path / "b")
    await put(store, MAIL, SHOP)
    await drain(store, sleeper, now=NOW)
    later = NOW + TARGET_UNFED + timedelta(seconds=1)
    await drain(store, other, now=later)
    await remove(store, MAIL)
    await put(store, MAPS)
    assert await notes(store, sleeper) == 0
    await drain(store, sleeper, now=later)
    assert await in_index(sleeper) == await in_database(store)
    assert await found(sleeper, "email stamps route") == ["maps.example", "shop.example"]
    await sleeper.close()
    await other.close()


async def test_an_index_that_is_fed_is_not_forgotten(store: Store, backend: EmbeddedBackend, tmp_path: Path) -> None:
    other = EmbeddedBackend(tmp_path / "other")
    for hours in range(0, 24 * 9, 12):
        await drain(store, backend, now=NOW + timedelta(hours=hours))
    await drain(store, other, now=NOW + timedelta(days=9))
    await put(store, MAIL)
    assert await notes(store, backend) == 1


async def test_reindex_builds_beside_and_tells_its_progress(store: Store, backend: EmbeddedBackend) -> None:
    await put(store, MAIL, SHOP, MAPS)
    await drain(store, backend, now=NOW)
    before = (await backend.health()).generation
    seen: list[tuple[int, int]] = []
    done = await reindex(store, backend, now=NOW, progress=lambda part, whole: seen.append((part, whole)))
    assert isinstance(done, Reindexed)
    assert (done.services, seen[-1]) == (3, (3, 3))
    assert done.generation != before
    assert await in_index(backend) == await in_database(store)


async def test_what_changes_during_a_rebuild_is_in_the_new_index(store: Store, backend: EmbeddedBackend) -> None:
    """The change comes after the snapshot was taken and before the swap."""
    await put(store, MAIL, SHOP)
    await drain(store, backend, now=NOW)
    changes: list[asyncio.Task[None]] = []

    def change(part: int, whole: int) -> None:
        changes.append(asyncio.ensure_future(remove(store, MAIL)))
        changes.append(asyncio.ensure_future(put(store, MAPS)))

    await reindex(store, backend, now=NOW, progress=change)
    await asyncio.gather(*changes)
    await drain(store, backend, now=NOW)
    assert await in_index(backend) == await in_database(store)
    assert await found(backend, "email stamps route") == ["maps.example", "shop.example"]


async def test_reindex_waits_its_turn_and_gives_up_in_the_end(
    store: Store, backend: EmbeddedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.actions.indexing.reindex._WAIT_SECONDS", 0.001)
    async with feeding(store, backend) as hold:
        assert hold is not None
        with pytest.raises(WriterBusy):
            await reindex(store, backend, now=NOW)


async def test_a_failed_rebuild_leaves_the_old_index(store: Store, backend: EmbeddedBackend) -> None:
    await put(store, MAIL)
    await drain(store, backend, now=NOW)

    def fail(part: int, whole: int) -> None:
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        await reindex(store, backend, now=NOW, progress=fail)
    assert await found(backend, "email") == ["mail.example"]
    assert await drain(store, backend, now=NOW) is not None


@pytest.mark.parametrize("seed", range(3))
async def test_after_any_sequence_index_and_database_agree(store: Store, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    backend = Stumbling(tmp_path)
    await drain(store, backend, now=NOW)
    words = ["weather", "email", "parcel", "route", "stamp"]
    for _ in range(60):
        one = listing(f"h{dice.randrange(10)}.example", dice.choice(words), dice.choice(words))
        match dice.choice(["put", "put", "put", "remove", "hide", "drain", "crash", "restart", "reindex"]):
            case "put":
                await put(store, one)
            case "remove":
                await remove(store, one)
            case "hide":
                await put(store, one, hidden=True)
            case "drain":
                await drain(store, backend, now=NOW)
            case "crash":
                backend.fail_at = dice.choice(["delete", "upsert", "before commit", "after commit"])
                with suppress(RuntimeError):
                    await drain(store, backend, now=NOW)
                backend.fail_at = ""
            case "restart":
                await backend.close()
                backend = Stumbling(tmp_path)
            case "reindex":
                await reindex(store, backend, now=NOW)
    await drain(store, backend, now=NOW)
    assert await in_index(backend) == await in_database(store)
    assert (await backend.candidates(ask(""), Filters(), 1)).matching == len(await in_index(backend))
    await backend.close()
