"""The age of a copy: how long a host has offered what it offers now, from the visits of the crawler."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import text

from registry.core.model.listing import Filters, Query
from registry.search.embedded import EmbeddedBackend
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, NOW, Site, adp_site, again, changes_of, crawl, on

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

OLD, YOUNG = "oldsite.com", "pigeons.com"
WEEK = 7 * DAY
PIGEONS = {"name": "Pigeon post"}
KNIVES = {"name": "Knife shop", "description": "Sells knives of all kinds, sharpens them and sends them by mail."}


def site(host: str, members: dict[str, Any]) -> Site:
    return adp_site(host, **members)


async def since(store: Store, host: str) -> datetime | None:
    async with store.begin() as uow:
        (listing,) = (await uow.search.listings([(host, host)])).values()
    return listing.offered_since


async def answers(store: Store, backend: EmbeddedBackend, *, unique: bool = True) -> Sequence[str]:
    await on(store, backend=backend).search.drain()
    page = await on(store, backend=backend).search.discover(
        Query("parcels with couriers", filters=Filters(unique=unique))
    )
    return [hit.card.host for hit in page.hits]


async def test_the_age_begins_anew_when_a_host_changes_what_it_says(store: Store) -> None:
    await crawl(store, {OLD: site(OLD, KNIVES)})
    assert await since(store, OLD) == NOW
    await again(store, {OLD: site(OLD, KNIVES | {"pricing": {"type": "free"}})}, NOW + WEEK)
    assert await since(store, OLD) == NOW
    await again(store, {OLD: site(OLD, PIGEONS)}, NOW + 2 * WEEK)
    assert await since(store, OLD) == NOW + 2 * WEEK
    await again(store, {OLD: site(OLD, KNIVES)}, NOW + 3 * WEEK)
    assert await since(store, OLD) == NOW + 3 * WEEK


async def test_an_old_domain_that_becomes_a_copy_is_a_late_copy(store: Store, backend: EmbeddedBackend) -> None:
    await crawl(store, {OLD: site(OLD, KNIVES)})
    await crawl(store, {YOUNG: site(YOUNG, PIGEONS)}, NOW + DAY / 24)
    await again(store, {OLD: site(OLD, PIGEONS), YOUNG: site(YOUNG, PIGEONS)}, NOW + 2 * WEEK)
    assert sorted(await answers(store, backend, unique=False)) == [OLD, YOUNG]
    assert await answers(store, backend) == [YOUNG]


async def test_a_service_recorded_before_there_was_an_age_is_as_old_as_its_listing(store: Store) -> None:
    await crawl(store, {OLD: site(OLD, KNIVES)})
    async with store.engine.begin() as connection:
        await connection.execute(text("UPDATE services SET listing = listing - 'offered_since'"))
    assert await since(store, OLD) == NOW
    before = await changes_of(store, OLD)
    assert (await on(store, NOW + WEEK).maintenance.rescore()).changed == 0
    await again(store, {OLD: site(OLD, KNIVES | {"pricing": {"type": "free"}})}, NOW + 2 * WEEK)
    assert await since(store, OLD) == NOW
    assert await changes_of(store, OLD) == [*before, "service.changed"]
