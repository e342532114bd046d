"""What every search backend must do. A test class per engine inherits this and defines the fixture `backend`."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from registry.core.model.listing import Filters, ListedCapability, Listing, SearchUnavailable, TrustLevel
from registry.core.ranking import CorpusStats, ParsedQuery, explain, make_record, parse_query, rank
from registry.core.ranking.spelling import corrections
from registry.core.wording.text import query_terms, stems
from registry.search.backend import Backend, IndexState, Pool, WriterBusy, make_document
from tests.search.listings import listing
from tests.support.candidates import Candidate, count_corpus, side_by_side

HOSTILE_TERMS = [
    "\x00", " ", "", "\ud800", "a" * 1_000, "*", "host:x", '"', "\\", "(", "-x", "AND", "é", "日本語", "🦊",
    "text:*", "[a TO z]", "\u202e", "x\ny",
]  # fmt: skip

UPDATED = datetime(2026, 11, 20, 7, 30, 0, 123_456, tzinfo=UTC)

SHOP = listing("shop.example", "Parcel Shop: sells stamps", ("ship_parcel", "Ships a parcel abroad"))
MAIL = listing("mail.example", "Mailer: sends email", ("send_email", "Sends one message"), "listInbox")
MAPS = listing("maps.example", "Atlas: finds a route between two places", ("route", "Fastest way by car"))


async def fill(backend: Backend, listings: Iterable[Listing]) -> None:
    async with backend.build() as build:
        await build.add([make_document(service) for service in listings])
        await build.swap()


async def upsert(backend: Backend, *listings: Listing) -> int:
    written = await backend.upsert([make_document(service) for service in listings])
    await backend.commit()
    return written


async def pool(backend: Backend, text: str, **filters: Any) -> Pool:
    return await backend.candidates(parse_query(text), Filters(**filters), 200)


async def found(backend: Backend, text: str, **filters: object) -> list[str]:
    return sorted((await pool(backend, text, **filters)).candidates.hosts)


def stats_of(listings: Iterable[Listing]) -> CorpusStats:
    return count_corpus(make_record(service) for service in listings)


def any_of(*terms: str) -> ParsedQuery:
    """Return a query of exactly these terms, without the tokeniser."""
    return ParsedQuery(" ".join(terms), {term: term for term in terms})


class BackendContract:
    async def test_without_an_index_search_is_unavailable_and_never_empty(self, backend: Backend) -> None:
        assert (await backend.health()).state is IndexState.MISSING
        with pytest.raises(SearchUnavailable):
            await pool(backend, "email")
        with pytest.raises(SearchUnavailable):
            await upsert(backend, MAIL)

    async def test_a_service_is_found_by_any_of_its_texts(self, backend: Backend) -> None:
        await fill(backend, [SHOP, MAIL, MAPS])
        assert await found(backend, "stamps") == ["shop.example"]
        assert await found(backend, "fastest") == ["maps.example"]
        assert await found(backend, "I need to see my inbox, please") == ["mail.example"]
        assert await found(backend, "listinbox") == ["mail.example"]
        assert await found(backend, "route parcels") == ["maps.example", "shop.example"]
        assert await found(backend, "unheard") == []

    async def test_candidates_carry_what_the_ranker_needs(self, backend: Backend) -> None:
        await fill(backend, [SHOP, MAIL, MAPS])
        answer = await pool(backend, "send an email")
        candidates, expected = answer.candidates, side_by_side([Candidate("mail.example", 50, make_record(MAIL))])
        assert (candidates.hosts, candidates.scores.tolist()) == (["mail.example"], [50])
        for column in ("lengths", "term_starts", "terms", "counts", "row_starts", "scales", "spreads"):
            assert np.array_equal(getattr(candidates, column), getattr(expected, column)), column
        assert candidates.capabilities(0).encode() == expected.capabilities(0).encode()
        assert answer.stats == stats_of([SHOP, MAIL, MAPS])
        assert answer.matching == 1

    async def test_misspelt_words_are_corrected_alike(self, backend: Backend) -> None:
        await fill(backend, [SHOP, MAIL, MAPS])
        stats = (await pool(backend, "stmaps")).stats
        assert corrections(parse_query("stmaps by emial"), stats, None) == {"stmaps": "stamps", "emial": "email"}

    async def test_without_terms_the_highest_scores_are_candidates(self, backend: Backend) -> None:
        await fill(backend, [listing(f"h{score}.example", score=score) for score in (3, 100, 0, 40)])
        answer = await backend.candidates(parse_query(" "), Filters(), 2)
        assert sorted(answer.candidates.scores.tolist()) == [40, 100]
        assert answer.matching == 4

    async def test_the_pool_is_bounded_and_the_matches_are_counted(self, backend: Backend) -> None:
        await fill(backend, [listing(f"h{n}.example", "Weather") for n in range(40)])
        answer = await backend.candidates(parse_query("weather"), Filters(), 7)
        assert (len(answer.candidates), answer.matching) == (7, 40)

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ({}, ["a.example", "b.example"]),
            ({"include_unverified": True}, ["a.example", "b.example", "c.example"]),
            ({"formats": ("awp",)}, ["b.example"]),
            ({"formats": ("awp", "adp")}, ["a.example", "b.example"]),
            ({"auth_types": ("oauth2",)}, ["b.example"]),
            ({"pricing_types": ("paid",)}, ["a.example"]),
            ({"protocols": ("mcp",)}, ["a.example"]),
            ({"min_score": 61}, ["b.example"]),
            ({"min_score": 60}, ["a.example", "b.example"]),
            ({"min_score": -5}, ["a.example", "b.example"]),
            ({"max_score": 60}, ["a.example"]),
            ({"min_score": 61, "max_score": 79}, []),
            ({"min_score": 61, "max_score": 80}, ["b.example"]),
            ({"min_score": 80, "max_score": 60}, []),
            ({"trust_levels": (TrustLevel.UNVERIFIED,)}, ["c.example"]),
            ({"side_effects": ("true",)}, ["a.example"]),
            ({"side_effects": ("false",)}, ["a.example", "b.example"]),
            ({"side_effects": ("unknown",)}, ["b.example"]),
            ({"side_effects": ("true", "unknown")}, ["a.example", "b.example"]),
            ({"callability": ("true",)}, ["a.example"]),
            ({"callability": ("false",)}, ["b.example"]),
            ({"callability": ("unknown",)}, ["a.example", "b.example"]),
            ({"auth_types": ("unknown",)}, ["a.example"]),
            ({"pricing_types": ("unknown",)}, ["b.example"]),
            ({"pricing_types": ("free",)}, []),
            ({"semantic_types": ("weather:forecast", "mail:send")}, ["b.example"]),
            ({"domains": ("b.example",)}, ["b.example"]),
            ({"tlds": ("example",), "formats": ("adp",)}, ["a.example"]),
            ({"tlds": ("org",)}, []),
            ({"languages": ("de",)}, ["b.example"]),
            ({"categories": ("location", "email")}, ["a.example"]),
            ({"categories": ("other",)}, []),
            ({"seen_since": date(2026, 11, 20)}, ["a.example"]),
            ({"seen_since": date(2026, 11, 21)}, []),
            ({"seen_since": date(1900, 1, 1)}, ["a.example", "b.example"]),
            ({"updated_after": UPDATED}, ["a.example"]),
            ({"updated_after": UPDATED + timedelta(microseconds=1)}, []),
            ({"updated_after": datetime(1900, 1, 1, tzinfo=UTC)}, ["a.example", "b.example"]),
            ({"updated_after": datetime(9_000, 1, 1, tzinfo=UTC)}, []),
            ({"formats": ("adp",), "auth_types": ("oauth2",)}, []),
            ({"formats": ('adp" OR "', "*", "")}, []),
        ],
    )
    @pytest.mark.parametrize("text", ["weather", ""])
    async def test_filters_narrow_inside_the_query(
        self, backend: Backend, filters: dict[str, object], expected: list[str], text: str
    ) -> None:
        await fill(
            backend,
            [
                listing(
                    "a.example", "Weather", score=60, auth_type="unknown", pricing_type="paid",
                    protocols=("adp", "mcp"),
                    capabilities=(
                        ListedCapability("read", "", False, callability="true"), ListedCapability("write", "", True),
                    ),
                    seen_on=date(2026, 11, 20), category="location", updated_at=UPDATED,
                ),
                listing(
                    "b.example", "Weather", score=80, formats=("awp", "woa"), auth_type="oauth2",
                    pricing_type="unknown",
                    capabilities=(
                        ListedCapability("look", "", False, ("weather:forecast",), callability="false"),
                        ListedCapability("x"),
                    ),
                    languages=("de-at", "de"),
                ),
                listing("c.example", "Weather", score=10, trust_level=TrustLevel.UNVERIFIED),
            ],
        )  # fmt: skip
        assert await found(backend, text, **filters) == expected

    async def test_filters_do_not_change_the_order_of_texts(self, backend: Backend) -> None:
        crowd = [listing(f"h{n}.example", "Weather: of the whole wide world", formats=("awp",)) for n in range(30)]
        rare = [listing(f"r{n}.example", "World", formats=("adp",)) for n in range(3)]
        await fill(backend, [listing("best.example", "Weather weather", formats=("awp",)), *crowd, *rare])
        answer = await backend.candidates(parse_query("weather"), Filters(formats=("awp", "adp")), 1)
        assert answer.candidates.hosts == ["best.example"]

    @pytest.mark.parametrize("term", HOSTILE_TERMS, ids=ascii)
    async def test_terms_are_data(self, backend: Backend, term: str) -> None:
        await fill(backend, [SHOP, MAIL])
        terms = list(query_terms(term))
        assert (await backend.candidates(any_of(*terms, "stamp"), Filters(), 10)).candidates.hosts == ["shop.example"]
        assert await found(backend, f"stamps {term}") == ["shop.example"]

    async def test_sixty_four_terms_can_be_searched(self, backend: Backend) -> None:
        await fill(backend, [SHOP, MAIL])
        assert await found(backend, " ".join(f"w{n}" for n in range(63)) + " stamps") == ["shop.example"]

    async def test_other_scripts_are_found_as_they_are_written(self, backend: Backend) -> None:
        await fill(backend, [listing("a.example", "天気: ÜBERSICHT der Wetterlage"), listing("b.example", "Погода")])
        assert await found(backend, "天気") == ["a.example"]
        assert await found(backend, "übersicht") == ["a.example"]
        assert await found(backend, "ПОГОДА") == ["b.example"]

    async def test_questions_find_documents_in_their_own_language(self, backend: Backend) -> None:
        texts = {
            "de": "Reisebüro: Wir buchen Unterkünfte und prüfen freie Zimmer",
            "fr": "Agence: Réservation d'hébergements et de l'équipement",
            "ja": "旅行社: 宿泊施設の予約と空室確認",
            "zh": "旅行社: 预订酒店和查询空房",
            "ar": "وكالة: حجز الفنادق والغرف",
            "th": "ตัวแทน: จองที่พักและตรวจสอบห้องว่าง",
        }
        await fill(backend, [listing(f"{language}.example", text) for language, text in texts.items()])
        questions = {
            "de": "ich möchte eine Unterkunft",
            "fr": "je cherche un equipement",
            "ja": "予約を確認したい",
            "zh": "我想查询酒店",
            "ar": "أريد حجز فندق",
            "th": "อยากได้ที่พัก",
        }
        for language, question in questions.items():
            assert (await found(backend, question))[0] == f"{language}.example", question

    async def test_the_capability_after_the_two_hundredth_is_not_indexed(self, backend: Backend) -> None:
        capabilities = [f"skill number{n}" for n in range(200)]
        await fill(backend, [listing("a.example", "Many", *capabilities, "overflow")])
        assert await found(backend, "number199") == ["a.example"]
        assert await found(backend, "overflow") == []

    async def test_changes_are_seen_after_commit_and_not_before(self, backend: Backend) -> None:
        await fill(backend, [SHOP])
        before = await pool(backend, "email")
        assert await backend.upsert([make_document(MAIL)]) == 1
        assert await backend.delete(["shop.example"]) == 1
        assert await found(backend, "stamps email") == ["shop.example"]
        await backend.commit()
        after = await pool(backend, "stamps email")
        assert after.candidates.hosts == ["mail.example"]
        assert after.generation != before.generation
        assert after.stats == stats_of([MAIL])
        assert await backend.count() == 1

    async def test_a_listing_that_did_not_change_is_not_written(self, backend: Backend) -> None:
        await fill(backend, [MAIL])
        before = await backend.health()
        assert await upsert(backend, MAIL) == 0
        assert await backend.delete(["unknown.example"]) == 0
        await backend.commit()
        assert await backend.health() == before

    async def test_a_changed_listing_replaces_the_old_one(self, backend: Backend) -> None:
        await fill(backend, [MAIL, SHOP])
        changed = listing("mail.example", "Pigeons: carry letters", score=51)
        assert await upsert(backend, changed, changed) == 1
        assert await found(backend, "email") == []
        assert await found(backend, "pigeon") == ["mail.example"]
        assert (await pool(backend, "pigeon")).stats == stats_of([changed, SHOP])

    async def test_deleted_and_written_again_before_one_commit(self, backend: Backend) -> None:
        await fill(backend, [MAIL])
        await backend.delete(["mail.example"])
        assert await upsert(backend, MAIL) == 1
        assert await found(backend, "email") == ["mail.example"]
        assert (await pool(backend, "email")).stats == stats_of([MAIL])

    async def test_the_last_service_can_be_deleted(self, backend: Backend) -> None:
        await fill(backend, [MAIL])
        await backend.delete(["mail.example"])
        await backend.commit()
        assert await found(backend, "email") == []
        assert (await backend.health()).services == 0
        assert await upsert(backend, MAIL) == 1
        assert await found(backend, "email") == ["mail.example"]

    async def test_a_build_without_swap_changes_nothing(self, backend: Backend) -> None:
        await fill(backend, [MAIL])
        with pytest.raises(ZeroDivisionError):
            async with backend.build() as build:
                await build.add([make_document(SHOP)])
                raise ZeroDivisionError
        assert await found(backend, "email stamps") == ["mail.example"]
        await fill(backend, [SHOP])
        assert await found(backend, "email stamps") == ["shop.example"]

    async def test_one_build_at_a_time(self, backend: Backend) -> None:
        async with backend.build():
            with pytest.raises(WriterBusy):
                async with backend.build():
                    pass

    async def test_writes_after_a_swap_go_to_the_new_index(self, backend: Backend) -> None:
        await fill(backend, [MAIL])
        await upsert(backend, SHOP)
        await fill(backend, [MAPS])
        await upsert(backend, SHOP)
        assert await found(backend, "email stamps route") == ["maps.example", "shop.example"]

    async def test_hits_have_the_order_of_the_ranker(self, backend: Backend) -> None:
        services = [
            listing("a.example", "Weather: rain and sun", ("forecast", "tomorrow's weather")),
            listing("b.example", "Rain: umbrellas", "sell umbrella"),
            listing("c.example", "Weather", score=90),
            listing("d.example", "Weather", score=20),
        ]
        await fill(backend, services)
        answer = await pool(backend, "weather forecast for rain")
        ranking = rank(parse_query("weather forecast for rain"), answer.candidates, answer.stats)
        assert ranking.hosts == ["a.example", "b.example", "c.example", "d.example"]
        best = explain(ranking, 0)
        assert best.matched_terms == ("weather", "forecast", "rain")
        assert [capability.name for capability in best.capabilities] == ["forecast"]

    async def test_terms_of_documents_and_queries_are_the_same(self, backend: Backend) -> None:
        text = "Don't miss Bob's getWeather_v2 API: Überraschung naïve cafés 3.5 HTTPServer"
        await fill(backend, [listing("a.example", f"x: {text}")])
        for stem in stems(text):
            assert (await backend.candidates(any_of(stem), Filters(), 1)).matching == 1, stem
