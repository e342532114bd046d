"""Discover returns cards from the database in the order of the ranker, whatever the state of the index."""

import base64
from dataclasses import replace
from datetime import date
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.actions.queries.discover import MAX_DEPTH, DiscoverPage, SearchActions, is_confident, ranked
from registry.core.model.listing import (
    Filters,
    ListedCapability,
    Query,
    SearchUnavailable,
    StaleCursor,
    TrustLevel,
)
from registry.core.ranking import ParsedQuery, explain
from registry.core.ranking.spelling import Suggestions
from registry.core.search_filters import FACETS
from registry.search.backend import Pool
from registry.search.embedded import EmbeddedBackend
from registry.store.facets import FACET_COLUMNS
from registry.store.unit_of_work import Store
from tests.actions.catalogue import fill, put, remove
from tests.search.contract import MAIL, MAPS, SHOP
from tests.search.listings import listing


def hosts(page: DiscoverPage) -> list[str]:
    return [hit.card.host for hit in page.hits]


async def test_before_the_first_build_search_is_unavailable(search: SearchActions) -> None:
    for text in ("email", "", "!!!"):
        with pytest.raises(SearchUnavailable):
            await search.discover(Query(text))


async def test_a_hit_has_its_card_its_matching_capabilities_and_their_terms(search: SearchActions) -> None:
    await fill(search, MAIL, SHOP, MAPS)
    page = await search.discover(Query("I want to send an email"))
    (hit,) = page.hits
    assert (hit.card.host, hit.card.name, hit.card.cap_count) == ("mail.example", "Mailer", 2)
    assert hit.relevance > 0
    assert hit.matched_terms == ("send", "email")
    (capability,) = hit.capabilities
    assert (capability.name, capability.description) == ("send_email", "Sends one message")
    assert (capability.matched_terms, capability.cover) == (("send", "email"), 1.0)
    assert (page.total, page.next_cursor) == (1, None)


async def test_a_match_of_the_service_text_alone_has_no_capabilities(search: SearchActions) -> None:
    await fill(search, MAIL, SHOP)
    page = await search.discover(Query("stamps"))
    assert [(hit.card.host, hit.capabilities) for hit in page.hits] == [("shop.example", ())]


async def test_blank_text_lists_services_by_score(search: SearchActions) -> None:
    await fill(search, *[listing(f"{name}.example", score=score) for name, score in (("a", 5), ("b", 90), ("c", 90))])
    page = await search.discover(Query("  "))
    assert hosts(page) == ["b.example", "c.example", "a.example"]
    assert page.hits[0].capabilities == ()


@pytest.mark.parametrize("text", ["!!!", "\x00", "🦊", "unheardof"])
async def test_a_text_without_matches_has_no_hits(search: SearchActions, text: str) -> None:
    await fill(search, MAIL)
    page = await search.discover(Query(text))
    assert (page.hits, page.total, page.next_cursor) == ((), 0, None)
    assert page.generation == (await search.discover(Query("email"))).generation


async def test_filters_select_hits(search: SearchActions) -> None:
    await fill(
        search,
        listing("a.example", "Weather", formats=("adp",)),
        listing("b.example", "Weather", formats=("awp",)),
        listing("c.example", "Weather", trust_level=TrustLevel.UNVERIFIED),
    )
    assert hosts(await search.discover(Query("weather"))) == ["a.example", "b.example"]
    page = await search.discover(Query("weather", filters=Filters(include_unverified=True, formats=("adp",))))
    assert hosts(page) == ["a.example", "c.example"]


async def test_pages_follow_one_another_without_gap_or_repeat(search: SearchActions) -> None:
    await fill(search, *[listing(f"h{n:02}.example", "Weather", score=n % 7) for n in range(23)])
    for text in ("weather", ""):
        all_hosts = hosts(await search.discover(Query(text, limit=50)))
        assert len(all_hosts) == 23
        paged_hosts: list[str] = []
        cursor: str | None = None
        for _ in range(5):
            page = await search.discover(Query(text, limit=5), cursor)
            assert page.total == 23
            paged_hosts += hosts(page)
            cursor = page.next_cursor
        assert (paged_hosts, cursor) == (all_hosts, None)
        assert hosts(await search.discover(Query(text, limit=4, offset=9))) == all_hosts[9:13]


async def test_removed_and_hidden_services_are_left_out_and_the_page_is_filled(
    store: Store, search: SearchActions
) -> None:
    """The index still holds all of them."""
    services = [listing(f"h{n}.example", "Weather", ("now", "weather now")) for n in range(8)]
    await fill(search, *services)
    await remove(store, services[0], services[3])
    await put(store, services[1], hidden=True)
    await put(store, listing("h2.example", "Weather", trust_level=TrustLevel.UNVERIFIED))
    page = await search.discover(Query("weather", limit=3))
    assert hosts(page) == ["h4.example", "h5.example", "h6.example"]
    next_page = await search.discover(Query("weather", limit=3), page.next_cursor)
    assert (hosts(next_page), next_page.next_cursor) == (["h7.example"], None)


async def test_texts_come_from_the_database(store: Store, search: SearchActions) -> None:
    await fill(search, MAIL)
    await put(store, listing("mail.example", "Renamed", ("send_email", "Another text")))
    (hit,) = (await search.discover(Query("send email"))).hits
    assert hit.card.name == "Renamed"
    assert [capability.description for capability in hit.capabilities] == ["Another text"]
    await put(store, listing("mail.example", "Renamed", "other"))
    (hit,) = (await search.discover(Query("send email"))).hits
    assert hit.capabilities == ()


async def test_a_cursor_stays_valid_after_a_commit_but_not_after_a_rebuild(search: SearchActions) -> None:
    await fill(search, *[listing(f"h{n}.example", "Weather") for n in range(4)])
    first = await search.discover(Query("weather", limit=2))
    await fill(search, MAIL)
    second = await search.discover(Query("weather", limit=2), first.next_cursor)
    assert hosts(first) + hosts(second) == [f"h{n}.example" for n in range(4)]
    assert second.generation != first.generation
    await search.reindex()
    with pytest.raises(StaleCursor, match="rebuilt"):
        await search.discover(Query("weather", limit=2), first.next_cursor)


async def test_a_cursor_belongs_to_its_query(search: SearchActions) -> None:
    await fill(search, *[listing(f"h{n}.example", "Weather") for n in range(4)])
    cursor = (await search.discover(Query("weather", limit=2))).next_cursor
    assert cursor
    assert hosts(await search.discover(Query("The WEATHER?", limit=2), cursor)) == [
        "h2.example",
        "h3.example",
    ]
    for other_query in (Query("rain"), Query(""), Query("weather", filters=Filters(min_score=1))):
        with pytest.raises(StaleCursor, match="another query"):
            await search.discover(other_query, cursor)


async def test_changes_between_two_pages_neither_repeat_nor_skip_hits(store: Store, search: SearchActions) -> None:
    await fill(search, *[listing(f"h{n}.example", "Weather", score=50) for n in range(2, 6)])
    first = await search.discover(Query("weather", limit=2))
    await fill(search, listing("h0.example", "Weather", score=90), listing("h1.example", "Weather", score=90))
    second = await search.discover(Query("weather", limit=2), first.next_cursor)
    assert hosts(first) + hosts(second) == ["h2.example", "h3.example", "h4.example", "h5.example"]
    await remove(store, listing("h3.example"))
    await search.drain()
    third = await search.discover(Query("weather", limit=2), first.next_cursor)
    assert hosts(third) == ["h2.example", "h4.example"]  # none is skipped although the last one shown is gone


async def test_filters_on_capabilities_also_select_the_capabilities_shown(search: SearchActions) -> None:
    read_mail = ListedCapability("read_mail", "Reads an email", False, ("mail:read",))
    send_mail = ListedCapability("send_mail", "Sends an email", True, ("mail:send",))
    sent = replace(send_mail, callability="true")
    await fill(
        search,
        listing("both.example", "Mail", capabilities=(read_mail, sent)),
        listing("mute.example", "Mail", capabilities=(ListedCapability("send_mail", "Sends an email"),)),
        listing(
            "mixed.example",
            "Mail",
            capabilities=(replace(read_mail, side_effects=True), replace(send_mail, side_effects=None)),
        ),
    )

    async def capabilities_by_host(**filters: Any) -> dict[str, list[str]]:
        page = await search.discover(Query("send an email", filters=Filters(**filters)))
        return {hit.card.host: [capability.name for capability in hit.capabilities] for hit in page.hits}

    assert (await capabilities_by_host())["both.example"][0] == "send_mail"
    assert await capabilities_by_host(side_effects=("false",)) == {"both.example": ["read_mail"]}
    assert await capabilities_by_host(side_effects=("true",)) == {
        "both.example": ["send_mail"],
        "mixed.example": ["read_mail"],
    }
    unknown = {"mute.example": ["send_mail"], "mixed.example": ["send_mail"]}
    assert await capabilities_by_host(side_effects=("unknown",)) == unknown
    assert (await capabilities_by_host(side_effects=("true", "unknown"))).keys() == {*unknown, "both.example"}
    assert await capabilities_by_host(side_effects=("true",), semantic_types=("mail:send",)) == {
        "both.example": ["send_mail"]
    }
    assert await capabilities_by_host(side_effects=("false",), semantic_types=("mail:send",)) == {}
    assert await capabilities_by_host(callability=("true",)) == {"both.example": ["send_mail"]}
    assert await capabilities_by_host(callability=("true",), side_effects=("false",)) == {}


async def test_a_page_of_no_rows_has_no_cursor(search: SearchActions) -> None:
    await fill(search, listing("a.example", "Mail"), listing("b.example", "Mail"))
    page = await search.discover(Query("mail", limit=0))
    assert (page.hits, page.total, page.next_cursor) == ((), 2, None)
    assert (await search.discover(Query("mail", limit=1))).next_cursor is not None


async def test_other_sort_orders_apply_to_relevant_hits_only(search: SearchActions) -> None:
    await fill(
        search,
        listing("good.example", "Weather: forecast", score=70, seen_on=date(2026, 11, 1)),
        listing("new.example", "Weather: forecast of tomorrow", score=60, seen_on=date(2026, 11, 20)),
        listing("other.example", "Stock prices and much else of the world of tomorrow", score=99),
    )
    text = "Where can I see tomorrow's weather?"
    assert hosts(await search.discover(Query(text)))[0] == "new.example"
    by_freshness = hosts(await search.discover(Query("weather", sort="freshness")))
    assert by_freshness == ["new.example", "good.example"]
    assert hosts(await search.discover(Query("weather", sort="score"))) == [
        "good.example",
        "new.example",
    ]
    first_page = await search.discover(Query("weather", 1, sort="freshness"))
    assert (
        hosts(await search.discover(Query("weather", 1, sort="freshness"), first_page.next_cursor)) == by_freshness[1:]
    )
    with pytest.raises(StaleCursor):
        await search.discover(Query("weather", 1, sort="score"), first_page.next_cursor)


async def test_facets_count_all_shown_services(store: Store, search: SearchActions) -> None:
    hidden_listing = listing("gone.example", "Weather", formats=("awp",))
    await fill(
        search,
        hidden_listing,
        listing("a.example", "Weather", formats=("adp", "mcp"), languages=("de-at", "de"), category="location"),
        listing(
            "b.example",
            "Weather",
            capabilities=(ListedCapability("x", "", True, ("a:b",)), ListedCapability("y", callability="true")),
        ),
        listing("c.example", "Something else"),
        listing("d.example", "Weather", trust_level=TrustLevel.UNVERIFIED),
    )
    await put(store, hidden_listing, hidden=True)
    page = await search.discover(Query("weather", limit=1), facets=tuple(FACETS))
    assert page.facets is not None
    assert page.facets.services == 2
    assert page.facets.counts == {
        "format": {"adp": 2, "mcp": 1},
        "auth": {"none": 2},
        "pricing": {"free": 2},
        "identity": {"host-checked": 2},
        "trust": {"verified": 2},
        "protocol": {},
        "domain": {"a.example": 1, "b.example": 1},
        "tld": {"example": 2},
        "language": {"de": 1, "de-at": 1},
        "category": {"location": 1},
        "semantic": {"a:b": 1},
        "effects": {"true": 1, "unknown": 1},
        "callable": {"true": 1, "unknown": 1},
    }
    assert (await search.discover(Query("weather"))).facets is None


def test_every_facet_of_the_engines_can_be_counted() -> None:
    assert set(FACET_COLUMNS) == set(FACETS)


async def test_a_search_without_a_confident_answer_has_suggestions(search: SearchActions) -> None:
    await fill(search, MAIL, SHOP, MAPS)
    confident_page = await search.discover(Query("send an email"))
    assert (confident_page.confident, confident_page.suggestions) == (True, None)
    unconfident_page = await search.discover(Query("bake an email cake"))
    assert (unconfident_page.confident, unconfident_page.total) == (False, 1)
    assert unconfident_page.suggestions == Suggestions(("email",), {}, False)
    filtered_page = await search.discover(Query("send an email", filters=Filters(formats=("awp",))))
    assert filtered_page.suggestions is not None
    assert (filtered_page.suggestions.known, filtered_page.suggestions.without_filters) == (("send", "email"), True)


async def test_misspelt_words_are_corrected_and_named(search: SearchActions) -> None:
    await fill(search, MAIL, SHOP, MAPS)
    page = await search.discover(Query("send an emial"))
    assert (page.confident, page.corrected) == (True, {"emial": "email"})
    (first,) = page.hits
    assert (first.card.host, first.matched_terms) == (MAIL.host, ("send", "email"))
    assert (await search.discover(Query("send an email"))).corrected == {}


async def test_the_first_answer_is_judged_not_those_after_it(search: SearchActions, backend: EmbeddedBackend) -> None:
    await fill(search, listing("speech.example", "Text to speech"), listing("text.example", "Speech to text"))
    ranking = (await ranked(backend, Query("speech to text"))).ranking
    assert ranking.hosts == ["text.example", "speech.example"]
    assert is_confident(ranking)
    turned = replace(ranking, order=ranking.order[::-1])
    assert [explain(turned, position).confident for position in (0, 1)] == [False, True]
    assert not is_confident(turned)
    assert not is_confident(replace(ranking, order=()))


async def test_total_and_facets_count_what_answers(search: SearchActions) -> None:
    near = listing("near.example", "Parcel tracking: track a parcel", ("track_parcel", "track a parcel"))
    far = [listing(f"h{n}.example", f"Shop {n}: {'anything else ' * 40} parcel") for n in range(7)]
    await fill(search, near, *far)
    page = await search.discover(Query("track a parcel"), facets=["format"])
    assert [hit.card.host for hit in page.hits] == ["near.example"]
    assert (page.total, page.next_cursor) == (1, None)
    assert page.facets is not None
    assert (page.facets.services, page.facets.counts["format"]) == (1, {"adp": 1})
    assert (await search.discover(Query(""))).total == 8


async def test_a_failing_query_for_suggestions_keeps_the_answer(
    search: SearchActions, backend: EmbeddedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(search, MAIL, SHOP, MAPS)
    candidates = backend.candidates

    async def fail_unfiltered(question: ParsedQuery, filters: Filters, limit: int) -> Pool:
        if filters == Filters():
            raise SearchUnavailable("too many searches at the moment")
        return await candidates(question, filters, limit)

    monkeypatch.setattr(backend, "candidates", fail_unfiltered)
    filtered_page = await search.discover(Query("send an email", filters=Filters(formats=("awp",))))
    assert filtered_page.suggestions is not None
    assert (filtered_page.suggestions.known, filtered_page.suggestions.without_filters) == (("send", "email"), False)


async def test_hidden_twins_are_not_named(store: Store, search: SearchActions) -> None:
    alike_services = [
        replace(listing(f"{name}.one.example", "Weather: forecast for all places"), domain="one.example")
        for name in "abc"
    ]
    await fill(search, *alike_services)
    (hit,) = (await search.discover(Query("weather"))).hits
    assert (hit.card.host, hit.alike) == ("a.one.example", ("b.one.example", "c.one.example"))
    await put(store, alike_services[1], hidden=True)
    (hit,) = (await search.discover(Query("weather"))).hits
    assert hit.alike == ("c.one.example",)


def cursor_of(value: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(value)).decode()


async def test_a_forged_cursor_is_refused(search: SearchActions) -> None:
    await fill(search, *[listing(f"h{n}.example", "Weather") for n in range(4)])
    page = await search.discover(Query("weather", limit=2))
    assert page.next_cursor
    build, digest, offset, last_host = orjson.loads(base64.urlsafe_b64decode(page.next_cursor + "=="))
    assert (offset, last_host) == (2, "h1.example")
    bad_offsets = [-1, MAX_DEPTH + 1, 1.5, "2", None, True, [2]]
    cursors = [cursor_of([build, digest, value, last_host]) for value in bad_offsets]
    cursors += [cursor_of([build, digest, 2]), cursor_of([build, digest, 2, 3]), cursor_of([build, digest, 2, None])]
    for cursor in [*cursors, "", "é", "=", "\x00", cursor_of({}), cursor_of([1]), cursor_of(None), "A" * 10_000]:
        with pytest.raises(StaleCursor):
            await search.discover(Query("weather"), cursor)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(max_size=500))
async def test_any_text_can_be_searched(search: SearchActions, text: str) -> None:
    await fill(search, MAIL, SHOP)
    page = await search.discover(Query(text))
    assert len(page.hits) <= 2
