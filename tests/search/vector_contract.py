"""What every search backend must do with vectors. A test class per engine inherits this and defines the fixture
`backend`, made for the model and dimensions of WORDS."""

import asyncio
import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from registry.core.model.listing import Filters, Listing, TrustLevel
from registry.core.ranking import explain, make_record, parse_query, rank, texts_of
from registry.search.backend import Backend, Pool, make_document, make_documents
from tests.search.contract import HOSTILE_TERMS, MAIL, MAPS, SHOP
from tests.search.folding_contract import POST, copies_of
from tests.search.listings import listing
from tests.support.candidates import Candidate, count_corpus, side_by_side
from tests.support.embedder import WordEmbedder

WORDS = WordEmbedder()

_NAMES = ["Almanac", "Courier", "Ledger", "Harbour", "Orchard", "Beacon", "Quarry", "Mill"]
_VOCABULARY = (
    "email", "letter", "mail", "weather", "rain", "forecast", "parcel", "route", "stamp", "inbox", "money", "bill",
    "move", "day", "visit", "place",
)  # fmt: skip


async def fill(backend: Backend, listings: Iterable[Listing]) -> None:
    async with backend.build() as build:
        await build.add(make_documents(list(listings), WORDS))
        await build.swap()


async def pool(backend: Backend, text: str, **filters: Any) -> Pool:
    return await backend.candidates(parse_query(text, WORDS), Filters(**filters), 200)


async def ranked(backend: Backend, text: str, **filters: object) -> list[str]:
    answer = await pool(backend, text, **filters)
    return rank(parse_query(text, WORDS), answer.candidates, answer.stats).hosts


def random_services(count: int, seed: int) -> list[Listing]:
    dice = random.Random(seed)

    def phrase(words: int) -> str:
        return " ".join(dice.choices(_VOCABULARY, k=words))

    return [
        listing(
            f"h{n}.example",
            f"{dice.choice(_NAMES)}: {phrase(4)}",
            *[(f"{phrase(1)}_{number}", phrase(3)) for number in range(dice.randrange(4))],
            score=dice.randrange(100),
        )
        for n in range(count)
    ]


class VectorContract:
    async def test_a_service_is_found_by_words_that_it_does_not_say(self, backend: Backend) -> None:
        await fill(backend, [SHOP, MAIL, MAPS])
        assert (await ranked(backend, "letter"))[0] == "mail.example"
        answer = await pool(backend, "letter")
        best = explain(rank(parse_query("letter", WORDS), answer.candidates, answer.stats), 0)
        assert (best.matched_terms, best.capabilities[0].name) == ((), "send_email")

    async def test_candidates_carry_their_vectors(self, backend: Backend) -> None:
        await fill(backend, [MAIL, SHOP])
        candidates = (await pool(backend, "email")).candidates
        expected = side_by_side(
            (
                Candidate(service.host, service.score, make_record(service, WORDS.encode(texts_of(service)), WORDS.id))
                for service in sorted((MAIL, SHOP), key=lambda service: list(candidates.hosts).index(service.host))
            ),
            WORDS.id,
        )
        assert candidates.model == WORDS.id
        for column in ("row_starts", "vectors", "scales", "spreads", "terms", "counts"):
            assert np.array_equal(getattr(candidates, column), getattr(expected, column)), column

    async def test_both_legs_are_limited(self, backend: Backend) -> None:
        crowd = [listing(f"h{n}.example", "Weather: of the world") for n in range(150)]
        await fill(backend, [*crowd, listing("far.example", "Rain")])
        answer = await backend.candidates(parse_query("weather", WORDS), Filters(), 20)
        assert 64 <= len(answer.candidates) <= 120
        assert answer.matching >= len(answer.candidates)

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ({}, ["a.example", "b.example"]),
            ({"include_unverified": True}, ["a.example", "b.example", "c.example"]),
            ({"formats": ("awp",)}, ["b.example"]),
            ({"min_score": 61}, ["b.example"]),
            ({"formats": ("adp",), "auth_types": ("oauth2",)}, []),
            ({"formats": ('adp" OR "', "*", "")}, []),
        ],
    )
    async def test_filters_also_apply_to_vectors(
        self, backend: Backend, filters: dict[str, object], expected: list[str]
    ) -> None:
        await fill(
            backend,
            [
                listing("a.example", "Weather", score=60, pricing_type="paid", protocols=("adp", "mcp")),
                listing("b.example", "Weather", score=80, formats=("awp", "woa"), auth_type="oauth2"),
                listing("c.example", "Weather", score=10, trust_level=TrustLevel.UNVERIFIED),
            ],
        )
        assert sorted((await pool(backend, "rain", **filters)).candidates.hosts) == expected

    async def test_copies_take_no_place_of_the_nearest(self, backend: Backend) -> None:
        copies = copies_of(replace(POST, name="Letter letters by letter"), 200)
        others = [listing(f"h{n:02}.example", "Letter") for n in range(60)]
        await fill(backend, [*copies, *others])
        answer = await pool(backend, "email")
        assert set(answer.candidates.hosts) == {"copy000.example", *(other.host for other in others)}
        front = list(answer.candidates.hosts).index("copy000.example")
        assert answer.candidates.copies(front).total == len(copies) - 1
        assert len(await ranked(backend, "email", unique=False)) > len(answer.candidates)

    async def test_a_filter_that_leaves_few_still_finds_them_all(self, backend: Backend) -> None:
        crowd = [listing(f"h{n}.example", "Weather: rain and more rain") for n in range(140)]
        rare = [listing(f"r{n}.example", "Ledger: money", formats=("awp",)) for n in range(5)]
        await fill(backend, [*crowd, *rare])
        answer = await pool(backend, "forecast", formats=("awp",))
        assert sorted(answer.candidates.hosts) == [f"r{n}.example" for n in range(5)]

    async def test_changes_are_seen_among_vectors_after_commit(self, backend: Backend) -> None:
        await fill(backend, [MAIL, SHOP])
        changed = listing("shop.example", "Shop: forecasts rain")
        await backend.delete(["mail.example"])
        await backend.upsert(make_documents([changed, MAPS], WORDS))
        assert (await ranked(backend, "letter"))[0] == "mail.example"
        await backend.commit()
        assert "mail.example" not in await ranked(backend, "letter")
        assert (await ranked(backend, "weather"))[0] == "shop.example"
        assert sorted((await pool(backend, "weather")).candidates.hosts) == ["maps.example", "shop.example"]

    async def test_a_service_without_a_known_word_is_found_by_its_own_only(self, backend: Backend) -> None:
        await fill(backend, [listing("zz.example", "zzz: zz zzzz", "zap"), MAIL])
        assert await ranked(backend, "letter") == ["mail.example"]
        assert "zz.example" in await ranked(backend, "zzzz")

    async def test_vectors_of_another_model_are_not_searched(self, backend: Backend) -> None:
        await fill(backend, [MAIL, SHOP])
        question = parse_query("letter email", WordEmbedder("wp_other"))
        answer = await backend.candidates(question, Filters(), 200)
        assert answer.candidates.hosts == ["mail.example"]
        assert rank(question, answer.candidates, answer.stats).hosts == ["mail.example"]

    async def test_a_service_of_two_hundred_capabilities_has_vectors_for_the_first(self, backend: Backend) -> None:
        await fill(backend, [listing("a.example", "Many", *[f"skill number{n}" for n in range(201)])])
        (start, end) = (await pool(backend, "number7")).candidates.row_starts.tolist()
        assert end - start == 2 + 50

    @pytest.mark.parametrize("text", [*HOSTILE_TERMS, "mail. " * 200, "'; DROP", "a\u0301" * 300], ids=ascii)
    async def test_any_text_can_be_searched(self, backend: Backend, text: str) -> None:
        await fill(backend, [MAIL, SHOP])
        assert set(await ranked(backend, text)) <= {"mail.example", "shop.example"}
        assert (await ranked(backend, f"email {text}"))[0] == "mail.example"

    async def test_the_first_ten_are_those_of_ranking_everything(self, backend: Backend) -> None:
        services = random_services(160, seed=7)
        await fill(backend, services)
        documents = make_documents(services, WORDS)
        all_candidates = side_by_side(
            (Candidate(document.listing.host, document.listing.score, document.record) for document in documents),
            WORDS.id,
        )
        stats = count_corpus(document.record for document in documents)
        dice = random.Random(8)
        for _ in range(25):
            question = parse_query(
                f"{' '.join(dice.choices(_VOCABULARY, k=3))}. {' '.join(dice.choices(_VOCABULARY, k=3))}.", WORDS
            )
            answer = await backend.candidates(question, Filters(), 200)
            ranking = rank(question, answer.candidates, answer.stats)
            reference = rank(question, all_candidates, stats)
            assert ranking.hosts[:10] == reference.hosts[:10]
            relevances = [explain(order, place).relevance for order in (ranking, reference) for place in range(10)]
            assert relevances[:10] == relevances[10:]

    async def test_readers_always_see_all_services_during_a_rebuild(self, backend: Backend) -> None:
        services = [listing(f"h{n}.example", "Weather") for n in range(30)]
        await fill(backend, services)
        sizes: set[tuple[int, int]] = set()
        done = asyncio.Event()

        async def read() -> None:
            while not done.is_set():
                answers = await pool(backend, "rain"), await pool(backend, "weather")
                sizes.add((len(answers[0].candidates), answers[1].matching))

        readers = [asyncio.create_task(read()) for _ in range(3)]
        for _ in range(4):
            await fill(backend, services)
        done.set()
        await asyncio.gather(*readers)
        assert sizes == {(30, 30)}

    @pytest.mark.parametrize("seed", range(3))
    async def test_the_index_matches_the_model_after_any_sequence(self, backend: Backend, seed: int) -> None:
        dice = random.Random(seed)
        await fill(backend, [])
        model: dict[str, Listing] = {}
        committed: dict[str, Listing] = {}
        for _ in range(50):
            host = f"h{dice.randrange(6)}.example"
            match dice.choice(["upsert", "upsert", "delete", "commit", "rebuild"]):
                case "upsert":
                    model[host] = listing(host, f"x: {dice.choice(_VOCABULARY)} {dice.choice(_VOCABULARY)}")
                    await backend.upsert([make_document(model[host], WORDS)])
                case "delete":
                    model.pop(host, None)
                    await backend.delete([host])
                case "commit":
                    await backend.commit()
                    committed = dict(model)
                case "rebuild":
                    await fill(backend, model.values())
                    committed = dict(model)
            documents = {host: make_document(service, WORDS) for host, service in committed.items()}
            assert {host: digest async for host, digest in backend.hashes()} == {
                host: document.hash for host, document in documents.items()
            }
            answer = await pool(backend, "email")
            assert answer.stats == count_corpus(document.record for document in documents.values())
            candidates = answer.candidates
            assert sorted(candidates.hosts) == sorted(committed)
            expected = side_by_side(
                (Candidate(indexed_host, 50, documents[indexed_host].record) for indexed_host in candidates.hosts),
                WORDS.id,
            )
            assert np.array_equal(candidates.vectors.ravel(), expected.vectors.ravel())
