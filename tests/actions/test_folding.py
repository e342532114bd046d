"""Copies on many domains are one answer: the original, with the others under `alike`."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from registry.actions.queries.discover import ALIKE, MAX_DEPTH, POOL, DiscoverPage, SearchActions
from registry.core.model.listing import Filters, Query, StaleCursor, TrustLevel
from registry.store.unit_of_work import Store
from tests.actions.catalogue import NOW, fill, put
from tests.search.folding_contract import copies_of
from tests.search.listings import listing

TEXT = "Pigeon Post: Books, prices and tracks parcels with local couriers in every town."
ORIGINAL = listing("pigeons.example", TEXT, ("track_parcel", "Says where a parcel is"), offered_since=NOW)
COPIES = copies_of(ORIGINAL, 39)
STAMPS = listing("stamps.example", "Stamp Shop: Sells stamps for letters, and helps to track every parcel")
QUESTION = "track a parcel"


async def ask(
    search: SearchActions, text: str = QUESTION, *, limit: int = 10, facets: Sequence[str] = (), **filters: object
) -> DiscoverPage:
    return await search.discover(Query(text, limit, filters=Filters(**filters)), facets=facets)  # type: ignore[arg-type]


def hosts(page: DiscoverPage) -> list[str]:
    return [hit.card.host for hit in page.hits]


async def test_forty_domains_with_one_manifest_are_one_row(search: SearchActions) -> None:
    await fill(search, *COPIES, ORIGINAL, STAMPS)
    page = await ask(search, facets=("tld", "trust"))
    assert (hosts(page), page.total, page.next_cursor) == (["pigeons.example", "stamps.example"], 2, None)
    first, second = page.hits
    assert (first.alike, first.hit.alike_total) == (tuple(copy.host for copy in COPIES[:ALIKE]), 39)
    assert first.alike_of_others == first.alike
    assert (second.alike, second.hit.alike_total) == ((), 0)
    assert page.facets is not None
    assert (page.facets.services, page.facets.counts) == (2, {"tld": {"example": 2}, "trust": {"verified": 2}})


async def test_all_copies_have_rows_if_asked_for(search: SearchActions) -> None:
    await fill(search, *COPIES, ORIGINAL)
    page = await ask(search, limit=50, unique=False)
    assert (sorted(hosts(page)), page.total) == (sorted(copy.host for copy in (*COPIES, ORIGINAL)), 40)
    assert {hit.hit.alike_total for hit in page.hits} == {0}


async def test_more_copies_than_candidates_leave_the_other_answers(search: SearchActions) -> None:
    await fill(search, *copies_of(ORIGINAL, 3 * POOL), ORIGINAL, STAMPS)
    page = await ask(search)
    assert (hosts(page), page.total) == (["pigeons.example", "stamps.example"], 2)
    few = await ask(search, tlds=("example",), domains=("stamps.example", "copy007.example", "copy008.example"))
    assert hosts(few) == ["copy007.example", "stamps.example"]


async def test_browsing_counts_and_shows_folded_rows(search: SearchActions) -> None:
    await fill(search, *COPIES, ORIGINAL, STAMPS)
    page = await ask(search, "")
    assert (sorted(hosts(page)), page.total) == (["pigeons.example", "stamps.example"], 2)
    assert (await ask(search, "", unique=False)).total == 41


@pytest.mark.parametrize(
    "changes",
    [{"score": 100}, {"keywords": ("track", "a parcel", "track a parcel")}, {"formats": ("adp", "a2a")}],
    ids=["score", "relevance", "formats"],
)
async def test_a_late_copy_never_replaces_the_original(search: SearchActions, changes: dict[str, object]) -> None:
    late = replace(ORIGINAL, host="a.example", domain="a.example", offered_since=NOW + timedelta(1), **changes)  # type: ignore[arg-type]
    await fill(search, late, ORIGINAL)
    for text in (QUESTION, "", "track a parcel parcel", TEXT):
        assert hosts(await ask(search, text)) == ["pigeons.example"]


async def test_a_late_copy_that_is_better_proven_stands_beside_the_original(search: SearchActions) -> None:
    original = replace(ORIGINAL, trust_level=TrustLevel.COMMUNITY)
    await fill(search, *COPIES, original)
    page = await ask(search)
    assert sorted(hosts(page)) == ["copy000.example", "pigeons.example"]
    assert sorted(hit.hit.alike_total for hit in page.hits) == [0, 38]


async def test_an_original_that_is_hidden_or_no_longer_verified_gives_way(store: Store, search: SearchActions) -> None:
    await fill(search, *COPIES[:2], ORIGINAL)
    await fill(search, replace(ORIGINAL, trust_level=TrustLevel.UNVERIFIED))
    assert hosts(await ask(search)) == ["copy000.example"]
    assert sorted(hosts(await ask(search, include_unverified=True))) == ["copy000.example", "pigeons.example"]
    await fill(search, ORIGINAL)
    assert hosts(await ask(search)) == ["pigeons.example"]
    await put(store, ORIGINAL, hidden=True)
    await search.drain()
    assert hosts(await ask(search)) == ["copy000.example"]


@pytest.mark.parametrize(
    "text",
    ["copy007.example", "COPY007.EXAMPLE.", "what is https://copy007.example/agent.json?", "copy007", "Copy007"],
)
async def test_a_copy_is_found_by_its_own_name(search: SearchActions, text: str) -> None:
    await fill(search, *COPIES, ORIGINAL, STAMPS)
    page = await ask(search, text)
    assert hosts(page)[0] == "copy007.example"
    assert len(set(hosts(page))) == len(hosts(page)) == page.total
    if "." in text:
        assert (page.confident, page.corrected) == (True, {})
    assert {hit.hit.alike_total for hit in page.hits if hit.card.host == "pigeons.example"} <= {38}


async def test_the_hosts_of_a_named_domain_are_found(search: SearchActions) -> None:
    api = replace(COPIES[0], host="api.copy007.example", domain="copy007.example")
    await fill(search, *COPIES, ORIGINAL, api)
    assert set(hosts(await ask(search, "copy007.example"))[:2]) == {"copy007.example", "api.copy007.example"}
    assert hosts(await ask(search, "api.copy007.example"))[0] == "api.copy007.example"


async def test_a_label_named_in_a_question_does_not_lift_the_rank(search: SearchActions) -> None:
    squatter = listing("parcels.example", "Anything: Sells anything but what this is about, at any price, to anybody")
    await fill(search, ORIGINAL, STAMPS, squatter)
    assert hosts(await ask(search, "parcels")) == ["pigeons.example", "stamps.example", "parcels.example"]


async def test_a_domain_named_like_a_misspelt_word_does_not_prevent_the_correction(search: SearchActions) -> None:
    squatter = listing("parcle.example", "Anything: Sells anything but what this is about, at any price, to anybody")
    await fill(search, ORIGINAL, squatter)
    for text in ("track a parcle", "parcle"):
        page = await ask(search, text)
        assert (page.corrected, hosts(page)[0]) == ({"parcle": "parcel"}, "pigeons.example")
    assert hosts(await ask(search, "parcle")) == ["pigeons.example", "parcle.example"]


async def test_many_domains_of_the_same_label_do_not_undo_the_folding(search: SearchActions) -> None:
    squatters = [
        replace(copy, host=f"parcel.tld{number}", domain=f"parcel.tld{number}") for number, copy in enumerate(COPIES)
    ]
    await fill(search, *squatters, ORIGINAL, STAMPS)
    page = await ask(search, "parcel")
    assert sum(host.startswith("parcel.") for host in hosts(page)) == 5
    assert {"pigeons.example", "stamps.example"} <= set(hosts(page))
    assert sorted(hosts(await ask(search, "send a parcel"))) == ["pigeons.example", "stamps.example"]


async def test_a_filter_for_the_domain_of_a_copy_shows_it(search: SearchActions) -> None:
    await fill(search, *COPIES, ORIGINAL)
    for text in (QUESTION, ""):
        page = await ask(search, text, domains=("copy007.example",))
        assert (hosts(page), page.total) == (["copy007.example"], 1)


async def test_a_cursor_belongs_to_the_folded_or_the_full_answer(search: SearchActions) -> None:
    await fill(search, *COPIES, ORIGINAL)
    cursor = (await ask(search, limit=5, unique=False)).next_cursor
    assert cursor is not None
    with pytest.raises(StaleCursor):
        await search.discover(Query(QUESTION, 5), cursor)


@pytest.mark.parametrize("seed", range(6))
async def test_paging_through_everything_repeats_and_loses_nothing(search: SearchActions, seed: int) -> None:
    dice = random.Random(seed)
    originals = [
        replace(
            ORIGINAL, host=f"o{n}.example", domain=f"o{n}.example", description=f"{ORIGINAL.description} {word} {n}"
        )
        for n, word in enumerate(("dove", "raven", "heron", "crane", "stork", "finch", "robin", "swift"))
    ]
    listings = [
        replace(
            dice.choice(originals),
            host=f"h{n}.d{n % 50}.example",
            domain=f"d{n % 50}.example",
            offered_since=NOW + timedelta(dice.randrange(5)),
            trust_level=dice.choice(list(TrustLevel)),
            score=dice.randrange(100),
        )
        for n in range(90)
    ]
    await fill(search, *listings)
    text, unverified = dice.choice((QUESTION, "", "parcels of couriers")), dice.random() < 0.5
    query = Query(text, dice.randrange(1, 7), filters=Filters(include_unverified=unverified))
    expected = {copy.description for copy in listings if unverified or copy.trust_level is not TrustLevel.UNVERIFIED}
    cursor: str | None = None
    pages: list[DiscoverPage] = []
    while not pages or cursor:
        pages.append(await search.discover(query, cursor))
        cursor = pages[-1].next_cursor
    rows = [hit for page in pages for hit in page.hits]
    assert {page.total for page in pages} == {len(rows)}
    assert len({hit.card.host for hit in rows}) == len(rows) <= MAX_DEPTH
    assert {hit.card.description for hit in rows} == expected
    assert len(rows) <= 3 * len(expected)
    assert not {hit.card.host for hit in rows} & {host for hit in rows for host in hit.alike}
    assert len(rows) + sum(hit.hit.alike_total for hit in rows) == sum(
        unverified or copy.trust_level is not TrustLevel.UNVERIFIED for copy in listings
    )
