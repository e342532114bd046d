"""Floods of claims and checks: neither the first claimant nor the owner who comes late is kept out."""

import asyncio
from datetime import timedelta

import pytest

from registry.actions.ownership import claiming
from registry.actions.ownership.claiming import (
    CHECKS_OF_DOMAIN,
    CHECKS_OF_NETWORK,
    MAX_OPEN,
    MAX_OPEN_PER_DOMAIN,
    MAX_OPEN_PER_HOST,
    MAX_PER_NETWORK,
    OWN_CHECKS,
    TooMany,
)
from registry.core.access.clients import NETWORK_FACTOR
from registry.store.unit_of_work import Store
from tests.actions.ownership.test_ownership import API, HOST, checked, claimed
from tests.support.builders import HOUR, NOW, on
from tests.support.database import rows

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

FLOOD = 130
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    "client",
    ["2001:db8:1:{:x}::/64", "2001:db8:{:x}::/64", "198.51.100.{}"],
    ids=["one /48", "many /48s", "many IPv4 addresses"],
)
async def test_a_flood_keeps_out_neither_the_first_nor_the_late_claimant(store: Store, client: str) -> None:
    _, early = await claimed(store, now=NOW)
    for number in range(FLOOD):
        await claimed(store, client=client.format(number), now=NOW + MINUTE)
    _, late = await claimed(store, client="203.0.113.8", now=NOW + 2 * MINUTE)
    for number in range(FLOOD, 2 * FLOOD):
        await claimed(store, client=client.format(number % 256), now=NOW + 3 * MINUTE)
    for token in (early, late):
        await checked(store, token, "published", NOW + 4 * MINUTE)
        assert (await on(store, NOW + 4 * MINUTE).claims.claim_status(token)).state == "proven"


async def test_a_network_replaces_only_its_own_newest_claims(store: Store) -> None:
    _, first = await claimed(store, client="2001:db8:1::/64")
    for number in range(1, 3 * MAX_OPEN_PER_DOMAIN):
        await claimed(store, client=f"2001:db8:1:{number:x}::/64", now=NOW + number * MINUTE)
    assert await rows(store, "SELECT count(*) FROM claims") == [(MAX_OPEN_PER_DOMAIN,)]
    assert (await on(store).claims.claim_status(first)).state == "open"


async def test_further_claims_of_a_client_for_a_host_replace_its_newest(store: Store) -> None:
    made = [(await claimed(store, now=NOW + number * MINUTE))[0].record.id for number in range(6)]
    kept = [claim for (claim,) in await rows(store, "SELECT id FROM claims ORDER BY created_at")]
    assert kept == [*made[: MAX_OPEN_PER_HOST - 1], made[-1]]


async def test_a_claim_that_is_proven_meanwhile_is_not_replaced(store: Store) -> None:
    made = [await claimed(store, now=NOW + number * MINUTE) for number in range(MAX_OPEN_PER_HOST)]
    stale = [claim.record for claim, _ in made]
    newest = made[-1][1]
    await checked(store, newest, "published", NOW + HOUR)
    async with store.begin() as uow:
        await claiming._make_room(uow, stale[0], stale, NOW + HOUR)
    assert (await on(store, NOW + HOUR).claims.claim_status(newest)).state == "proven"


async def test_claims_of_a_client_at_once_are_bounded_too(store: Store) -> None:
    await asyncio.gather(*(claimed(store) for _ in range(12)))
    assert await rows(store, "SELECT count(*) FROM claims") == [(MAX_OPEN_PER_HOST,)]


async def test_open_claims_of_a_network_are_bounded(store: Store) -> None:
    for number in range(NETWORK_FACTOR * MAX_OPEN):
        await claimed(store, f"a{number}.com", client=f"2001:db8:1:{number // 2:x}::/64")
    with pytest.raises(TooMany):
        await claimed(store, "one-more.com", client="2001:db8:1:ffff::/64")
    await claimed(store, "one-more.com", client="2001:db8:2::/64")


async def test_what_others_asked_for_does_not_refuse_the_first_checks_of_a_network(store: Store) -> None:
    networks = CHECKS_OF_DOMAIN // (CHECKS_OF_NETWORK - OWN_CHECKS) + 1
    with pytest.raises(TooMany):
        for number in range(networks * CHECKS_OF_NETWORK):
            address = f"2001:db8:{number // CHECKS_OF_NETWORK:x}:{number % CHECKS_OF_NETWORK:x}::/64"
            _, token = await claimed(store, HOST, "file", client=address)
            await checked(store, token, "missing", NOW)
    _, mine = await claimed(store, HOST, "file", client="203.0.113.8")
    for minute in range(OWN_CHECKS):
        await checked(store, mine, "missing", NOW + minute * MINUTE)
    with pytest.raises(TooMany):
        await on(store, NOW + 10 * MINUTE).claims.ask(mine)
    await checked(store, mine, "published", NOW + HOUR)


async def test_a_replaced_claim_still_counts_its_checks(store: Store) -> None:
    for minute in range(CHECKS_OF_NETWORK):
        now = NOW + minute * MINUTE
        _, token = await claimed(store, HOST, "file", now=now)
        await checked(store, token, "missing", now)
    _, token = await claimed(store, HOST, "file", now=NOW + 20 * MINUTE)
    with pytest.raises(TooMany):
        await on(store, NOW + 20 * MINUTE).claims.ask(token)
    await claimed(store, HOST, "file", now=NOW + 2 * HOUR)
    assert (await rows(store, "SELECT count(*) FROM claims"))[0][0] <= MAX_OPEN_PER_HOST + 1, "no remains"


async def test_networks_take_turns(store: Store) -> None:
    for number in range(20):
        _, token = await claimed(store, API, client=f"2001:db8:1:{number:x}::/64")
        await on(store).claims.ask(token)
    _, mine = await claimed(store, HOST, client="203.0.113.8", now=NOW + MINUTE)
    await on(store, NOW + MINUTE).claims.ask(mine)
    taken = await on(store, NOW + MINUTE).claims.take(limit=2)
    assert mine.id in {check.claim for check in taken}, "a /48 is one network"
    assert len(await on(store, NOW + MINUTE).claims.take(limit=100)) == MAX_PER_NETWORK - 1
