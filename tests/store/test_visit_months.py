"""The months of visits: no insert fails, old months go as a whole, the latest visits of a host stay, every statement
reaches all partitions, and a filled table becomes one of them while the registry works."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from threading import Thread

import psycopg
import pytest
from alembic import command

from registry.core.model.documents import Outcome
from registry.store.engine import libpq, sqlalchemy_url
from registry.store.ledger import _SPENT
from registry.store.migrate import make_config
from registry.store.records import VisitRecord
from registry.store.unit_of_work import Store
from registry.store.visit_months import MONTHS_AHEAD
from tests.actions.test_prune import KEEP, add_visits, make_months, visit_times
from tests.support.builders import DAY, HOUR, NOW, on
from tests.support.database import execute, rows
from tests.support.hang import HANG_SECONDS

pytestmark = pytest.mark.slow  # partitions are made and dropped, and databases with them

HOST = "parcels.com"
BEFORE = "3b8e5d1f7a26"  # the revision before months


async def places(store: Store) -> dict[str, int]:
    """Return the number of visits by partition."""
    return dict(await rows(store, "SELECT tableoid::regclass::text, count(*) FROM visits GROUP BY 1"))


async def names(store: Store) -> list[str]:
    async with store.begin() as uow:
        return [month.name for month in await uow.visit_months.all()]


async def test_visits_of_any_time_are_written_and_read(store: Store) -> None:
    moments = [NOW + years * 365 * DAY for years in (100, 1, 0, -1, -40)]
    await add_visits(store, *moments)
    async with store.begin() as uow:
        assert [visit.started_at for visit in await uow.ledger.visits(HOST, HOST, limit=9)] == moments
        assert [visit.started_at for visit in await uow.ledger.visits(HOST, HOST, limit=2)] == moments[:2]


async def test_months_are_made_ahead_and_take_their_visits(store: Store) -> None:
    now = NOW + 3_000 * DAY
    await add_visits(store, now, now + 31 * DAY, now + 900 * DAY)
    assert await places(store) == {"visits_other": 3}
    await make_months(store, now)
    assert await places(store) == {f"visits_{now:%Y_%m}": 1, f"visits_{now + 31 * DAY:%Y_%m}": 1, "visits_other": 1}
    made = await names(store)
    await make_months(store, now)
    assert await names(store) == made
    async with store.begin() as uow:
        months = [month for month in await uow.visit_months.all() if month.until > now]
    assert len(months) == 1 + MONTHS_AHEAD
    assert all(one.until == following.since for one, following in pairwise(months))
    assert all(month.since is not None and month.since.astimezone(UTC).day == 1 for month in months)


async def test_a_month_with_too_many_visits_elsewhere_is_not_made(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.store.visit_months.MAX_MOVED", 2)
    now = NOW + 3_000 * DAY
    await add_visits(store, *(now + hours * HOUR for hours in range(3)))
    await make_months(store, now)
    assert await places(store) == {"visits_other": 3}
    assert f"visits_{now:%Y_%m}" not in await names(store)


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/St_Johns"])
async def test_months_are_in_utc(store: Store, zone: str) -> None:
    database = (await rows(store, "SELECT current_database()"))[0][0]
    await execute(store, f"ALTER DATABASE {database} SET timezone = '{zone}'")
    await store.engine.dispose()
    begin = datetime(2035, 3, 1, tzinfo=UTC)
    await make_months(store, begin)
    await add_visits(store, begin - timedelta(microseconds=1), begin)
    assert await places(store) == {"visits_other": 1, "visits_2035_03": 1}


async def test_a_year_of_pruning_leaves_the_latest_visits_in_a_few_partitions(store: Store) -> None:
    """A host is visited every week, another one was given up after five visits."""
    begin = datetime(2030, 1, 7, 12, tzinfo=UTC)
    await make_months(store, begin - 30 * DAY)
    await add_visits(store, *(begin - weeks * 7 * DAY for weeks in range(5)))
    await execute(store, f"UPDATE visits SET host = 'gone.{HOST}'")
    counts, partitions = [], []
    for week in range(48):
        now = begin + week * 7 * DAY
        async with store.begin() as uow:
            await uow.ledger.add_visits([visit(now)])
        if week % 4 == 0:
            await on(store, now).maintenance.prune(KEEP)
            counts.append(len(await rows(store, f"SELECT FROM visits WHERE host = '{HOST}'")))
            partitions.append(len(await names(store)))
    left = [at for (at,) in await rows(store, f"SELECT started_at FROM visits WHERE host = 'gone.{HOST}' ORDER BY 1")]
    assert left == [begin - weeks * 7 * DAY for weeks in (2, 1, 0)]
    assert max(counts[7:]) <= 19  # 90 days and the days of a month before them
    assert max(partitions) <= 3 + 2 + MONTHS_AHEAD + 1 + MONTHS_AHEAD + 1  # beside them those of this test's own date
    assert (await places(store))["visits_kept"] == 3


async def test_visits_that_are_kept_go_when_newer_ones_come(store: Store) -> None:
    begin = datetime(2031, 5, 2, tzinfo=UTC)
    await make_months(store, begin)
    await add_visits(store, *(begin + days * DAY for days in range(6)))
    assert await on(store, begin + 130 * DAY).maintenance.prune(KEEP) == {"visits": 3}
    assert await places(store) == {"visits_kept": 3}
    async with store.begin() as uow:
        await uow.ledger.add_visits([visit(begin + 130 * DAY)])
    assert await on(store, begin + 130 * DAY).maintenance.prune(KEEP) == {"visits": 1}
    assert await visit_times(store) == [begin + days * DAY for days in (130, 5, 4)]


async def test_old_months_are_detached_for_an_archive(store: Store) -> None:
    begin = datetime(2031, 5, 2, tzinfo=UTC)
    await make_months(store, begin)
    await add_visits(store, *(begin + days * DAY for days in range(6)))
    pruned = await on(store, begin + 130 * DAY).maintenance.prune(replace(KEEP, archive_visits=True))
    assert pruned == {"visits": 3}
    assert await visit_times(store) == [begin + days * DAY for days in (5, 4, 3)]
    assert await rows(store, "SELECT count(*) FROM visits_2031_05_archived") == [(3,)]


async def test_a_backup_that_reads_delays_only_the_drop(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("registry.store.visit_months.LOCK_SECONDS", 0.1)
    begin = datetime(2031, 5, 2, tzinfo=UTC)
    await make_months(store, begin)
    await add_visits(store, *(begin + days * DAY for days in range(6)))
    prune = on(store, begin + 130 * DAY).maintenance.prune
    async with store.engine.begin() as backup:
        await backup.exec_driver_sql("SELECT FROM visits_other, visits")
        assert await prune(KEEP) == {}
        assert len(await visit_times(store)) == 6
    assert await prune(KEEP) == {"visits": 3}


async def test_a_host_is_forgotten_and_moved_in_every_partition(store: Store) -> None:
    begin = datetime(2031, 5, 2, tzinfo=UTC)
    await make_months(store, begin)
    await add_visits(store, *(begin + days * DAY for days in (-9_000, 0, 1, 40, 80)))
    await execute(store, f"UPDATE visits SET kept = true WHERE started_at < '{begin + HOUR}'")
    assert len(await places(store)) == 4
    async with store.begin() as uow:
        await uow.rehoming.move(HOST, old_domain=HOST, new_domain="com")
    assert await rows(store, "SELECT domain, count(*) FROM visits GROUP BY 1") == [("com", 5)]
    async with store.begin() as uow:
        await uow.rehoming.move(HOST, old_domain="com", new_domain=HOST)
    await on(store, begin + 200 * DAY).opt_outs.forget(HOST)
    assert await places(store) == {}


FILL = """
INSERT INTO visits (domain, host, started_at, finished_at, outcome, reason, whole_plan, requests, vector)
SELECT n || '.com', n || '.com', at, at, 'absent', '', true, 20, ''
FROM generate_series(1, 4000) AS n, generate_series({since}, {until}, interval '20 days') AS at
"""


async def test_queries_read_months_by_their_index_and_only_those_that_they_need(store: Store) -> None:
    now = datetime(2031, 5, 20, tzinfo=UTC)
    for months in range(5):
        await make_months(store, now - months * 30 * DAY)
    await execute(store, FILL.format(since=f"timestamptz '{now - 110 * DAY}'", until=f"timestamptz '{now}'"))
    hosts = "INSERT INTO hosts (domain, host, source, created_at, last_visit_at)"
    await execute(
        store, f"{hosts} SELECT n || '.com', n || '.com', '', now(), '{now}' FROM generate_series(1, 4000) AS n"
    )
    await execute(store, "ANALYZE")
    spent = _SPENT % {"since": f"'{now - DAY}'", "domains": "'1.com 2.com'", "checks": "0"}
    page = "SELECT vector FROM visits WHERE domain = '7.com' AND host = '7.com' ORDER BY started_at DESC LIMIT 20"
    for statement, partitions in ((spent, {"visits_2031_05"}), (page, {f"visits_2031_0{n}" for n in range(1, 6)})):
        plan = "\n".join(line for (line,) in await rows(store, f"EXPLAIN {statement}"))
        read = set(re.findall(r"Scan (?:Backward )?using \w+ on (visits_\d+_\d+)", plan))
        assert not re.search(r"Seq Scan on visits_2031_0[1-5]", plan), plan  # the months ahead are empty
        assert partitions <= read, plan
        assert statement is page or not any(f"visits_2031_0{n}" in plan for n in range(1, 5)), plan


def test_a_filled_table_becomes_a_partition_while_old_programs_go_on(empty_database_url: str) -> None:
    config, database = make_config(empty_database_url), libpq(sqlalchemy_url(empty_database_url))
    command.upgrade(config, BEFORE)
    with psycopg.connect(database, autocommit=True) as connection, psycopg.connect(database) as reader:
        connection.execute("GRANT SELECT ON visits TO PUBLIC")
        connection.execute(FILL.format(since="now() - interval '400 days'", until="now()"))
        file = "SELECT pg_relation_filenode(%s::regclass)"
        before = connection.execute(file, ["visits"]).fetchone()
        reader.execute("SELECT FROM visits LIMIT 1")
        upgrade = Thread(target=command.upgrade, args=(config, "head"))
        upgrade.start()
        upgrade.join(1.5)  # it waits for the reader, and lets others through every second
        assert upgrade.is_alive()
        connection.execute("INSERT INTO visits SELECT * FROM visits LIMIT 0")
        reader.commit()
        upgrade.join(HANG_SECONDS)
        ((name,),) = connection.execute(
            "SELECT relname FROM pg_class WHERE relname ~ '^visits_before_' AND relkind = 'r'"
        ).fetchall()
        assert connection.execute(file, [name]).fetchone() == before  # no row was copied
        assert connection.execute("SELECT count(*) FROM visits").fetchone() == (4000 * 21,)
        assert connection.execute("SELECT has_table_privilege('public', 'visits', 'SELECT')").fetchone() == (True,)
        columns = "domain, host, started_at, finished_at, outcome, reason, whole_plan, requests, address, vector"
        with connection.cursor().copy(f"COPY visits ({columns}, sent, standing) FROM STDIN") as copying:  # as before
            for days in (0, 70, 700):
                at = datetime.now(UTC) + days * DAY
                copying.write_row(("new.com", "new.com", at, at, "absent", "", True, 20, None, b"", 20, 0))
        command.check(config)
        command.downgrade(config, BEFORE)
        assert connection.execute("SELECT count(*) FROM visits").fetchone() == (4000 * 21 + 3,)
        command.upgrade(config, "head")
        command.check(config)


def visit(at: datetime) -> VisitRecord:
    return VisitRecord(HOST, HOST, at, at, Outcome.FOUND, "", True, 20, None)
