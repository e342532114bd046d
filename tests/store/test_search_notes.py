"""What an index has to be told: noted by trigger, for every index, and dropped only as it was read."""

import asyncio
from datetime import timedelta

from registry.core.listing import Filters
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, NOW, adp_site, crawl

A, B = "a.com", "b.com"


async def _register(store: Store, *targets: str) -> None:
    async with store.begin() as uow:
        for target in targets:
            await uow.search.register(target, now=NOW)


async def _dirty(store: Store, target: str = "one") -> list[str]:
    async with store.begin() as uow:
        return [row.host for row in await uow.search.dirty(target, limit=100)]


async def test_every_index_is_noted_for_every_new_service(store: Store) -> None:
    await _register(store, "one", "two")
    await crawl(store, {A: adp_site(A), B: adp_site(B), "nothing.com": {}})
    assert sorted(await _dirty(store, "one")) == sorted(await _dirty(store, "two")) == [A, B]


async def test_a_new_index_has_to_be_told_everything(store: Store) -> None:
    await crawl(store, {A: adp_site(A), B: adp_site(B)})
    assert await _dirty(store) == []
    async with store.begin() as uow:
        assert await uow.search.register("one", now=NOW)
        assert not await uow.search.register("one", now=NOW)
    assert await _dirty(store) == [A, B]


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


async def test_what_was_noted_again_since_it_was_read_stays(store: Store) -> None:
    await _register(store, "one")
    await crawl(store, {A: adp_site(A), B: adp_site(B)})
    async with store.begin() as uow:
        read = await uow.search.dirty("one", limit=10)
        oldest = await uow.search.oldest("one")
    async with store.begin() as uow:
        await uow.services.hide(A, [A])
    async with store.begin() as uow:
        assert await uow.search.done("one", read) == 1
        (left,) = await uow.search.dirty("one", limit=10)
        assert (left.host, left.noted_at) == (A, oldest)


async def test_a_note_that_a_writer_holds_is_not_waited_for(store: Store) -> None:
    await _register(store, "one")
    await crawl(store, {A: adp_site(A), B: adp_site(B)})
    async with store.begin() as writer, asyncio.timeout(120):
        await writer.services.hide(A, [A])
        async with store.begin() as uow:
            assert await uow.search.done("one", await uow.search.dirty("one", limit=10)) == 1
    assert await _dirty(store) == [A]


async def test_a_note_read_before_it_was_done_and_made_anew_is_another_one(store: Store) -> None:
    await _register(store, "one")
    await crawl(store, {A: adp_site(A)})
    async with store.begin() as uow:
        stale = await uow.search.dirty("one", limit=10)
        await uow.search.done("one", stale)
        await uow.search.note("one", [(A, A)], now=NOW)
    async with store.begin() as uow:
        assert await uow.search.done("one", stale) == 0
        assert await uow.search.count("one") == 1


async def test_listings_come_back_as_they_were_made_and_in_order(store: Store) -> None:
    hosts = [f"h{number}.com" for number in range(5)]
    await crawl(store, {host: adp_site(host) for host in hosts})
    async with store.begin() as uow:
        listings = await uow.search.listings([(host, host) for host in hosts])
        page = await uow.search.all_listings(("", ""), limit=3)
        rest = await uow.search.all_listings((page[-1].domain, page[-1].host), limit=3)
        cards, total = await uow.catalogue.page(Filters(), sort="name", limit=2, offset=4)
    assert [one.host for one in (*page, *rest)] == hosts
    assert list(listings.values()) == [*page, *rest]
    assert [one.name for one in listings["h0.com"].capabilities] == ["create_parcel"]
    assert ([card.host for card in cards], total) == (["h4.com"], 5)


async def test_indexes_nobody_feeds_are_forgotten(store: Store) -> None:
    await _register(store, "one", "two")
    await crawl(store, {A: adp_site(A)})
    async with store.begin() as uow:
        await uow.search.seen("two", now=NOW + DAY)
        assert await uow.search.forget(unseen_since=NOW + timedelta(hours=1)) == ["one"]
        assert await uow.search.targets() == ["two"]
        assert await uow.search.count("one") == 0
    assert await _dirty(store, "two") == [A]
