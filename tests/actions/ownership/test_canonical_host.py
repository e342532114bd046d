"""A host whose owner lets another one stand for it is in no index while that one is listed."""

from registry.core.access.tokens import Token
from registry.core.model.listing import Query
from registry.search.embedded import EmbeddedBackend
from registry.store.unit_of_work import Store
from tests.actions.ownership.test_ownership import API, HOST, OTHER, SITES, listed, owner_of
from tests.support.builders import crawl, on


async def pinned(store: Store, backend: EmbeddedBackend) -> tuple[Token, Token]:
    """Let HOST stand for API, after all are in the index. Return the owners' tokens of API and of HOST."""
    await crawl(store, SITES)
    await on(store, backend=backend).search.drain()
    apex, owner = await owner_of(store, HOST), await owner_of(store, API)
    await on(store).ownership.pin(owner, API, HOST, apex)
    return owner, apex


async def found(store: Store, backend: EmbeddedBackend, text: str = "") -> list[str]:
    await on(store, backend=backend).search.drain()
    verified = await on(store, backend=backend).search.verify_index()
    assert not verified.wrong, verified
    return [hit.card.host for hit in (await on(store, backend=backend).search.discover(Query(text))).hits]


async def alike(store: Store, backend: EmbeddedBackend) -> dict[str, tuple[tuple[str, ...], int]]:
    await on(store, backend=backend).search.drain()
    return {
        hit.card.host: (hit.alike, hit.hit.alike_total)
        for hit in (await on(store, backend=backend).search.discover(Query(""))).hits
    }


async def test_the_canonical_host_stands_for_the_other_one(store: Store, backend: EmbeddedBackend) -> None:
    owner, _ = await pinned(store, backend)
    assert await alike(store, backend) == {HOST: ((API,), 1), OTHER: ((), 0)}
    assert set(await found(store, backend)) == {HOST, OTHER}
    assert await listed(store) == sorted((HOST, API, OTHER)), "it is listed as before"
    await on(store).ownership.pin(owner, API, None)
    assert set(await found(store, backend)) == {HOST, API, OTHER}


async def test_the_other_one_returns_while_the_canonical_host_is_not_listed(
    store: Store, backend: EmbeddedBackend
) -> None:
    await pinned(store, backend)
    assert set(await found(store, backend)) == {HOST, OTHER}
    await on(store).access.hold(HOST, "quarantined", actor="test", reason="", covers_below=False)
    assert set(await found(store, backend)) == {API, OTHER}
    await on(store).access.release(HOST, "quarantined", actor="test", reason="")
    assert set(await found(store, backend)) == {HOST, OTHER}


async def test_the_other_one_returns_when_an_ownership_ends(store: Store, backend: EmbeddedBackend) -> None:
    _, apex = await pinned(store, backend)
    assert set(await found(store, backend)) == {HOST, OTHER}
    await on(store).ownership.give_up(apex, HOST)
    assert set(await found(store, backend)) == {HOST, API, OTHER}


async def test_who_asks_for_the_other_one_by_name_gets_the_canonical_host(
    store: Store, backend: EmbeddedBackend
) -> None:
    await pinned(store, backend)
    assert (await found(store, backend, f"https://{API}/"))[0] == HOST


async def test_a_rebuilt_index_leaves_it_out_too(store: Store, backend: EmbeddedBackend) -> None:
    await pinned(store, backend)
    await on(store, backend=backend).search.reindex()
    assert set(await found(store, backend)) == {HOST, OTHER}
