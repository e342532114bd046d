"""Pins by owners: whose consent they need, and that nobody's pin blocks another owner."""

import pytest

from registry.actions.ownership import owning
from registry.actions.ownership.owning import Pinned
from registry.core.access.claims import OWNER
from registry.core.access.tokens import Token
from registry.store.unit_of_work import Store
from tests.actions.ownership.test_ownership import API, HOST, OTHER, SITES, owner_of, secret
from tests.actions.ownership.test_rows import owned
from tests.support.builders import HOUR, NOW, crawl, on
from tests.support.database import rows

WWW, SHOP = f"www.{HOST}", f"shop.{HOST}"


async def canonical(store: Store) -> dict[str, str]:
    return dict(await rows(store, "SELECT host, canonical FROM owner_settings WHERE canonical IS NOT NULL"))


async def owners(store: Store, *hosts: str) -> list[Token]:
    return [await owner_of(store, host) for host in hosts]


async def test_a_pin_without_consent_has_no_effect_and_blocks_nobody(store: Store) -> None:
    await crawl(store, SITES)
    stranger, api, apex = await owners(store, SHOP, API, HOST)
    assert await on(store).ownership.pin(stranger, SHOP, API) == Pinned(API, None)
    assert await canonical(store) == {}
    assert await on(store).ownership.pin(api, API, HOST, apex) == Pinned(HOST, HOST)
    assert await canonical(store) == {API: HOST}
    await owned(store)


async def test_who_owns_the_whole_domain_needs_no_further_consent(store: Store) -> None:
    domain, api = await owner_of(store, HOST, "domain"), await owner_of(store, API)
    assert await on(store).ownership.pin(domain, API, HOST) == Pinned(HOST, HOST)
    await on(store).ownership.set_note(api, API, "Moved.")
    assert await canonical(store) == {API: HOST}, "a note of another owner changes no pin"


async def test_a_host_and_its_www_are_one(store: Store) -> None:
    www, _ = await owners(store, WWW, HOST)
    assert await on(store).ownership.pin(www, WWW, HOST) == Pinned(HOST, HOST)


async def test_only_a_token_of_the_canonical_host_is_its_consent(store: Store) -> None:
    shop, api = await owners(store, SHOP, API)
    other = await owner_of(store, OTHER)
    for consent in (shop, other, Token(OWNER, api.id, secret())):
        with pytest.raises(owning.BadSetting):
            await on(store).ownership.pin(shop, SHOP, API, consent)
    assert await canonical(store) == {}


async def test_consent_ends_with_the_token_that_gave_it(store: Store) -> None:
    shop, api = await owners(store, SHOP, API)
    await on(store).ownership.pin(shop, SHOP, API, api)
    new = await on(store).ownership.rotate(api, API)
    assert await canonical(store) == {}
    assert await on(store).ownership.pin(shop, SHOP, API, new) == Pinned(API, API)
    await owner_of(store, API, client="203.0.113.8", now=NOW + HOUR)
    assert await canonical(store) == {}, "the host has another owner"


async def test_chains_and_loops_have_no_effect(store: Store) -> None:
    shop, api, apex = await owners(store, SHOP, API, HOST)
    await on(store).ownership.pin(shop, SHOP, API, api)
    await on(store).ownership.pin(api, API, HOST, apex)
    assert await canonical(store) == {API: HOST}, "a chain ends at its last host alone"
    await on(store).ownership.pin(apex, HOST, SHOP, shop)
    assert await canonical(store) == {}, "a loop has no last host"
    await on(store).ownership.pin(apex, HOST, None)
    await on(store).ownership.pin(api, API, None)
    assert await canonical(store) == {SHOP: API}, "what was in the way has ended"


async def test_a_pin_ends_when_its_canonical_host_opts_out_though_it_has_an_owner(store: Store) -> None:
    domain = await owner_of(store, HOST, "domain")
    await on(store).ownership.pin(domain, SHOP, API)
    await on(store).opt_outs.forget(API, opt_out="dns")
    assert await canonical(store) == {}
    with pytest.raises(owning.BadSetting):
        await on(store).ownership.pin(domain, SHOP, API)
