"""Recrawl restarts a queue that has stalled, and keeps opt-outs in force even over a restored backup."""

from datetime import datetime

import pytest

from registry.actions.frontier.frontier import FORGOTTEN_AFTER
from registry.store.holder import hold_leases
from registry.store.records import CandidateRecord, OptOutRecord
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, HOUR, NOW, adp_site, changes_of, crawl, domains_of, on, take
from tests.support.database import rows

pytestmark = pytest.mark.slow  # sessions of their own


async def set_domain_due(store: Store, domain: str, due: datetime | None, attempts: int = 0) -> None:
    async with store.begin() as uow:
        moment = f"'{due.isoformat()}'" if due else "NULL"
        await uow._connection.exec_driver_sql(
            f"UPDATE domains SET next_visit_at = {moment}, attempts = {attempts} WHERE domain = '{domain}'"
        )


async def test_hosts_that_documents_name_are_queued(store: Store) -> None:
    async with store.begin() as uow:
        hosts = [f"named-{number:04}.com" for number in range(2_100)]  # more than one batch
        await uow.candidates.add(
            [CandidateRecord(host, host, "a.com", "link", "https://a.com/", NOW) for host in hosts]
        )
    recrawled = await on(store).frontier.recrawl()
    assert (recrawled.folded, recrawled.due) == (2_100, 2_100)
    assert (await on(store).frontier.recrawl()).folded == 0


async def test_leases_of_dead_holders_are_freed_and_live_ones_counted(store: Store) -> None:
    await on(store).frontier.seed(["a.com", "b.com"], source="test")
    assert domains_of(await take(store, limit=1, now=NOW, holder=99)) == ["a.com"]
    async with hold_leases(store.engine) as hold:
        assert domains_of(await take(store, limit=1, now=NOW, holder=hold.id)) == ["b.com"]
        recrawled = await on(store).frontier.recrawl()
        assert (recrawled.recovered, recrawled.crawlers) == (1, 1)
    assert (await on(store).frontier.recrawl()).crawlers == 0


@pytest.mark.parametrize("due", [None, NOW + 300 * DAY])
async def test_a_domain_without_a_next_visit_is_made_due(store: Store, due: datetime | None) -> None:
    await on(store).frontier.seed(["a.com", "b.com"], source="test")
    await set_domain_due(store, "a.com", due)
    recrawled = await on(store).frontier.recrawl()
    assert (recrawled.brought, recrawled.due) == (1, 2)
    assert (await on(store).frontier.recrawl()).brought == 0


async def test_domains_that_wait_on_purpose_are_left_alone(store: Store) -> None:
    """A domain that was set aside, one that is leased, and one that a crawler deferred for an hour."""
    names = ["aside.com", "leased.com", "later.com"]
    await crawl(store, {name: adp_site(name) for name in names})
    recrawl_at = NOW + 20 * DAY
    async with store.begin() as uow:
        await uow.hosts.make_due([("aside.com", "aside.com"), ("leased.com", "leased.com")], due=NOW)
        await uow.hosts.make_due([("later.com", "later.com")], due=recrawl_at - FORGOTTEN_AFTER + HOUR)
    await set_domain_due(store, "aside.com", recrawl_at + DAY, attempts=3)
    await set_domain_due(store, "later.com", recrawl_at + HOUR)
    async with hold_leases(store.engine) as hold:
        await set_domain_due(store, "leased.com", NOW)
        assert domains_of(await take(store, now=recrawl_at, holder=hold.id)) == ["leased.com"]
        assert (await on(store, recrawl_at).frontier.recrawl()).brought == 0


async def test_opt_outs_restored_over_an_old_backup_are_enforced(store: Store) -> None:
    await crawl(store, {host: adp_site(host) for host in ("a.com", "www.a.com", "b.com", "notb.com")})
    async with store.begin() as uow:  # as psql would after pg_restore
        await uow.opt_outs.add([OptOutRecord("a.com", "a.com", "robots", "", NOW)])
        await uow.opt_outs.add([OptOutRecord("b.com", "x.b.com", "robots", "", NOW)])
    assert await on(store).queries.service("a.com") is not None

    assert (await on(store, NOW + HOUR).frontier.recrawl()).hidden == 2

    for host, is_shown in (("a.com", False), ("www.a.com", False), ("b.com", True), ("notb.com", True)):
        assert (await on(store).queries.service(host) is not None) == is_shown
    assert (await changes_of(store, "www.a.com"))[-1] == "service.hidden"
    assert await rows(store, "SELECT host FROM hosts WHERE next_visit_at IS NULL ORDER BY host") == [
        ("a.com",), ("www.a.com",),
    ]  # fmt: skip
    assert (await on(store).frontier.recrawl()).hidden == 0
