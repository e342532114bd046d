"""Opt-outs survive a restore from a backup that is older than they, and a process that dies while it stores one."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from registry.actions.maintenance.forget import How
from registry.actions.maintenance.opt_out import ReplayResult
from registry.core.model.listing import Filters
from registry.core.visiting.robots import PRODUCT
from registry.settings import Settings
from registry.store.engine import StoreUnavailable, make_engine
from registry.store.opt_out_file import OptOutFile, OptOutLine
from registry.store.records import OptOutRecord
from registry.store.unit_of_work import Store
from registry.wiring import OptOutFileUnreadable, open_waypost
from tests.support import database
from tests.support.builders import DAY, HOUR, NOW, Page, adp_site, again, crawl, domains_of, on, take
from tests.support.database import execute, new_database, rows
from tests.support.database_tools import run
from tests.support.hang import HANG_SECONDS

pytestmark = pytest.mark.slow  # dumps, and programs of their own

HOST, OTHER = "pigeons.com", "doves.com"
SITES = {HOST: adp_site(HOST), OTHER: adp_site(OTHER, "send_letter")}
LATER = NOW + HOUR


@pytest.fixture
async def filed(database_url: str, tmp_path: Path) -> AsyncIterator[Store]:
    """A store with a file, in the folder where the registry looks for it."""
    store = Store(make_engine(database_url, pool_size=3), OptOutFile(tmp_path / "opt-outs.log"))
    yield store
    await store.close()


@pytest.fixture
def restored_url(database_server: str) -> Iterator[str]:
    with new_database(database_server, "restored") as name:
        yield database.on(database_server, name)


def settings(url: str, folder: Path) -> Settings:
    return Settings.model_validate({"data": folder, "database_url": url})


async def listed(store: Store) -> list[str]:
    found = await on(store).queries.list_services(Filters(include_unverified=True))
    return sorted(card.host for card in found.items)


@pytest.mark.parametrize("how", ["operator", "file", "dns", "owner"])
async def test_an_older_backup_brings_no_site_back(
    filed: Store, database_url: str, restored_url: str, tmp_path: Path, how: How
) -> None:
    await crawl(filed, SITES)
    dump = run(["pg_dump", "-Fc", "waypost"], database_url)
    await on(filed, LATER).opt_outs.forget(HOST, opt_out=how, evidence="after the backup")
    run(["pg_restore", "-d", "waypost"], restored_url, stdin=dump)
    restored = Store(make_engine(restored_url, pool_size=2))
    try:
        assert await listed(restored) == [OTHER, HOST], "the backup has it"
        async with open_waypost(settings(restored_url, tmp_path)) as waypost:
            assert await waypost.queries.service(HOST) is None
            assert await listed(restored) == [OTHER]
            assert (await waypost.frontier.submit(HOST)).state == "opted_out"
        assert await rows(restored, f"SELECT host FROM documents WHERE domain = '{HOST}'") == []
        assert await rows(restored, "SELECT host, how, evidence, created_at FROM opt_outs") == [
            (HOST, how, "after the backup", LATER)
        ]
        assert HOST not in domains_of(await take(restored, now=NOW + 400 * DAY))
        entry = await rows(restored, "SELECT actor, action FROM audit WHERE at > now() - interval '1 day'")
        assert entry == [("system:replay", "host.opted_out")]
    finally:
        await restored.close()


async def test_an_opt_out_by_robots_txt_survives_too(filed: Store, tmp_path: Path) -> None:
    robots = Page(f"User-agent: {PRODUCT}\nDisallow: /\n", media_type="text/plain")
    await crawl(filed, SITES)
    await again(filed, {**SITES, HOST: {"/robots.txt": robots}}, NOW + 30 * DAY)
    lines, _ = OptOutFile(tmp_path / "opt-outs.log").read()
    assert [(line.action, line.host, line.how) for line in lines] == [("out", HOST, "robots")]
    await _lose_opt_outs(filed)
    replayed = await on(filed.without_file(), LATER).opt_outs.replay(lines)
    assert replayed.opted_out == (HOST,)
    assert await listed(filed) == [OTHER]


async def _lose_opt_outs(store: Store) -> None:
    """Leave the database as it was before: shown, without the opt-out and without its entry in the audit log."""
    async with store.begin() as uow:
        await uow.services.show(HOST, [HOST])
    for table in ("opt_outs", "audit"):
        await execute(store, f"TRUNCATE {table}")


async def test_a_process_that_dies_before_its_commit_loses_no_opt_out(
    store: Store, database_url: str, tmp_path: Path
) -> None:
    await crawl(store, SITES)
    program = (
        "import asyncio, os, signal, sys\nfrom pathlib import Path\n"
        "from registry.store.engine import make_engine\nfrom registry.store.opt_out_file import OptOutFile\n"
        "from registry.store.records import OptOutRecord\nfrom registry.store.unit_of_work import Store\n"
        "from tests.support.builders import NOW\n"
        "async def main():\n"
        "    async with Store(make_engine(sys.argv[1]), OptOutFile(Path(sys.argv[2]))).begin() as uow:\n"
        "        await uow.opt_outs.add([OptOutRecord('pigeons.com', 'pigeons.com', 'dns', 'TXT', NOW)])\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    arguments = [sys.executable, "-c", program, database_url, str(tmp_path / "opt-outs.log")]
    process = await asyncio.to_thread(subprocess.run, arguments, timeout=HANG_SECONDS, check=False)
    assert process.returncode == -9
    assert await rows(store, "SELECT host FROM opt_outs") == []
    async with open_waypost(settings(database_url, tmp_path)):
        assert await listed(store) == [OTHER]
    assert await rows(store, "SELECT host, how FROM opt_outs") == [(HOST, "dns")]


async def test_an_opt_out_that_cannot_be_written_to_the_file_does_not_take_effect(
    store: Store, database_url: str, tmp_path: Path
) -> None:
    (tmp_path / "opt-outs.log").mkdir()
    broken = Store(store.engine, OptOutFile(tmp_path / "opt-outs.log"))
    await crawl(store, SITES)
    with pytest.raises(StoreUnavailable, match="file of opt-outs"):
        await on(broken).opt_outs.forget(HOST, opt_out="file")
    assert await rows(store, "SELECT host FROM opt_outs") == []
    assert HOST in await listed(store)


async def test_nothing_is_opened_while_the_file_cannot_be_read(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "opt-outs.log").mkdir()
    with pytest.raises(OptOutFileUnreadable):
        async with open_waypost(settings(database_url, tmp_path)):
            pass


async def test_a_replay_changes_nothing_that_is_known(filed: Store) -> None:
    await crawl(filed, SITES)
    await on(filed).opt_outs.forget(HOST, opt_out="file")
    before = await rows(filed, "SELECT count(*) FROM audit")
    lines, _ = filed.opt_out_file.read() if filed.opt_out_file else ([], 0)
    assert await on(filed, LATER).opt_outs.replay(lines) == ReplayResult(1)
    assert await rows(filed, "SELECT count(*) FROM audit") == before


async def test_the_end_of_an_opt_out_is_replayed(filed: Store, tmp_path: Path) -> None:
    await on(filed).opt_outs.forget(HOST, opt_out="operator")
    await on(filed, LATER).opt_outs.readmit(HOST)
    async with filed.without_file().begin() as uow:
        await uow.opt_outs.add([OptOutRecord(HOST, HOST, "operator", "", NOW)])  # as an older backup has it
    lines, _ = OptOutFile(tmp_path / "opt-outs.log").read()
    assert [line.action for line in lines] == ["out", "in"]
    assert (await on(filed.without_file(), LATER).opt_outs.replay(lines)).readmitted == (HOST,)
    assert await rows(filed, "SELECT host FROM opt_outs") == []


async def test_an_opt_out_that_ended_at_another_machine_stays_ended(store: Store) -> None:
    out = OptOutLine("out", HOST, "file", "", NOW)
    await on(store).opt_outs.replay([out])
    await on(store, LATER).opt_outs.readmit(HOST)
    assert await on(store, LATER + HOUR).opt_outs.replay([out]) == ReplayResult(1)
    assert await rows(store, "SELECT host FROM opt_outs") == []
    again_out = OptOutLine("out", HOST, "file", "", LATER + HOUR)
    assert (await on(store, LATER + HOUR).opt_outs.replay([out, again_out])).opted_out == (HOST,)


async def test_a_later_opt_out_is_not_ended_by_an_older_line(store: Store) -> None:
    await on(store, LATER).opt_outs.forget(HOST, opt_out="file")
    assert await on(store, LATER).opt_outs.replay([OptOutLine("in", HOST, "file", "", NOW)]) == ReplayResult(1)
    assert await rows(store, "SELECT host FROM opt_outs") == [(HOST,)]
