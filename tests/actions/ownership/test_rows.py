"""Rows of lists say what the record of a service says of its ownership."""

import pytest

from registry.core.model.listing import Filters
from registry.core.names.domains import registrable_domain
from registry.store.unit_of_work import Store
from tests.actions.ownership.test_ownership import API, HOST, OTHER, SITES, claimed, owner_of, verified
from tests.support.builders import DAY, HOUR, NOW, crawl, on, service_of

pytestmark = pytest.mark.slow  # seconds of PostgreSQL


async def owned(store: Store) -> set[str]:
    """Return the hosts whose rows have an owner. Every row agrees with the record of its service."""
    listed = {card.host: card for card in (await on(store).queries.list_services(Filters())).items}
    found = await store.cards.of([(registrable_domain(host), host) for host in SITES])
    assert listed.keys() == found.keys() == SITES.keys()
    for host in SITES:
        record = await service_of(store, host)
        since = record.ownership.since if record.ownership.state == "proven" else None
        canonical = record.setting.canonical if record.setting else None
        for card in (listed[host], found[host]):
            assert (card.owned_since, card.canonical_host) == (since, canonical), host
            assert card.trust_since == record.record.trust_since
    return {host for host, card in found.items() if card.owned_since is not None}


async def test_a_proof_of_a_host_concerns_this_host_alone(store: Store) -> None:
    await crawl(store, SITES)
    await claimed(store, OTHER)
    assert await owned(store) == set(), "an open claim proves nothing"
    owner = await owner_of(store, API)
    await claimed(store, API, client="203.0.113.8")
    assert await owned(store) == {API}, "a stranger's open claim changes nothing"
    await on(store).ownership.give_up(owner, API)
    assert await owned(store) == set()


async def test_a_proof_of_the_apex_alone_does_not_cover_the_domain(store: Store) -> None:
    await crawl(store, SITES)
    await owner_of(store, HOST)
    assert await owned(store) == {HOST}


async def test_a_proof_of_a_domain_concerns_all_its_hosts(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store, HOST, "domain")
    assert await owned(store) == {HOST, API}
    assert (await on(store).ownership.pin(owner, HOST, API)).canonical == API
    assert await owned(store) == {HOST, API}


async def test_a_proof_of_the_host_itself_comes_before_a_later_one_of_the_domain(store: Store) -> None:
    await crawl(store, SITES)
    await owner_of(store, API)
    await owner_of(store, HOST, "domain", now=NOW + HOUR)
    assert await owned(store) == {HOST, API}


async def test_an_ownership_that_ended_is_none(store: Store) -> None:
    await crawl(store, SITES)
    await owner_of(store, HOST, "domain")
    for day in range(1, 4):
        await verified(store, "missing", NOW + day * DAY)
    assert await owned(store) == set()
