"""The backup and restore commands of docs/operations.md, run exactly as written there, on a new database."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.store.engine import make_engine
from registry.store.records import OptOutRecord
from registry.store.unit_of_work import Store
from tests.support import database
from tests.support.builders import NOW, adp_site, crawl, domains_of, on, take
from tests.support.database import new_database, rows
from tests.support.database_tools import run
from tests.support.shared import ROOT

pytestmark = pytest.mark.slow  # dumps

PAGE = (ROOT / "docs" / "operations.md").read_text()


@pytest.fixture
def second_database(database_server: str) -> Iterator[str]:
    with new_database(database_server, "restored") as name:
        yield database.on(database_server, name)


def command(prefix: str) -> list[str]:
    """Return the words of a command of the page, up to a comment or a redirection."""
    line = re.search(rf"^(?:- `)?({re.escape(prefix)}[^#`\n]*)", PAGE, re.MULTILINE) or re.search(
        rf"`({re.escape(prefix)}[^`\n]*)`", PAGE
    )
    assert line is not None, prefix
    return re.split(r"[<>]", line[1])[0].split()


async def test_a_restored_registry_is_complete_and_keeps_opt_outs(
    store: Store, database_url: str, second_database: str, tmp_path: Path
) -> None:
    hosts = ["a.com", "b.com", "c.com"]
    await crawl(store, {host: adp_site(host) for host in hosts})
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("c.com", "c.com", "robots", "before the backup", NOW)])
    before = {host: await on(store).queries.service(host, include_details=True) for host in hosts}
    (tmp_path / "waypost.dump").write_bytes(run(command("pg_dump -Fc waypost"), database_url))
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("b.com", "b.com", "robots", "after the backup", NOW)])
    opt_outs = run(command("pg_dump -a -t opt_outs"), database_url)

    restore_words = command("pg_restore -d waypost")
    assert restore_words[-1] == "waypost.dump"
    run(restore_words[:-1], second_database, str(tmp_path / "waypost.dump"))
    run(command("psql -q waypost"), second_database, stdin=opt_outs)

    restored = Store(make_engine(second_database, pool_size=2))
    try:
        assert (await on(restored).frontier.recrawl()).hidden == 2
        for host in hosts:
            service = await on(restored).queries.service(host, include_details=True)
            assert service == (before[host] if host == "a.com" else None)
        assert await rows(restored, "SELECT host, evidence FROM opt_outs ORDER BY host") == [
            ("b.com", "after the backup"),
            ("c.com", "before the backup"),
        ]
        report = await on(restored).frontier.seed(hosts, source="test")
        assert sorted(refusal.name for refusal in report.refused) == ["b.com", "c.com"]
        assert (await on(restored).maintenance.rescore()).failed == []
        async with restored.begin() as uow:
            await uow.hosts.make_due([("a.com", "a.com")], due=NOW)
            await uow.domains.due_by(hosts, due=NOW, now=NOW)
        assert domains_of(await take(restored)) == ["a.com"]
    finally:
        await restored.close()
