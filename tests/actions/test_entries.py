"""Pages of entries that end within a service, and what changes between two pages."""

import pytest

from registry.actions.queries.discover import SearchActions
from registry.actions.queries.entries import EntryOrder, ListConditions
from registry.core.model.listing import Filters, Listing, StaleCursor
from registry.core.names.air import AirName
from registry.store.unit_of_work import Store
from tests.actions.catalogue import fill, put, remove
from tests.search.listings import listing
from tests.support.builders import on

FORMATS = ("adp", "llms-txt", "openapi", "a2a", "jwks")
ORDERED = ("a2a", "openapi", "adp")
"""The artifacts among them, in the order of their entries."""


def services(number: int) -> list[Listing]:
    return [
        listing(f"s{index}.example", f"Parcels {index}: Books parcel number {index}", formats=FORMATS)
        for index in range(number)
    ]


async def searched(
    search: SearchActions,
    limit: int,
    filters: Filters = Filters(),  # noqa: B008  (frozen)
) -> list[tuple[str, str]]:
    found, token = [], None
    while True:
        page = await search.search_entries("parcel", filters, limit=limit, token=token)
        assert len(page.entries) <= limit
        found += [(one.entry.card.host, one.entry.slug) for one in page.entries]
        token = page.next_token
        if token is None:
            return found


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7, 100])
async def test_a_search_pages_through_every_entry_once(search: SearchActions, limit: int) -> None:
    await fill(search, *services(5))
    found = await searched(search, limit)
    hosts = list(dict.fromkeys(host for host, _ in found))
    assert len(hosts) == 5
    assert found == [(host, slug) for host in hosts for slug in ORDERED]


async def test_a_filter_of_formats_chooses_entries_too(search: SearchActions) -> None:
    await fill(search, *services(3))
    found = await searched(search, 2, Filters(formats=("openapi", "jwks", "adp")))
    assert {slug for _, slug in found} == {"openapi", "adp"}
    assert len(found) == 6
    assert await searched(search, 2, Filters(formats=("jwks",))) == []


async def test_a_service_that_goes_between_two_pages_takes_nothing_else_along(
    store: Store, search: SearchActions
) -> None:
    await fill(search, *services(4))
    whole = await searched(search, 100)
    first = await search.search_entries("parcel", Filters(), limit=4)
    split = first.entries[-1].entry.card.host
    await remove(store, *(one for one in services(4) if one.host == split))
    rest, token = [], first.next_token
    while token is not None:
        page = await search.search_entries("parcel", Filters(), limit=4, token=token)
        rest += [(one.entry.card.host, one.entry.slug) for one in page.entries]
        token = page.next_token
    assert rest == [pair for pair in whole[4:] if pair[0] != split]


@pytest.mark.parametrize("order", ["host", "name", "updated"])
@pytest.mark.parametrize("limit", [1, 2, 4, 100])
async def test_a_list_pages_through_every_entry_once(store: Store, order: EntryOrder, limit: int) -> None:
    await put(store, *services(4))
    found, token = [], None
    while True:
        page = await on(store).entries.list_entries(Filters(), ListConditions(), order=order, limit=limit, token=token)
        assert page.total == (12 if token is None else None)
        found += [(one.card.host, one.slug) for one in page.entries]
        token = page.next_token
        if token is None:
            break
    hosts = sorted({host for host, _ in found}, reverse=order == "updated")
    assert found == [(host, slug) for host in hosts for slug in ORDERED]


async def test_tokens_are_bound_to_what_they_were_made_for(store: Store, search: SearchActions) -> None:
    await fill(search, *services(3))
    search_token = (await search.search_entries("parcel", Filters(), limit=1)).next_token
    list_token = (await on(store).entries.list_entries(Filters(), ListConditions(), order="host", limit=1)).next_token
    assert search_token
    assert list_token
    with pytest.raises(StaleCursor):
        await search.search_entries("weather", Filters(), limit=1, token=search_token)
    with pytest.raises(StaleCursor):
        await search.search_entries("parcel", Filters(), limit=1, token=list_token)
    with pytest.raises(StaleCursor):
        await on(store).entries.list_entries(Filters(), ListConditions(), order="name", limit=1, token=list_token)
    with pytest.raises(StaleCursor):
        await on(store).entries.list_entries(
            Filters(), ListConditions(name="x"), order="host", limit=1, token=list_token
        )


async def test_an_entry_is_one_of_a_shown_service(store: Store) -> None:
    await put(store, *services(1))
    await put(store, listing("hidden.example"), hidden=True)
    found = await on(store).entries.entry(AirName("s0.example", "a2a"))
    assert found is not None
    assert (found.slug, found.card.host) == ("a2a", "s0.example")
    for host, slug in (("s0.example", "jwks"), ("s0.example", "awp"), ("hidden.example", "adp"), ("x.example", "adp")):
        assert await on(store).entries.entry(AirName(host, slug)) is None


async def test_counts_are_of_entries(store: Store, search: SearchActions) -> None:
    await fill(search, *services(4))
    facets = {"format": 10, "host": 3, "trust": 10}
    for counts in (
        await on(store).entries.entry_counts(Filters(), facets),
        await search.entry_counts("parcel", Filters(), facets),
    ):
        assert counts.facets["format"].counts == dict.fromkeys(sorted(ORDERED), 4)
        assert (sum(counts.facets["host"].counts.values()), counts.facets["host"].others) == (9, 3)
        assert counts.facets["trust"].counts == {"verified": 12}
    narrowed = await on(store).entries.entry_counts(Filters(formats=("adp", "jwks")), {"format": 10, "host": 10})
    assert narrowed.facets["format"].counts == {"adp": 4}
    assert set(narrowed.facets["host"].counts.values()) == {1}


async def test_the_filter_of_hosts_is_exact(store: Store, search: SearchActions) -> None:
    await fill(search, *services(4))
    hosts = ("s1.example", "s3.example", "example")
    assert {host for host, _ in await searched(search, 10, Filters(hosts=hosts))} == set(hosts[:2])
    page = await on(store).entries.list_entries(Filters(hosts=hosts), ListConditions(), order="host", limit=100)
    assert {one.card.host for one in page.entries} == set(hosts[:2])
    assert await searched(search, 10, Filters(hosts=("other.example",))) == []
