"""Several owners of one domain: none displaces another, deletes its hosts, or is refused what protects it."""

from datetime import timedelta

import pytest

from registry.actions.ownership import owning
from registry.actions.ownership.owning import MAX_CHANGES, NotAnOwner
from registry.core.access.claims import MAX_FAILURES
from registry.store.unit_of_work import Store
from tests.actions.ownership.test_ownership import API, HOST, OTHER, SITES, audit, listed, owner_of, verified
from tests.support.builders import HOUR, NOW, crawl, on

pytestmark = pytest.mark.slow  # seconds of PostgreSQL


async def test_what_protects_an_owner_is_never_refused_for_a_limit(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store)
    for _ in range(MAX_CHANGES):
        await on(store).ownership.show(owner, HOST)
    assert (await on(store).ownership.hide(owner, HOST)).changed
    entries = len(await audit(store))
    assert not (await on(store).ownership.hide(owner, HOST)).changed
    assert len(await audit(store)) == entries, "repeating it costs nothing"
    new = await on(store).ownership.rotate(owner, HOST)
    await on(store).ownership.opt_out(new, HOST)
    assert HOST not in await listed(store)
    other = await owner_of(store, OTHER)
    for _ in range(MAX_CHANGES):
        await on(store).ownership.show(other, OTHER)
    await on(store).ownership.give_up(other, OTHER)


async def test_an_opt_out_spares_no_host_but_those_of_other_owners(store: Store) -> None:
    await crawl(store, SITES)
    apex, api = await owner_of(store), await owner_of(store, API)
    with pytest.raises(owning.BadSetting, match=API):
        await on(store).ownership.opt_out(apex, HOST)
    assert await listed(store) == sorted(SITES)
    await on(store).ownership.give_up(api, API)
    await on(store).ownership.opt_out(apex, HOST)
    assert await listed(store) == [OTHER]


async def test_the_owner_of_a_domain_opts_out_for_all_its_hosts(store: Store) -> None:
    await crawl(store, SITES)
    domain = await owner_of(store, HOST, "domain")
    await owner_of(store, API)
    await on(store).ownership.opt_out(domain, HOST)
    assert await listed(store) == [OTHER]


async def test_owners_of_a_domain_and_of_its_hosts_do_not_displace_each_other(store: Store) -> None:
    domain, apex, api = [
        await owner_of(store, host, scope) for host, scope in ((HOST, "domain"), (HOST, "host"), (API, "host"))
    ]
    for token, host in ((domain, API), (apex, HOST), (api, API)):
        await on(store).ownership.overview(token, host)
    await owner_of(store, HOST, "domain", now=NOW + HOUR)
    await on(store).ownership.overview(apex, HOST)
    await on(store).ownership.overview(api, API)
    with pytest.raises(NotAnOwner):
        await on(store).ownership.overview(domain, HOST)


async def test_repeated_proofs_of_a_domain_do_not_add_up_to_failures(store: Store) -> None:
    api = await owner_of(store, API)
    for minute in range(MAX_FAILURES):
        now = NOW + HOUR + timedelta(minutes=minute)
        await owner_of(store, HOST, "domain", now=now)
        await verified(store, "missing", now)
    assert (await on(store).ownership.overview(api, API)).claim.failures == 1
