"""Addresses for calls are checked for owners, recorded beside the service, and change nothing about it."""

from datetime import datetime

import pytest

from registry.actions.recording.record import CrawlActions
from registry.core.visiting.call_checks import CallAddress, CallCheck, CallChecks
from registry.store.unit_of_work import Store
from tests.actions.ownership.test_ownership import owner_of
from tests.actions.test_prune import KEEP
from tests.support.builders import (
    DAY,
    HOLDER,
    HOUR,
    LEASE_FOR,
    NOW,
    Page,
    Site,
    adp_site,
    again,
    crawl,
    on,
    service_of,
)  # fmt: skip
from tests.support.database import rows

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

HOST, OTHER = "pigeons.com", "doves.com"
ADDRESS = f"https://{HOST}/v1/create_parcel"
SHOWN = ("services", "capabilities", "scores", "findings", "changes", "search_dirty")


def site(status: int = 405, host: str = HOST) -> Site:
    return {**adp_site(host), "/v1/create_parcel": Page(status=status)}


async def addresses(store: Store, now: datetime, which: CallChecks = "owned") -> dict[str, tuple[CallAddress, ...]]:
    """Return the addresses that a lease names, by host; the lease is given back."""
    actions = CrawlActions(store, lambda: now, LEASE_FOR, which)
    lease = await actions.lease(limit=100, holder=HOLDER)
    assert lease is not None, "nothing is due"
    await actions.release(lease.token)
    return {job.host: job.calls for domain in lease.domains for job in domain.hosts}


async def checked(store: Store) -> list[tuple[str, bool | None, int | None, str]]:
    return [(one.url, one.answers, one.status, one.reason) for one in (await service_of(store, HOST)).calls]


async def owned_and_listed(store: Store) -> None:
    await crawl(store, {HOST: site(), OTHER: site(host=OTHER)}, NOW - 3 * DAY)
    await owner_of(store, HOST, now=NOW - 2 * DAY)
    await on(store, NOW).frontier.recheck(HOST, client=None)


async def test_a_proven_host_is_checked_and_others_are_not(store: Store) -> None:
    await owned_and_listed(store)
    named = (CallAddress(ADDRESS, is_read=False),)
    later = NOW + 30 * DAY
    assert await addresses(store, later) == {HOST: named, OTHER: ()}
    assert await addresses(store, later, "off") == {HOST: (), OTHER: ()}
    assert {host: len(found) for host, found in (await addresses(store, later, "all")).items()} == {HOST: 1, OTHER: 1}


async def test_the_result_is_recorded_with_its_history_and_shown(store: Store) -> None:
    await owned_and_listed(store)
    await again(store, {HOST: site(405)}, NOW)
    assert await checked(store) == [(ADDRESS, True, 405, "")]
    await on(store, NOW + HOUR).frontier.recheck(HOST, client=None)
    await again(store, {HOST: site(410)}, NOW + HOUR)
    assert await checked(store) == [(ADDRESS, True, 405, "")], "an address is checked once a day"
    await on(store, NOW + 2 * DAY).frontier.recheck(HOST, client=None)
    await again(store, {HOST: site(410)}, NOW + 2 * DAY)
    assert await checked(store) == [(ADDRESS, False, 410, "status_410")]
    stored = await rows(store, "SELECT checked_at, answers FROM call_checks ORDER BY 1")
    assert stored == [(NOW, True), (NOW + 2 * DAY, False)]
    found = await on(store).queries.stored_capability(HOST, "create_parcel")
    assert found is not None
    assert found.calls == (CallCheck(ADDRESS, "OPTIONS", False, 410, "status_410", NOW + 2 * DAY),)


async def test_a_check_changes_nothing_about_the_service(store: Store) -> None:
    await owned_and_listed(store)
    shown = "SELECT " + ", ".join(f"(SELECT coalesce(jsonb_agg(t), '[]') FROM {table} t)::text" for table in SHOWN)
    before = await rows(store, shown)
    async with store.begin() as uow:
        await uow.call_checks.add({(HOST, HOST): [CallCheck(ADDRESS, "OPTIONS", False, 410, "status_410", NOW)]})
    assert await rows(store, shown) == before
    await again(store, {HOST: site(503)}, NOW)
    view = await service_of(store, HOST)
    assert (view.record.crawl_failures, view.record.hidden) == (0, False)
    assert await rows(store, "SELECT count(*) FROM documents WHERE position('/v1/' IN url) > 0") == [(0,)]


async def test_the_owner_switches_checks_off_and_on(store: Store) -> None:
    await crawl(store, {HOST: site()}, NOW - 3 * DAY)
    token = await owner_of(store, HOST, now=NOW - 2 * DAY)
    ownership = on(store, NOW).ownership
    assert await ownership.set_call_checks(token, HOST, enabled=False)
    assert not await ownership.set_call_checks(token, HOST, enabled=False)
    assert await addresses(store, NOW + 30 * DAY) == await addresses(store, NOW + 30 * DAY, "all") == {HOST: ()}
    overview = await ownership.overview(token, HOST)
    assert overview.setting is not None and not overview.setting.checks_calls
    assert await ownership.set_call_checks(token, HOST, enabled=True)
    assert [len(found) for found in (await addresses(store, NOW + 30 * DAY)).values()] == [1]
    assert await rows(store, "SELECT count(*) FROM owner_settings") == [(0,)]


async def test_checks_end_with_the_ownership(store: Store) -> None:
    await crawl(store, {HOST: site()}, NOW - 3 * DAY)
    token = await owner_of(store, HOST, now=NOW - 2 * DAY)
    await on(store, NOW).ownership.give_up(token, HOST)
    assert await addresses(store, NOW + 30 * DAY) == {HOST: ()}


async def test_old_checks_are_pruned_and_an_opt_out_deletes_all(store: Store) -> None:
    await owned_and_listed(store)
    old, new = NOW - 400 * DAY, NOW - DAY
    checks = [CallCheck(f"{ADDRESS}/{at:%d}", "HEAD", None, None, "robots", at) for at in (old, new)]
    async with store.begin() as uow:
        await uow.call_checks.add({(HOST, HOST): checks})
        await uow.call_checks.add({(HOST, HOST): checks})  # recorded twice
    assert (await on(store, NOW).maintenance.prune(KEEP))["call_checks"] == 1
    assert await rows(store, "SELECT checked_at FROM call_checks") == [(new,)]
    await on(store, NOW).opt_outs.forget(HOST, opt_out="operator")
    assert await rows(store, "SELECT count(*) FROM call_checks") == [(0,)]
