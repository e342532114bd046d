"""The embedded engine: the contract of every backend, and crashes, locks and damage of its folder."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from registry.core.model.listing import Filters, SearchUnavailable
from registry.core.ranking import parse_query
from registry.search import generation
from registry.search.backend import Backend, IndexState, WriterBusy, make_document
from registry.search.embedded import EmbeddedBackend, _EmbeddedBuild, has_writer
from tests.search.contract import MAIL, MAPS, SHOP, BackendContract, fill, found, upsert
from tests.search.folding_contract import FoldingContract
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

pytestmark = pytest.mark.slow  # many commits of an index


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    engine = EmbeddedBackend(tmp_path / "index")
    yield engine
    await engine.close()


class TestEmbedded(BackendContract):
    pass


class TestEmbeddedFolding(FoldingContract):
    pass


def generations(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("gen-*"))


async def test_a_folder_keeps_its_target_name_until_it_is_wiped(tmp_path: Path) -> None:
    first = EmbeddedBackend(tmp_path / "index")
    assert first.target.startswith("embedded:")
    assert EmbeddedBackend(tmp_path / "index").target == first.target
    (tmp_path / "index" / "target").unlink()
    assert EmbeddedBackend(tmp_path / "index").target != first.target


async def test_concurrent_starts_agree_on_the_target_name(tmp_path: Path) -> None:
    engines = await asyncio.gather(*(asyncio.to_thread(EmbeddedBackend, tmp_path / "index") for _ in range(8)))
    assert len({engine.target for engine in engines}) == 1


async def test_another_reader_sees_commits_and_swaps(tmp_path: Path) -> None:
    writer, reader = EmbeddedBackend(tmp_path), EmbeddedBackend(tmp_path)
    await fill(writer, [MAIL])
    assert await found(reader, "email stamps") == ["mail.example"]
    await upsert(writer, SHOP)
    assert await found(reader, "email stamps") == ["mail.example", "shop.example"]
    await fill(writer, [MAPS])
    assert await found(reader, "email stamps route") == ["maps.example"]
    await writer.close()


async def test_one_process_writes_and_frees_the_lock_afterwards(tmp_path: Path) -> None:
    first, second = EmbeddedBackend(tmp_path), EmbeddedBackend(tmp_path)
    await fill(first, [MAIL])
    await upsert(first, SHOP)
    with pytest.raises(WriterBusy):
        await upsert(second, MAPS)
    await first.close()
    assert await upsert(second, MAPS) == 1
    await second.close()


async def test_a_process_can_claim_a_folder_before_it_has_anything_to_write(tmp_path: Path) -> None:
    assert not has_writer(tmp_path / "nowhere")
    first, second = EmbeddedBackend(tmp_path), EmbeddedBackend(tmp_path)
    assert not has_writer(tmp_path)
    assert first.claim()
    assert first.claim()
    assert not second.claim()
    assert has_writer(tmp_path)
    await first.close()
    assert not has_writer(tmp_path)
    assert second.claim()
    await second.close()


async def test_a_writer_continues_after_a_rebuild_by_another_process(tmp_path: Path) -> None:
    feeder, rebuilder = EmbeddedBackend(tmp_path), EmbeddedBackend(tmp_path)
    await fill(feeder, [MAIL])
    await upsert(feeder, SHOP)
    await fill(rebuilder, [MAIL, SHOP])
    assert await upsert(feeder, MAPS) == 1
    assert await found(rebuilder, "email stamps route") == ["mail.example", "maps.example", "shop.example"]
    await feeder.close()


async def test_only_the_current_generation_stays_on_disk(tmp_path: Path) -> None:
    backend = EmbeddedBackend(tmp_path)
    await fill(backend, [MAIL])
    (tmp_path / "gen-leftover").mkdir()
    await fill(backend, [SHOP])
    current = (tmp_path / "current").read_text().strip()
    assert generations(tmp_path) == [f"gen-{current}"]


async def test_a_running_search_keeps_its_snapshot(tmp_path: Path) -> None:
    backend = EmbeddedBackend(tmp_path)
    await fill(backend, [MAIL])
    snapshot = backend._snapshot()
    await fill(backend, [SHOP])
    assert snapshot.candidates(parse_query("email"), Filters(), 5).candidates.hosts == ["mail.example"]
    assert snapshot.count() == 1


async def test_uncommitted_changes_are_lost_in_a_crash(tmp_path: Path) -> None:
    """The child dies by SIGKILL with uncommitted changes; its lock is free at once and its last commit is intact."""
    script = f"""
import asyncio, os, signal
from pathlib import Path
from registry.search.backend import make_document
from registry.search.embedded import EmbeddedBackend
from tests.search.contract import MAIL, MAPS, SHOP, fill, upsert

async def main():
    backend = EmbeddedBackend(Path({str(tmp_path)!r}))
    await fill(backend, [MAIL])
    await upsert(backend, SHOP)
    await backend.upsert([make_document(MAPS)])
    await backend.delete(["mail.example"])
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""
    completed = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script], cwd=ROOT, env=os.environ, timeout=HANG_SECONDS, check=False
    )
    assert completed.returncode == -signal.SIGKILL
    backend = EmbeddedBackend(tmp_path)
    assert await found(backend, "email stamps route") == ["mail.example", "shop.example"]
    assert await upsert(backend, MAPS) == 1
    assert await backend.count() == 3
    await backend.close()


async def test_a_build_that_is_cancelled_while_it_commits_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit continues in its thread; the writer is closed after it, and the index is not swapped."""
    commit, close, drop = generation.GenerationWriter.commit, generation.GenerationWriter.close, _EmbeddedBuild.drop
    committing, dropping, calls = threading.Event(), threading.Event(), list[str]()

    def slow_commit(self: generation.GenerationWriter) -> None:
        committing.set()
        dropping.wait(HANG_SECONDS)
        time.sleep(0.1)  # without a lock, the writer would be closed meanwhile
        commit(self)
        calls.append("committed")

    def noted_close(self: generation.GenerationWriter) -> None:
        calls.append("closed")
        close(self)

    def noted_drop(self: _EmbeddedBuild) -> None:
        dropping.set()
        drop(self)

    backend = EmbeddedBackend(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(generation.GenerationWriter, "commit", slow_commit)
        patch.setattr(generation.GenerationWriter, "close", noted_close)
        patch.setattr(_EmbeddedBuild, "drop", noted_drop)
        filling = asyncio.create_task(fill(backend, [MAIL]))
        await asyncio.to_thread(committing.wait, HANG_SECONDS)
        filling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await filling
    assert calls == ["committed", "closed"]
    assert generations(tmp_path) == []
    assert (await backend.health()).state is IndexState.MISSING
    await fill(backend, [MAIL])
    assert await found(backend, "email stamps") == ["mail.example"]
    await backend.close()


async def test_an_index_of_another_layout_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(EmbeddedBackend(tmp_path), [MAIL])
    monkeypatch.setattr(generation, "LAYOUT", "0:older")
    backend = EmbeddedBackend(tmp_path)
    assert (await backend.health()).state is IndexState.OUTDATED
    with pytest.raises(SearchUnavailable):
        await found(backend, "email")
    await fill(backend, [MAIL])
    assert (await backend.health()).state is IndexState.READY


async def test_lost_files_are_reported_as_a_missing_index(tmp_path: Path) -> None:
    await fill(EmbeddedBackend(tmp_path), [MAIL])
    for path in (tmp_path / generations(tmp_path)[0]).iterdir():
        path.unlink()
    (tmp_path / generations(tmp_path)[0]).rmdir()
    backend = EmbeddedBackend(tmp_path)
    assert (await backend.health()).state is IndexState.MISSING
    with pytest.raises(SearchUnavailable):
        await found(backend, "email")


@pytest.mark.parametrize("pattern", ["meta.json", "*.store", "*.term", "*.idx", "*.fast", "*.fieldnorm"])
@pytest.mark.parametrize("damage", ["empty", "cut", "noise"])
async def test_damaged_files_are_an_error_of_the_index_and_a_rebuild_heals_them(
    tmp_path: Path, pattern: str, damage: str
) -> None:
    await fill(EmbeddedBackend(tmp_path), [MAIL, SHOP, MAPS])
    (path,) = (tmp_path / generations(tmp_path)[0]).glob(pattern)
    content = path.read_bytes()
    path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "noise": bytes(len(content))}[damage])
    backend = EmbeddedBackend(tmp_path)
    await backend.health()
    try:
        await found(backend, "email")
    except SearchUnavailable:
        assert (await backend.health()).state in (IndexState.UNREADABLE, IndexState.OUTDATED)
    await fill(backend, [MAIL])
    assert await found(backend, "email") == ["mail.example"]


async def test_a_failed_writer_continues_from_the_last_commit(tmp_path: Path) -> None:
    backend = EmbeddedBackend(tmp_path)
    await fill(backend, [MAIL])
    await backend.upsert([make_document(SHOP)])
    with pytest.raises(AttributeError):
        await backend.upsert([None])  # type: ignore[list-item]  # makes it fail
    await backend.commit()
    assert await found(backend, "email stamps") == ["mail.example"]
    assert await upsert(backend, SHOP) == 1
    assert await found(backend, "email stamps") == ["mail.example", "shop.example"]
    await backend.close()
