"""The order with vectors: what the signals say, and what must hold whatever the texts are."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.listing import Listing
from registry.core.ranking import (
    CorpusStats,
    Question,
    Ranking,
    Record,
    ask,
    explain,
    make_record,
    rank,
    texts_of,
)
from registry.core.ranking.signals import SIGNALS, need
from tests.search.listings import listing
from tests.support.candidates import Candidate, side_by_side
from tests.support.embedder import WordEmbedder

WORDS = WordEmbedder()
POST = listing("post.example", "Post: brings a letter to people", ("move_visit", "Choose another day"), "weigh")
RAIN = listing("rain.example", "Sky: rain of tomorrow", ("forecast", "rain by the hour"))
BANK = listing("bank.example", "Bank: keeps money", ("pay", "Pays a bill"), ("save", "Puts money aside"))


def record(one: Listing, embedder: WordEmbedder = WORDS) -> Record:
    return make_record(one, embedder.encode_documents(texts_of(one)), embedder.id)


def ranked(text: str, *listings: Listing, embedder: WordEmbedder = WORDS) -> Ranking:
    held = [Candidate(one.host, one.score, record(one)) for one in listings]
    return rank(ask(text, embedder), side_by_side(held, WORDS.id), CorpusStats.of(one.record for one in held))


def test_the_rows_are_the_whole_the_service_and_its_capabilities_with_its_name() -> None:
    one = listing("a.example", "sendMail: posts it", ("list_all", "every letter"))
    assert texts_of(one) == [
        "send Mail. posts it list all: every letter",
        "send Mail. posts it",
        "send Mail list all: every letter",
    ]
    assert record(one).vectors.shape == (3, WORDS.dims)


def test_only_the_first_capabilities_have_a_vector() -> None:
    one = listing("a.example", "x", *[f"skill {n}" for n in range(80)])
    assert len(record(one).vectors) == 2 + 50
    assert len(record(one).capabilities.names) == 80


def test_a_record_with_vectors_survives_its_encoding() -> None:
    made = record(POST)
    again = Record.decode(made.encode())
    assert again.encode() == made.encode()
    assert (again.model, again.vectors.tolist(), again.spread) == (WORDS.id, made.vectors.tolist(), made.spread)


def test_another_word_for_the_same_is_found() -> None:
    ranking = ranked("mail", POST, RAIN, BANK)
    assert ranking.hosts[0] == "post.example"
    hit = explain(ranking, 0)
    assert (hit.matched_terms, hit.cover) == ((), 0.0)
    assert hit.similarity > 0.3


def test_the_parts_are_named_and_make_up_the_relevance() -> None:
    ranking = ranked("rain tomorrow", POST, RAIN, BANK)
    best = explain(ranking, 0)
    assert list(best.parts) == [signal.name for signal in SIGNALS]
    assert sum(best.parts.values()) == pytest.approx(best.relevance)
    assert best.relevance == pytest.approx(1.0)
    assert best.confident


def test_every_sentence_of_a_request_counts_for_itself() -> None:
    together = ask("I want to know the weather tomorrow. Then pay the money for a bill.", WORDS)
    assert together.needs is not None
    assert len(together.needs) == 2
    held = [Candidate(one.host, one.score, record(one)) for one in (RAIN, BANK, POST)]
    ranking = rank(together, side_by_side(held, WORDS.id), CorpusStats.of(one.record for one in held))
    assert set(ranking.hosts[:2]) == {"rain.example", "bank.example"}
    evidence = ranking.evidence
    assert (need.signal(evidence)[:2] > evidence.over_parts(evidence.whole, np.maximum)[:2]).all()


def test_where_the_whole_points_says_the_less_the_more_needs_are_in_it() -> None:
    topic = next(signal for signal in SIGNALS if signal.name == "topic")
    once, twice = ask("weather tomorrow morning", WORDS), ask("Weather tomorrow morning. Pay the money.", WORDS)
    assert (topic.weight_for(once), topic.weight_for(twice)) == (topic.weight, topic.weight / 2)
    assert topic.weight_for(ask("weather")) == topic.weight
    held = [Candidate(one.host, one.score, record(one)) for one in (RAIN, BANK)]
    ranking = rank(twice, side_by_side(held, WORDS.id), CorpusStats.of(one.record for one in held))
    shares = {signal.name: signal.weight_for(twice) for signal in SIGNALS}
    tops = {name: values.max() for name, values in ranking.parts.items()}
    assert tops == pytest.approx({name: share / sum(shares.values()) for name, share in shares.items()})


TRADES = ("forecast", "parcel", "invoice", "guitar", "tulip", "glacier", "novel", "engine", "carpet", "dentist")


def test_a_catalogue_of_unlike_things_is_not_the_best_at_each() -> None:
    catalogue = listing("all.example", "x", *[(one, f"{one} {one}") for one in TRADES])
    honest = listing(
        "honest.example", "Garden: tulip bulbs", *[(f"tulip_{n}", "plants a tulip bulb") for n in range(9)]
    )
    few = listing("few.example", "x", *[(one, f"{one} {one}") for one in TRADES[:5]])
    held = [Candidate(one.host, one.score, record(one)) for one in (catalogue, honest, few)]
    question = ask("tulip", WORDS)
    evidence = rank(question, side_by_side(held, WORDS.id), CorpusStats.of(one.record for one in held)).evidence
    nearest = evidence.over_parts(evidence.needs, np.maximum)
    kept = need.signal(evidence) / nearest
    assert kept[1:].tolist() == [1.0, 1.0]
    assert kept[0] < 0.5


def test_parts_that_are_in_no_known_language_make_no_catalogue() -> None:
    one = listing("one.example", "zz: zz", ("tulip", "tulip"), *[(f"zz{n}", "zzz") for n in range(20)])
    held = [Candidate(one.host, one.score, record(one))]
    evidence = rank(ask("tulip", WORDS), side_by_side(held, WORDS.id), CorpusStats.of([held[0].record])).evidence
    assert need.signal(evidence)[0] == pytest.approx(1.0, abs=0.01)


def test_one_sentence_is_asked_once() -> None:
    question = ask("move my  appointment", WORDS)
    assert question.whole is not None
    assert question.needs is not None
    assert question.needs.tolist() == [question.whole.tolist()]


@pytest.mark.parametrize("text", ["", "  ", "zzz", "!?", "日本語", "\ud800"])
def test_what_the_embedder_does_not_know_is_asked_by_words_alone(text: str) -> None:
    question = ask(text, WORDS)
    assert (question.whole, question.needs, question.model) == (None, None, "")


def test_what_nobody_sees_does_not_count() -> None:
    hidden = ask("s\u200bend \uff4d\uff41\uff49\uff4c" + "\u200b" * 900, WORDS)
    assert hidden.text == "send mail"
    assert hidden.terms == ask("send mail").terms


def test_vectors_of_another_model_are_not_compared() -> None:
    other = WordEmbedder("wp_other")
    assert ranked("mail", POST, RAIN, embedder=other).hosts == []
    assert ranked("letter", POST, RAIN, embedder=other).hosts == ["post.example"]
    held = side_by_side(
        [Candidate("a.example", 1, record(POST, other)), Candidate("b.example", 1, record(POST))], WORDS.id
    )
    assert held.row_starts.tolist() == [0, 0, 4]


def test_the_capability_that_points_where_the_question_points_is_shown() -> None:
    ranking = ranked("reschedule", POST, RAIN, BANK)
    assert explain(ranking, ranking.hosts.index("post.example")).capabilities[0].name == "move_visit"


def test_capabilities_that_are_not_allowed_are_not_shown() -> None:
    ranking = ranked("pay a bill with money", BANK, POST)
    assert explain(ranking, 0).capabilities[0].name == "pay"
    assert [one.name for one in explain(ranking, 0, allowed={"save"}).capabilities] == ["save"]
    assert explain(ranking, 0, allowed=()).capabilities == ()


def test_a_service_that_says_nothing_of_it_changes_no_order() -> None:
    held = [Candidate(one.host, one.score, record(one)) for one in (POST, RAIN, BANK)]
    stats = CorpusStats.of(one.record for one in held)
    silent = Candidate("silent.example", 99, record(listing("silent.example", "zzz: zz zzz")))
    before = rank(ask("letter of rain", WORDS), side_by_side(held, WORDS.id), stats)
    after = rank(ask("letter of rain", WORDS), side_by_side([silent, *held], WORDS.id), stats)
    assert [host for host in after.hosts if host != "silent.example"] == before.hosts


TEXT = st.lists(st.sampled_from(["mail", "letter", "rain", "pay", "zzz", "move", "day"]), max_size=5).map(" ".join)
SERVICE = st.tuples(TEXT, TEXT, st.lists(TEXT, max_size=3), st.integers(0, 2))


def made(texts: list[tuple[str, str, list[str], int]]) -> list[Listing]:
    return [
        listing(f"h{n}.example", f"{name or 'x'}: {text}", *parts, score=score)
        for n, (name, text, parts, score) in enumerate(texts)
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(SERVICE, min_size=1, max_size=8), TEXT, st.randoms())
def test_the_order_is_total_and_not_that_of_the_candidates(
    texts: list[tuple[str, str, list[str], int]], query: str, dice: random.Random
) -> None:
    listings = made(texts)
    ranking = ranked(query, *listings)
    assert np.isfinite(ranking.relevance).all()
    shuffled = list(listings)
    dice.shuffle(shuffled)
    again = ranked(query, *shuffled)
    assert again.hosts == ranking.hosts
    marks = [explain(ranking, place) for place in range(len(ranking))]
    assert [one.relevance for one in marks] == sorted((one.relevance for one in marks), reverse=True)
    for one in marks:
        assert 0 < one.relevance <= 1.0 + 1e-9
        assert 0 <= one.cover <= 1.0 + 1e-6
        assert 0 <= one.similarity <= 1.001


@settings(max_examples=40, deadline=None)
@given(SERVICE, TEXT, st.integers(0, 99))
def test_equal_texts_stand_beside_each_other_by_grade_and_host(
    text: tuple[str, str, list[str], int], query: str, other_grade: int
) -> None:
    name, body, parts, score = text
    twins = [
        listing(host, f"{name or 'x'}: {body}", *parts, score=grade)
        for host, grade in (("b.example", score), ("a.example", score), ("c.example", other_grade))
    ]
    ranking = ranked(query, *twins, RAIN, BANK)
    places = [host for host in ranking.hosts if host[1:] == ".example"]
    grades = {"a.example": score, "b.example": score, "c.example": other_grade}
    assert places == sorted(places, key=lambda host: (-grades[host], host))


def test_a_question_without_words_is_ranked_by_vectors_alone() -> None:
    question = ask("mail", WORDS)
    held = [Candidate(one.host, one.score, record(one)) for one in (POST, RAIN)]
    wordless = Question("mail", {}, question.whole, question.needs, question.model)
    ranking = rank(wordless, side_by_side(held, WORDS.id), CorpusStats.of(one.record for one in held))
    assert ranking.hosts[0] == "post.example"
    assert explain(ranking, 0).cover == 0.0
