"""What every search backend must do with vectors. A test class per engine inherits this and brings the fixture
`backend`, made for the model and dimensions of WORDS."""

import asyncio
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from registry.core.listing import Filters, Listing, TrustLevel
from registry.core.ranking import CorpusStats, ask, explain, make_record, rank, texts_of
from registry.search.backend import Backend, Pool, make_document, make_documents
from tests.search.contract import HOSTILE_TERMS, MAIL, MAPS, SHOP
from tests.search.listings import listing
from tests.support.candidates import Candidate, side_by_side
from tests.support.embedder import WordEmbedder

WORDS = WordEmbedder()

_NAMES = ["Almanac", "Courier", "Ledger", "Harbour", "Orchard", "Beacon", "Quarry", "Mill"]
_SAYINGS = (
    "email", "letter", "mail", "weather", "rain", "forecast", "parcel", "route", "stamp", "inbox", "money", "bill",
    "move", "day", "visit", "place",
)  # fmt: skip


async def fill(backend: Backend, listings: Iterable[Listing]) -> None:
    async with backend.build() as build:
        await build.add(make_documents(list(listings), WORDS))
        await build.swap()


async def pool(backend: Backend, text: str, **filters: Any) -> Pool:
    return await backend.candidates(ask(text, WORDS), Filters(**filters), 200)


async def ranked(backend: Backend, text: str, **filters: object) -> list[str]:
    answer = await pool(backend, text, **filters)
    return rank(ask(text, WORDS), answer.candidates, answer.stats).hosts


def some(count: int, seed: int) -> list[Listing]:
    dice = random.Random(seed)

    def say(words: int) -> str:
        return " ".join(dice.choices(_SAYINGS, k=words))

    return [
        listing(
            f"h{n}.example",
            f"{dice.choice(_NAMES)}: {say(4)}",
            *[(f"{say(1)}_{number}", say(3)) for number in range(dice.randrange(4))],
            score=dice.randrange(100),
        )
        for n in range(count)
    ]


class VectorContract:
    async def test_a_service_is_found_by_words_that_it_does_not_say(self, backend: Backend) -> None:
        await fill(backend, [SHOP, MAIL, MAPS])
        assert (await ranked(backend, "letter"))[0] == "mail.example"
        answer = await pool(backend, "letter")
        best = explain(rank(ask("letter", WORDS), answer.candidates, answer.stats), 0)
        assert (best.matched_terms, best.capabilities[0].name) == ((), "send_email")

    async def test_candidates_carry_their_vectors(self, backend: Backend) -> None:
        await fill(backend, [MAIL, SHOP])
        held = (await pool(backend, "email")).candidates
        wanted = side_by_side(
            (
                Candidate(one.host, one.score, make_record(one, WORDS.encode(texts_of(one)), WORDS.id))
                for one in sorted((MAIL, SHOP), key=lambda one: list(held.hosts).index(one.host))
            ),
            WORDS.id,
        )
        assert held.model == WORDS.id
        for column in ("row_starts", "vectors", "scales", "spreads", "terms", "counts"):
            assert np.array_equal(getattr(held, column), getattr(wanted, column)), column

    async def test_both_legs_are_bounded(self, backend: Backend) -> None:
        crowd = [listing(f"h{n}.example", "Weather: of the world") for n in range(150)]
        await fill(backend, [*crowd, listing("far.example", "Rain")])
        answer = await backend.candidates(ask("weather", WORDS), Filters(), 20)
        assert 64 <= len(answer.candidates) <= 120
        assert answer.matching >= len(answer.candidates)

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ({}, ["a.example", "b.example"]),
            ({"include_unverified": True}, ["a.example", "b.example", "c.example"]),
            ({"formats": ("awp",)}, ["b.example"]),
            ({"auth_types": ("oauth2",)}, ["b.example"]),
            ({"pricing_types": ("paid",)}, ["a.example"]),
            ({"protocols": ("mcp",)}, ["a.example"]),
            ({"min_score": 61}, ["b.example"]),
            ({"formats": ("adp",), "auth_types": ("oauth2",)}, []),
            ({"formats": ('adp" OR "', "*", "")}, []),
        ],
    )
    async def test_filters_hold_among_vectors(
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

    async def test_a_filter_that_leaves_few_still_finds_them_all(self, backend: Backend) -> None:
        crowd = [listing(f"h{n}.example", "Weather: rain and more rain") for n in range(140)]
        rare = [listing(f"r{n}.example", "Ledger: money", formats=("awp",)) for n in range(5)]
        await fill(backend, [*crowd, *rare])
        answer = await pool(backend, "forecast", formats=("awp",))
        assert sorted(answer.candidates.hosts) == [f"r{n}.example" for n in range(5)]

    async def test_changes_are_seen_among_vectors_after_commit(self, backend: Backend) -> None:
        await fill(backend, [MAIL, SHOP])
        moved = listing("shop.example", "Shop: forecasts rain")
        await backend.delete(["mail.example"])
        await backend.upsert(make_documents([moved, MAPS], WORDS))
        assert (await ranked(backend, "letter"))[0] == "mail.example"
        await backend.commit()
        assert "mail.example" not in await ranked(backend, "letter")
        assert (await ranked(backend, "weather"))[0] == "shop.example"
        assert sorted((await pool(backend, "weather")).candidates.hosts) == ["maps.example", "shop.example"]

    async def test_a_service_without_a_known_word_is_found_by_its_own_only(self, backend: Backend) -> None:
        await fill(backend, [listing("zz.example", "zzz: zz zzzz", "zap"), MAIL])
        assert await ranked(backend, "letter") == ["mail.example"]
        assert "zz.example" in await ranked(backend, "zzzz")

    async def test_vectors_of_another_model_are_not_asked(self, backend: Backend) -> None:
        await fill(backend, [MAIL, SHOP])
        other = ask("letter email", WordEmbedder("wp_other"))
        answer = await backend.candidates(other, Filters(), 200)
        assert answer.candidates.hosts == ["mail.example"]
        assert rank(other, answer.candidates, answer.stats).hosts == ["mail.example"]

    async def test_a_service_of_two_hundred_capabilities_has_vectors_for_the_first(self, backend: Backend) -> None:
        await fill(backend, [listing("a.example", "Many", *[f"skill number{n}" for n in range(201)])])
        (start, end) = (await pool(backend, "number7")).candidates.row_starts.tolist()
        assert end - start == 2 + 50

    @pytest.mark.parametrize("text", [*HOSTILE_TERMS, "mail. " * 200, "'; DROP", "a\u0301" * 300], ids=ascii)
    async def test_any_text_is_answered(self, backend: Backend, text: str) -> None:
        await fill(backend, [MAIL, SHOP])
        assert set(await ranked(backend, text)) <= {"mail.example", "shop.example"}
        assert (await ranked(backend, f"email {text}"))[0] == "mail.example"

    async def test_the_first_ten_are_those_of_ranking_everything(self, backend: Backend) -> None:
        services = some(160, seed=7)
        await fill(backend, services)
        documents = make_documents(services, WORDS)
        whole = side_by_side(
            (Candidate(one.listing.host, one.listing.score, one.record) for one in documents), WORDS.id
        )
        stats = CorpusStats.of(one.record for one in documents)
        dice = random.Random(8)
        for _ in range(25):
            question = ask(f"{' '.join(dice.choices(_SAYINGS, k=3))}. {' '.join(dice.choices(_SAYINGS, k=3))}.", WORDS)
            answer = await backend.candidates(question, Filters(), 200)
            ranking = rank(question, answer.candidates, answer.stats)
            reference = rank(question, whole, stats)
            assert ranking.hosts[:10] == reference.hosts[:10]
            marks = [explain(one, place).relevance for one in (ranking, reference) for place in range(10)]
            assert marks[:10] == marks[10:]

    async def test_readers_find_by_vectors_while_the_index_is_rebuilt(self, backend: Backend) -> None:
        services = [listing(f"h{n}.example", "Weather") for n in range(30)]
        await fill(backend, services)
        sizes: set[int] = set()
        done = asyncio.Event()

        async def read() -> None:
            while not done.is_set():
                sizes.add(len((await pool(backend, "rain")).candidates))

        readers = [asyncio.create_task(read()) for _ in range(3)]
        for _ in range(4):
            await fill(backend, services)
        done.set()
        await asyncio.gather(*readers)
        assert sizes == {30}

    @pytest.mark.parametrize("seed", range(3))
    async def test_after_any_sequence_the_vectors_are_the_models(self, backend: Backend, seed: int) -> None:
        dice = random.Random(seed)
        await fill(backend, [])
        model: dict[str, Listing] = {}
        committed: dict[str, Listing] = {}
        for _ in range(50):
            host = f"h{dice.randrange(6)}.example"
            match dice.choice(["upsert", "upsert", "delete", "commit", "rebuild"]):
                case "upsert":
                    model[host] = listing(host, f"x: {dice.choice(_SAYINGS)} {dice.choice(_SAYINGS)}")
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
            held = (await pool(backend, "email")).candidates
            assert sorted(held.hosts) == sorted(committed)
            wanted = side_by_side(
                (Candidate(one, 50, make_document(committed[one], WORDS).record) for one in held.hosts), WORDS.id
            )
            assert np.array_equal(held.vectors.ravel(), wanted.vectors.ravel())
