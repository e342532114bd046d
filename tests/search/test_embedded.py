"""The embedded engine: the contract of every backend, and what its folder must withstand."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from registry.core.listing import Filters, SearchUnavailable
from registry.core.ranking import ask
from registry.search import generation
from registry.search.backend import Backend, IndexState, WriterBusy, make_document
from registry.search.embedded import EmbeddedBackend, is_fed
from tests.search.contract import MAIL, MAPS, SHOP, BackendContract, fill, found, upsert
from tests.support.shared import ROOT

pytestmark = pytest.mark.slow  # many commits of an index


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    engine = EmbeddedBackend(tmp_path / "index")
    yield engine
    await engine.close()


class TestEmbedded(BackendContract):
    pass


def generations(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("gen-*"))


async def test_a_folder_keeps_its_name_and_a_wiped_one_gets_another(tmp_path: Path) -> None:
    first = EmbeddedBackend(tmp_path / "index")
    assert first.target.startswith("embedded:")
    assert EmbeddedBackend(tmp_path / "index").target == first.target
    (tmp_path / "index" / "target").unlink()
    assert EmbeddedBackend(tmp_path / "index").target != first.target


async def test_processes_that_start_at_once_agree_on_the_name(tmp_path: Path) -> None:
    made = await asyncio.gather(*(asyncio.to_thread(EmbeddedBackend, tmp_path / "index") for _ in range(8)))
    assert len({one.target for one in made}) == 1


async def test_another_reader_sees_commits_and_swaps(tmp_path: Path) -> None:
    writer, reader = EmbeddedBackend(tmp_path), EmbeddedBackend(tmp_path)
    await fill(writer, [MAIL])
    assert await found(reader, "email stamps") == ["mail.example"]
    await upsert(writer, SHOP)
    assert await found(reader, "email stamps") == ["mail.example", "shop.example"]
    await fill(writer, [MAPS])
    assert await found(reader, "email stamps route") == ["maps.example"]
    await writer.close()


async def test_one_process_feeds_and_the_lock_is_free_after_it(tmp_path: Path) -> None:
    first, second = EmbeddedBackend(tmp_path), EmbeddedBackend(tmp_path)
    await fill(first, [MAIL])
    await upsert(first, SHOP)
    with pytest.raises(WriterBusy):
        await upsert(second, MAPS)
    await first.close()
    assert await upsert(second, MAPS) == 1
    await second.close()


async def test_a_process_can_claim_a_folder_before_it_has_anything_to_write(tmp_path: Path) -> None:
    assert not is_fed(tmp_path / "nowhere")
    first, second = EmbeddedBackend(tmp_path), EmbeddedBackend(tmp_path)
    assert not is_fed(tmp_path)
    assert first.claim()
    assert first.claim()
    assert not second.claim()
    assert is_fed(tmp_path)
    await first.close()
    assert not is_fed(tmp_path)
    assert second.claim()
    await second.close()


async def test_a_rebuild_elsewhere_does_not_confuse_the_feeder(tmp_path: Path) -> None:
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


async def test_a_running_search_ends_on_the_index_it_began_with(tmp_path: Path) -> None:
    backend = EmbeddedBackend(tmp_path)
    await fill(backend, [MAIL])
    begun = backend._snapshot()
    await fill(backend, [SHOP])
    assert begun.candidates(ask("email"), Filters(), 5).candidates.hosts == ["mail.example"]
    assert begun.count() == 1


async def test_what_was_not_committed_is_gone_after_a_crash(tmp_path: Path) -> None:
    """The child dies by SIGKILL with uncommitted changes; its lock is free at once and its last commit is there."""
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
    ended = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script], cwd=ROOT, env=os.environ, timeout=180, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    backend = EmbeddedBackend(tmp_path)
    assert await found(backend, "email stamps route") == ["mail.example", "shop.example"]
    assert await upsert(backend, MAPS) == 1
    assert await backend.count() == 3
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


async def test_lost_files_are_told_as_a_missing_index(tmp_path: Path) -> None:
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
    whole = path.read_bytes()
    path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "noise": bytes(len(whole))}[damage])
    backend = EmbeddedBackend(tmp_path)
    await backend.health()
    try:
        await found(backend, "email")
    except SearchUnavailable:
        assert (await backend.health()).state in (IndexState.UNREADABLE, IndexState.OUTDATED)
    await fill(backend, [MAIL])
    assert await found(backend, "email") == ["mail.example"]


async def test_a_writer_that_fails_goes_on_from_the_last_commit(tmp_path: Path) -> None:
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
