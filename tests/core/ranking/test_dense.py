"""Ranking with vectors: the meaning of the signals, and properties that hold for any texts."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.model.listing import Listing
from registry.core.ranking import (
    ParsedQuery,
    Ranking,
    Record,
    explain,
    parse_query,
    rank,
    texts_of,
)
from registry.core.ranking.rank import TOGETHER
from registry.core.ranking.signals import SIGNALS, need
from tests.search.listings import listing
from tests.support.candidates import Candidate, count_corpus, ranking_of, record_of, side_by_side
from tests.support.embedder import WordEmbedder

WORDS = WordEmbedder()
POST = listing("post.example", "Post: brings a letter to people", ("move_visit", "Choose another day"), "weigh")
RAIN = listing("rain.example", "Sky: rain of tomorrow", ("forecast", "rain by the hour"))
BANK = listing("bank.example", "Bank: keeps money", ("pay", "Pays a bill"), ("save", "Puts money aside"))


def record(listed: Listing, embedder: WordEmbedder = WORDS) -> Record:
    return record_of(listed, embedder)


def ranked(question: ParsedQuery | str, *listings: Listing) -> Ranking:
    return ranking_of(question, *listings, embedder=WORDS)


def test_the_rows_are_the_listing_its_texts_and_each_capability() -> None:
    listed = listing("a.example", "sendMail: posts it", ("list_all", "every letter"))
    assert texts_of(listed) == [
        "send Mail. posts it list all: every letter",
        "send Mail. posts it",
        "send Mail list all: every letter",
    ]
    assert record(listed).vectors.shape == (3, WORDS.dims)


def test_only_the_first_capabilities_have_a_vector() -> None:
    listed = listing("a.example", "x", *[f"skill {n}" for n in range(80)])
    assert len(record(listed).vectors) == 2 + 50
    assert len(record(listed).capabilities.names) == 80


def test_a_record_with_vectors_is_read_back_unchanged() -> None:
    original = record(POST)
    decoded = Record.decode(original.encode())
    assert decoded.encode() == original.encode()
    assert (decoded.model, decoded.vectors.tolist(), decoded.spread) == (
        WORDS.id,
        original.vectors.tolist(),
        original.spread,
    )


def test_another_word_for_the_same_is_found() -> None:
    ranking = ranked("mail", POST, RAIN, BANK)
    assert ranking.hosts[0] == "post.example"
    hit = explain(ranking, 0)
    assert (hit.matched_terms, hit.cover) == ((), 0.0)
    assert hit.similarity > 0.3


def test_the_parts_are_named_and_make_up_the_relevance() -> None:
    ranking = ranked("rain tomorrow", POST, RAIN, BANK)
    best = explain(ranking, 0)
    assert list(best.parts) == [*(signal.name for signal in SIGNALS), TOGETHER]
    assert sum(best.parts.values()) == pytest.approx(best.relevance)
    assert best.relevance == pytest.approx(1.0)
    assert best.confident


def test_every_sentence_of_a_query_is_a_need() -> None:
    query = parse_query(
        "I want to know the weather forecast of tomorrow morning in Bern. Then pay money for two bills at the bank.",
        WORDS,
    )
    assert query.needs is not None
    assert len(query.needs) == 2
    ranking = ranked(query, RAIN, BANK, POST)
    assert set(ranking.hosts[:2]) == {"rain.example", "bank.example"}
    evidence = ranking.features
    assert (need(evidence)[:2] > evidence.parts.folded(evidence.whole, np.maximum)[:2]).all()


def test_the_topic_weighs_less_with_more_needs() -> None:
    topic = next(signal for signal in SIGNALS if signal.name == "topic")
    once, twice = (
        parse_query("weather forecast tomorrow morning Bern", WORDS),
        parse_query("Weather forecast tomorrow morning Bern. Pay the money of two bills in euro.", WORDS),
    )
    assert (topic.weight_for(once), topic.weight_for(twice)) == (topic.weight, topic.weight / 2)
    assert topic.weight_for(parse_query("weather")) == topic.weight
    ranking = ranked(twice, RAIN, BANK)
    shares = {signal.name: signal.weight_for(twice) for signal in SIGNALS}
    tops = {name: values.max() for name, values in ranking.parts.items() if name != TOGETHER}
    left = sum(tops.values())
    assert left < 1
    assert tops == pytest.approx({name: left * share / sum(shares.values()) for name, share in shares.items()})


TRADES = ("forecast", "parcel", "invoice", "guitar", "tulip", "glacier", "novel", "engine", "carpet", "dentist")


def test_a_listing_of_unrelated_capabilities_does_not_rank_first_for_each() -> None:
    catalogue = listing("all.example", "x", *[(trade, f"{trade} {trade}") for trade in TRADES])
    honest = listing(
        "honest.example", "Garden: tulip bulbs", *[(f"tulip_{n}", "plants a tulip bulb") for n in range(9)]
    )
    few = listing("few.example", "x", *[(trade, f"{trade} {trade}") for trade in TRADES[:5]])
    evidence = ranked("tulip", catalogue, honest, few).features
    nearest = evidence.parts.folded(evidence.needs, np.maximum)
    ratio = need(evidence) / nearest
    assert ratio[1:].tolist() == [1.0, 1.0]
    assert ratio[0] < 0.5


def test_capabilities_of_unknown_words_do_not_lower_the_rank() -> None:
    listed = listing("one.example", "zz: zz", ("tulip", "tulip"), *[(f"zz{n}", "zzz") for n in range(20)])
    assert need(ranked("tulip", listed).features)[0] == pytest.approx(1.0, abs=0.01)


def test_a_single_sentence_is_its_only_need() -> None:
    question = parse_query("move my  appointment", WORDS)
    assert question.whole is not None
    assert question.needs is not None
    assert question.needs.tolist() == [question.whole.tolist()]


@pytest.mark.parametrize("text", ["", "  ", "zzz", "!?", "日本語", "\ud800"])
def test_a_query_of_unknown_words_has_no_vectors(text: str) -> None:
    question = parse_query(text, WORDS)
    assert (question.whole, question.needs, question.model) == (None, None, "")


def test_invisible_characters_are_removed_from_a_query() -> None:
    hidden = parse_query("s\u200bend \uff4d\uff41\uff49\uff4c" + "\u200b" * 900, WORDS)
    assert hidden.text == "send mail"
    assert hidden.terms == parse_query("send mail").terms


def test_vectors_of_another_model_are_not_compared() -> None:
    other = WordEmbedder("wp_other")
    assert ranked(parse_query("mail", other), POST, RAIN).hosts == []
    assert ranked(parse_query("letter", other), POST, RAIN).hosts == ["post.example"]
    candidate_set = side_by_side(
        [Candidate("a.example", 1, record(POST, other)), Candidate("b.example", 1, record(POST))], WORDS.id
    )
    assert candidate_set.row_starts.tolist() == [0, 0, 4]


def test_the_capability_nearest_to_the_query_is_shown() -> None:
    ranking = ranked("reschedule", POST, RAIN, BANK)
    assert explain(ranking, ranking.hosts.index("post.example")).capabilities[0].name == "move_visit"


def test_capabilities_that_are_not_allowed_are_not_shown() -> None:
    ranking = ranked("pay a bill with money", BANK, POST)
    assert explain(ranking, 0).capabilities[0].name == "pay"
    assert [capability.name for capability in explain(ranking, 0, allowed={"save"}).capabilities] == ["save"]
    assert explain(ranking, 0, allowed=()).capabilities == ()


def test_an_irrelevant_service_does_not_change_the_order() -> None:
    candidates = [Candidate(listed.host, listed.score, record(listed)) for listed in (POST, RAIN, BANK)]
    stats = count_corpus(candidate.record for candidate in candidates)
    silent = Candidate("silent.example", 99, record(listing("silent.example", "zzz: zz zzz")))
    before = rank(parse_query("letter of rain", WORDS), side_by_side(candidates, WORDS.id), stats)
    after = rank(parse_query("letter of rain", WORDS), side_by_side([silent, *candidates], WORDS.id), stats)
    assert [host for host in after.hosts if host != "silent.example"] == before.hosts


TEXT = st.lists(st.sampled_from(["mail", "letter", "rain", "pay", "zzz", "move", "day"]), max_size=5).map(" ".join)
SERVICE = st.tuples(TEXT, TEXT, st.lists(TEXT, max_size=3), st.integers(0, 2))


def listings_of(texts: list[tuple[str, str, list[str], int]]) -> list[Listing]:
    return [
        listing(f"h{n}.example", f"{name or 'x'}: {text}", *parts, score=score)
        for n, (name, text, parts, score) in enumerate(texts)
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(SERVICE, min_size=1, max_size=8), TEXT, st.randoms())
def test_the_order_is_total_and_independent_of_the_candidates(
    texts: list[tuple[str, str, list[str], int]], query: str, rng: random.Random
) -> None:
    listings = listings_of(texts)
    ranking = ranked(query, *listings)
    assert np.isfinite(ranking.relevance).all()
    shuffled = list(listings)
    rng.shuffle(shuffled)
    again = ranked(query, *shuffled)
    assert again.hosts == ranking.hosts
    hits = [explain(ranking, index) for index in range(len(ranking))]
    assert [hit.relevance for hit in hits] == sorted((hit.relevance for hit in hits), reverse=True)
    for hit in hits:
        assert 0 < hit.relevance <= 1.0 + 1e-9
        assert 0 <= hit.cover <= 1.0 + 1e-6
        assert 0 <= hit.similarity <= 1.001


@settings(max_examples=40, deadline=None)
@given(SERVICE, TEXT, st.integers(0, 99))
def test_equal_texts_are_ordered_by_score_and_host(
    text: tuple[str, str, list[str], int], query: str, other_grade: int
) -> None:
    name, body, parts, score = text
    twins = [
        listing(host, f"{name or 'x'}: {body}", *parts, score=grade)
        for host, grade in (("b.example", score), ("a.example", score), ("c.example", other_grade))
    ]
    ranking = ranked(query, *twins, RAIN, BANK)
    ranked_hosts = [host for host in ranking.hosts if host[1:] == ".example"]
    grades = {"a.example": score, "b.example": score, "c.example": other_grade}
    assert ranked_hosts == sorted(ranked_hosts, key=lambda host: (-grades[host], host))


def test_a_question_without_words_is_ranked_by_vectors_alone() -> None:
    question = parse_query("mail", WORDS)
    ranking = ranked(ParsedQuery("mail", {}, question.whole, question.needs, question.model), POST, RAIN)
    assert ranking.hosts[0] == "post.example"
    assert explain(ranking, 0).cover == 0.0


@pytest.mark.parametrize(
    ("language", "meaning", "confident"),
    [("de", "forecast umbrella", True), ("de", "guitar strings", False), ("en", "forecast umbrella", False)],
)
def test_meaning_alone_suffices_in_another_language(language: str, meaning: str, confident: bool) -> None:
    question = replace(parse_query(meaning, WORDS), terms={"regen": "regen"}, language=language)
    hit = explain(ranked(question, RAIN, BANK), 0)
    assert (hit.cover, hit.confident) == (0.0, confident)
