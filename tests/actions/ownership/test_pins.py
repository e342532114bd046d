"""Pins by owners: whose consent they need, and that nobody's pin blocks another owner."""

import pytest

from registry.actions.maintenance.forget import forget
from registry.actions.ownership import owning
from registry.actions.ownership.owning import Pinned
from registry.core.access.claims import OWNER
from registry.core.access.tokens import Token
from registry.store.unit_of_work import Store
from tests.actions.ownership.test_ownership import API, HOST, OTHER, SITES, owner_of, secret
from tests.actions.ownership.test_rows import owned
from tests.support.builders import HOUR, NOW, crawl
from tests.support.database import rows

WWW, SHOP = f"www.{HOST}", f"shop.{HOST}"


async def canonical(store: Store) -> dict[str, str]:
    return dict(await rows(store, "SELECT host, canonical FROM owner_settings WHERE canonical IS NOT NULL"))


async def owners(store: Store, *hosts: str) -> list[Token]:
    return [await owner_of(store, host) for host in hosts]


async def test_a_pin_without_consent_has_no_effect_and_blocks_nobody(store: Store) -> None:
    await crawl(store, SITES)
    stranger, api, apex = await owners(store, SHOP, API, HOST)
    assert await owning.pin(store, stranger, SHOP, API, now=NOW) == Pinned(API, None)
    assert await canonical(store) == {}
    assert await owning.pin(store, api, API, HOST, apex, now=NOW) == Pinned(HOST, HOST)
    assert await canonical(store) == {API: HOST}
    await owned(store)


async def test_who_owns_the_whole_domain_needs_no_further_consent(store: Store) -> None:
    domain, api = await owner_of(store, HOST, "domain"), await owner_of(store, API)
    assert await owning.pin(store, domain, API, HOST, now=NOW) == Pinned(HOST, HOST)
    await owning.set_note(store, api, API, "Moved.", now=NOW)
    assert await canonical(store) == {API: HOST}, "a note of another owner changes no pin"


async def test_a_host_and_its_www_are_one(store: Store) -> None:
    www, _ = await owners(store, WWW, HOST)
    assert await owning.pin(store, www, WWW, HOST, now=NOW) == Pinned(HOST, HOST)


async def test_only_a_token_of_the_canonical_host_is_its_consent(store: Store) -> None:
    shop, api = await owners(store, SHOP, API)
    other = await owner_of(store, OTHER)
    for consent in (shop, other, Token(OWNER, api.id, secret())):
        with pytest.raises(owning.BadSetting):
            await owning.pin(store, shop, SHOP, API, consent, now=NOW)
    assert await canonical(store) == {}


async def test_consent_ends_with_the_token_that_gave_it(store: Store) -> None:
    shop, api = await owners(store, SHOP, API)
    await owning.pin(store, shop, SHOP, API, api, now=NOW)
    new = Token(OWNER, api.id, secret())
    await owning.rotate(store, api, API, new, now=NOW)
    assert await canonical(store) == {}
    assert await owning.pin(store, shop, SHOP, API, new, now=NOW) == Pinned(API, API)
    await owner_of(store, API, client="203.0.113.8", now=NOW + HOUR)
    assert await canonical(store) == {}, "the host has another owner"


async def test_chains_and_loops_have_no_effect(store: Store) -> None:
    shop, api, apex = await owners(store, SHOP, API, HOST)
    await owning.pin(store, shop, SHOP, API, api, now=NOW)
    await owning.pin(store, api, API, HOST, apex, now=NOW)
    assert await canonical(store) == {API: HOST}, "a chain ends at its last host alone"
    await owning.pin(store, apex, HOST, SHOP, shop, now=NOW)
    assert await canonical(store) == {}, "a loop has no last host"
    await owning.pin(store, apex, HOST, None, now=NOW)
    await owning.pin(store, api, API, None, now=NOW)
    assert await canonical(store) == {SHOP: API}, "what was in the way has ended"


async def test_a_pin_ends_when_its_canonical_host_opts_out_though_it_has_an_owner(store: Store) -> None:
    domain = await owner_of(store, HOST, "domain")
    await owning.pin(store, domain, SHOP, API, now=NOW)
    await forget(store, API, now=NOW, opt_out="dns")
    assert await canonical(store) == {}
    with pytest.raises(owning.BadSetting):
        await owning.pin(store, domain, SHOP, API, now=NOW)
