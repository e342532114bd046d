"""Notes of pending index updates: written by a trigger for every index, and deleted only in the state that was read."""

import asyncio
from datetime import timedelta

from registry.core.model.listing import Filters
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, NOW, adp_site, crawl
from tests.support.hang import HANG_SECONDS

A, B = "a.com", "b.com"


async def _register(store: Store, *targets: str) -> None:
    async with store.begin() as uow:
        for target in targets:
            await uow.search.register(target, now=NOW)


async def _dirty(store: Store, target: str = "one") -> list[str]:
    async with store.begin() as uow:
        return [row.host for row in await uow.search.dirty(target, limit=100)]


async def test_a_new_service_is_noted_for_every_index(store: Store) -> None:
    await _register(store, "one", "two")
    await crawl(store, {A: adp_site(A), B: adp_site(B), "nothing.com": {}})
    assert sorted(await _dirty(store, "one")) == sorted(await _dirty(store, "two")) == [A, B]


async def test_a_new_index_gets_a_note_for_every_service(store: Store) -> None:
    await crawl(store, {A: adp_site(A), B: adp_site(B)})
    assert await _dirty(store) == []
    async with store.begin() as uow:
        assert await uow.search.register("one", now=NOW)
        assert not await uow.search.register("one", now=NOW)
    assert await _dirty(store) == [A, B]


async def test_a_service_that_changes_only_where_no_index_looks_is_noted_for_its_date(store: Store) -> None:
    await crawl(store, {A: adp_site(A), B: adp_site(B)})
    await _register(store, "one")
    async with store.begin() as uow:
        await uow.search.done("one", await uow.search.dirty("one", limit=10))
    async with store.engine.begin() as connection:
        await connection.exec_driver_sql(f"UPDATE services SET updated_at = now() WHERE host = '{B}'")
    assert await _dirty(store) == [B]


async def test_deleting_and_hiding_are_noted_other_updates_are_not(store: Store) -> None:
    await crawl(store, {A: adp_site(A), B: adp_site(B)})
    await _register(store, "one")
    async with store.begin() as uow:
        await uow.search.done("one", await uow.search.dirty("one", limit=10))
    async with store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE services SET seen_at = now(), crawl_failures = 2, hidden = hidden")
    assert await _dirty(store) == []
    async with store.begin() as uow:
        assert await uow.services.hide(A, [A]) == [A]
        await uow.services.remove([(B, B)])
    assert sorted(await _dirty(store)) == [A, B]
    async with store.begin() as uow:
        assert await uow.search.listings([(A, A), (B, B)]) == {}


async def test_a_note_is_written_with_the_write_or_not_at_all(store: Store) -> None:
    await crawl(store, {A: adp_site(A)})
    await _register(store, "one")
    async with store.begin() as uow:
        await uow.search.done("one", await uow.search.dirty("one", limit=10))
    try:
        async with store.begin() as uow:
            await uow.services.hide(A, [A])
            raise InterruptedError
    except InterruptedError:
        pass
    assert await _dirty(store) == []


async def test_a_note_renewed_since_it_was_read_is_kept(store: Store) -> None:
    await _register(store, "one")
    await crawl(store, {A: adp_site(A), B: adp_site(B)})
    async with store.begin() as uow:
        notes = await uow.search.dirty("one", limit=10)
        oldest = await uow.search.oldest("one")
    async with store.begin() as uow:
        await uow.services.hide(A, [A])
    async with store.begin() as uow:
        assert await uow.search.done("one", notes) == 1
        (remaining_note,) = await uow.search.dirty("one", limit=10)
        assert (remaining_note.host, remaining_note.noted_at) == (A, oldest)


async def test_a_note_locked_by_a_writer_is_skipped(store: Store) -> None:
    await _register(store, "one")
    await crawl(store, {A: adp_site(A), B: adp_site(B)})
    async with store.begin() as writer, asyncio.timeout(HANG_SECONDS):
        await writer.services.hide(A, [A])
        async with store.begin() as uow:
            assert await uow.search.done("one", await uow.search.dirty("one", limit=10)) == 1
    assert await _dirty(store) == [A]


async def test_a_new_note_is_not_deleted_by_an_older_read(store: Store) -> None:
    await _register(store, "one")
    await crawl(store, {A: adp_site(A)})
    async with store.begin() as uow:
        stale = await uow.search.dirty("one", limit=10)
        await uow.search.done("one", stale)
        await uow.search.note("one", [(A, A)], now=NOW)
    async with store.begin() as uow:
        assert await uow.search.done("one", stale) == 0
        assert await uow.search.count("one") == 1


async def test_listings_are_read_back_complete_and_in_order(store: Store) -> None:
    hosts = [f"h{number}.com" for number in range(5)]
    await crawl(store, {host: adp_site(host) for host in hosts})
    async with store.begin() as uow:
        listings = await uow.search.listings([(host, host) for host in hosts])
        page = await uow.search.all_listings(("", ""), limit=3)
        next_page = await uow.search.all_listings((page[-1].domain, page[-1].host), limit=3)
        last_page = await uow.catalogue.page(Filters(), sort="name", limit=2, offset=4)
    assert [listing.host for listing in (*page, *next_page)] == hosts
    assert listings == {listing.host: listing for listing in (*page, *next_page)}
    assert [capability.name for capability in listings["h0.com"].capabilities] == ["create_parcel"]
    assert ([card.host for card in last_page.items], last_page.total) == (["h4.com"], 5)


async def test_indexes_without_updates_are_forgotten(store: Store) -> None:
    await _register(store, "one", "two")
    await crawl(store, {A: adp_site(A)})
    async with store.begin() as uow:
        await uow.search.seen("two", now=NOW + DAY)
        assert await uow.search.forget(unseen_since=NOW + timedelta(hours=1)) == ["one"]
        assert await uow.search.targets() == ["two"]
        assert await uow.search.count("one") == 0
    assert await _dirty(store, "two") == [A]
