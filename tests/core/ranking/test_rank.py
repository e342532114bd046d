import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.model.listing import ListedCapability, Listing
from registry.core.ranking import (
    CorpusStats,
    Ranking,
    Record,
    explain,
    index_hash,
    indexed_text,
    make_record,
    parse_query,
    rank,
    term_ids,
    texts_of,
)
from registry.core.ranking.record import LENGTH_COUNTED, MAX_COUNT
from registry.core.ranking.signals import words
from registry.core.wording.fields import (
    CAPABILITIES,
    CAPABILITIES_CHARS,
    CAPABILITY_CHARS,
    DESCRIPTION_CHARS,
    NAME_CHARS,
)
from tests.search.listings import listing
from tests.support.candidates import Candidate, count_corpus, side_by_side


def collection(*listings: Listing) -> tuple[list[Candidate], CorpusStats]:
    candidates = [Candidate(listed.host, listed.score, make_record(listed)) for listed in listings]
    return candidates, count_corpus(candidate.record for candidate in candidates)


def ranked(query: str, candidates: Sequence[Candidate], stats: CorpusStats) -> Ranking:
    return rank(parse_query(query), side_by_side(candidates), stats)


def hosts(query: str, candidates: Sequence[Candidate], stats: CorpusStats) -> list[str]:
    return ranked(query, candidates, stats).hosts


def counts(record: Record, *stems: str) -> dict[str, int]:
    count_by_term = dict(zip(record.terms.tolist(), record.counts.tolist(), strict=True))
    return {stem: count_by_term.get(term, 0) for stem, term in zip(stems, term_ids(stems).tolist(), strict=True)}


def test_a_record_weighs_name_description_and_capabilities() -> None:
    record = make_record(listing("a.example", "sendMail: mail", ("mail", "mail mail")))
    assert counts(record, "sendmail", "send", "mail") == {"sendmail": 4, "send": 4, "mail": 4 + 2 + 2 + 1 + 1}
    assert len(record.terms) == 3
    assert record.length == 4 + 4 + 4 + 2 + 2 + 1 + 1
    assert record.capabilities.names == ("mail",)
    capabilities = record.capabilities
    assert (
        record.terms[capabilities.places[capabilities.starts[1] : capabilities.starts[2]]].tolist()
        == term_ids(["mail"]).tolist()
    )


def test_repeated_words_count_up_to_a_limit_but_lengthen_the_text() -> None:
    record = make_record(listing("a.example", "x: " + "mail " * 700))
    assert counts(record, "mail") == {"mail": MAX_COUNT}
    assert record.length == 4 + 2 * 700


def test_the_engine_gets_the_same_terms_with_the_name_twice() -> None:
    listed = listing("a.example", "sendMail: post", ("list", "all letters"))
    assert indexed_text(listed).split() == ["sendmail", "send", "mail"] * 2 + ["post", "list", "all", "letter"]
    assert set(term_ids(indexed_text(listed).split()).tolist()) == set(make_record(listed).terms.tolist())


@pytest.mark.parametrize("declared", [(), ("de-at", "de"), ("pl", "de"), ("xx",)])
def test_a_listing_is_stemmed_by_its_language_and_as_english(declared: tuple[str, ...]) -> None:
    listed = listing("a.example", "Rechnungen: Rechnungen verschicken mit PDF", languages=declared)
    record = make_record(listed)
    stems = counts(record, "rechnungen", "rechnung", "pdf")
    assert stems == {"rechnungen": 6, "rechnung": 6, "pdf": 2}
    assert record.length == 4 + 2 * 4
    assert set(term_ids(indexed_text(listed).split()).tolist()) == set(record.terms.tolist())


def test_a_record_is_read_back_unchanged() -> None:
    record = make_record(listing("a.example", "Grüße 天気: été", ("x_y", "Z z"), ""))
    assert Record.decode(record.encode()).encode() == record.encode()


@pytest.mark.parametrize("raw", [b"", b"{}", b"wpr2", b"wpr2" + b"\xff" * 60, bytes(40)])
def test_no_other_bytes_are_a_record(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        Record.decode(raw)


def test_relevance_is_bm25f_over_the_weighted_whole() -> None:
    candidates, stats = collection(
        listing("a.example", "Weather: rain"), listing("b.example", "Parcels: ship and track anything anywhere")
    )
    ranking = ranked("weather", candidates, stats)
    (relevance,) = words(ranking.features)[list(ranking.order)]
    lengths = [3.0, 2.0 + 5.0]  # name 2, each other word 1
    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 * 2.0 / (2 + (0.25 + 0.75 * 3 / (sum(lengths) / 2)))
    assert relevance == pytest.approx(expected, abs=1e-9)


def test_rare_words_count_more_than_frequent_ones() -> None:
    crowd = [listing(f"h{n}.example", "Email") for n in range(20)]
    candidates, stats = collection(*crowd, listing("rare.example", "Telegraph"))
    assert hosts("email telegraph", candidates, stats)[0] == "rare.example"


def test_repeating_a_word_in_the_query_changes_nothing() -> None:
    candidates, stats = collection(listing("a.example", "Email"), listing("b.example", "Weather"))
    once, often = (ranked(text, candidates, stats) for text in ("email weather", "email email emails weather"))
    assert (once.order, once.relevance.tolist()) == (often.order, often.relevance.tolist())


def test_stuffing_gains_less_and_less() -> None:
    honest = listing("honest.example", "Mail: sends email to people", ("send_email", "Sends an email"))
    stuffed = listing("stuffed.example", "Best: " + "email " * 600)
    both = listing("both.example", "Mail: email and weather")
    candidates, stats = collection(honest, stuffed, both)
    assert hosts("send an email", candidates, stats)[0] == "honest.example"
    assert hosts("email weather", candidates, stats)[0] == "both.example"


def test_a_service_without_a_common_term_is_no_hit() -> None:
    candidates, stats = collection(listing("a.example", "Email"))
    assert hosts("weather", candidates, stats) == []
    assert hosts("", candidates, stats) == []


def test_ties_are_broken_by_what_can_be_called_then_score_then_host() -> None:
    called = ListedCapability("x", callability="true")
    candidates, stats = collection(
        listing("c.example", "Email", "x", score=70),
        listing("b.example", "Email", "x", score=90),
        listing("e.example", "Email", score=20, capabilities=(called,)),
        listing("a.example", "Email", "x", score=70),
        listing("d.example", "Email", score=40, capabilities=(called,)),
    )
    expected = ["d.example", "e.example", "b.example", "a.example", "c.example"]
    assert hosts("email", candidates, stats) == expected
    assert hosts("email", candidates[::-1], stats) == expected


WORDS = st.lists(st.sampled_from(["mail", "post", "rain", "sun", "route", "track", "ship"]), max_size=6).map(" ".join)


@settings(max_examples=60)
@given(st.lists(st.tuples(WORDS, WORDS, st.integers(0, 3)), min_size=1, max_size=8), WORDS, st.randoms())
def test_the_order_does_not_depend_on_the_other_candidates(
    texts: list[tuple[str, str, int]], query: str, rng: random.Random
) -> None:
    listings = [listing(f"h{n}.example", f"x: {a}", b, score=score) for n, (a, b, score) in enumerate(texts)]
    candidates, stats = collection(*listings)
    whole = hosts(query, candidates, stats)
    rng.shuffle(candidates)
    assert hosts(query, candidates, stats) == whole
    half = candidates[: len(candidates) // 2]
    half_hosts = {candidate.host for candidate in half}
    assert hosts(query, half, stats) == [host for host in whole if host in half_hosts]


@given(st.text(max_size=500))
@settings(max_examples=100)
def test_any_query_is_ranked(query: str) -> None:
    candidates, stats = collection(listing("a.example", "Email"), listing("b.example", "___"))
    ranking = ranked(query, candidates, stats)
    for index in range(len(ranking)):
        assert 0 < explain(ranking, index).relevance <= 1


def explained(query: str, listed: Listing, *others: Listing) -> list[tuple[str, tuple[str, ...]]]:
    candidates, stats = collection(listed, *others)
    hit = explain(ranked(query, candidates[:1], stats), 0)
    return [(match.name, match.matched_terms) for match in hit.capabilities]


MAILER = listing(
    "a.example",
    "Mailer: works with email",
    ("send_email", "Sends one email"),
    ("list_inbox", "Lists received email"),
    ("billing", "Invoices"),
    ("telefax", "A fax by phone"),
)
OTHER = listing("b.example", "Weather: the inbox of clouds")


def test_capabilities_that_cover_most_of_the_query_are_shown_with_the_words_they_matched() -> None:
    assert explained("please send an email", MAILER, OTHER) == [("send_email", ("send", "email"))]
    assert explained("fax invoices to a phone", MAILER, OTHER) == [("telefax", ("fax", "phone"))]


def test_no_capability_is_shown_where_only_the_services_own_text_matched() -> None:
    assert explained("mailer works", MAILER, OTHER) == []


def test_equal_capabilities_keep_the_documents_order_and_are_three_at_most() -> None:
    listed = listing("a.example", "x", *[f"mail {letter}" for letter in "zyxw"])
    assert [name for name, _ in explained("mail", listed, OTHER)] == ["mail z", "mail y", "mail x"]


def test_of_nearly_equal_capabilities_what_can_be_called_comes_first() -> None:
    listed = [ListedCapability(name) for name in ("mail y", "mail x", "mail fax")]
    named = listing("a.example", "x", capabilities=tuple(listed))
    assert [name for name, _ in explained("mail fax", named, OTHER)] == ["mail fax"]
    listed[1] = replace(listed[1], callability="true")
    assert explained("mail", replace(named, capabilities=tuple(listed)), OTHER)[0][0] == "mail x"
    assert explained("mail fax", replace(named, capabilities=tuple(listed)), OTHER)[0][0] == "mail fax"


def test_the_score_of_a_capability_is_its_share_of_the_whole_query() -> None:
    candidates, stats = collection(MAILER, OTHER)
    (whole,) = explain(ranked("billing", candidates, stats), 0).capabilities
    part = explain(ranked("billing unheardof", candidates, stats), 0).capabilities[0]
    assert whole.score == 1.0
    assert 0 < part.score < 1.0


def test_matched_words_are_in_the_order_of_the_query() -> None:
    candidates, stats = collection(MAILER, OTHER)
    assert explain(ranked("Invoices, emails; unheard", candidates, stats), 0).matched_terms == ("invoices", "emails")


def test_texts_beyond_the_limits_are_ignored() -> None:
    text = "alpha " * DESCRIPTION_CHARS + "omega"
    cut = listing("a.example", "n" * NAME_CHARS + " omega", ("c", "beta " * CAPABILITY_CHARS + "omega"))
    long = listing("a.example", f"x: {text}", *[f"c{n}" for n in range(CAPABILITIES)], "omega")
    assert counts(make_record(cut), "omega") == {"omega": 0}
    assert counts(make_record(long), "omega") == {"omega": 0}
    assert len(make_record(long).capabilities.names) == CAPABILITIES
    many = listing("a.example", "x", *[(f"c{n}", "beta " * 399) for n in range(100)])
    assert make_record(many).length <= CAPABILITIES_CHARS / 5 + 1 + 4 + 100 * 2


def test_one_long_text_hardly_changes_the_mean_length() -> None:
    texts = [listing(f"h{n}.example", "Mail: sends mail") for n in range(9)]
    _, alone = collection(*texts)
    _, beside = collection(*texts, listing("book.example", "Book: " + "word " * 3_000))
    assert alone.mean_length == make_record(texts[0]).length
    assert beside.mean_length == (9 * alone.mean_length + LENGTH_COUNTED) / 10


def test_keywords_count_as_part_of_the_description() -> None:
    capability = ListedCapability("book", "Books it", keywords=("trip:bookFlight", "fly me to Rome"))
    listed = listing("a.example", "Wings: flies", keywords=("air travel",), capabilities=(capability,))
    assert counts(make_record(listed), "air", "flight", "rome") == {"air": 2, "flight": 1, "rome": 1}
    assert texts_of(listed)[1:] == ["Wings. flies air travel", "Wings book: Books it trip book Flight fly me to Rome"]
    full = listing("a.example", "x: " + "y" * DESCRIPTION_CHARS, keywords=("omega",))
    assert counts(make_record(full), "omega") == {"omega": 0}


def test_the_index_hash_depends_on_listing_model_and_ranker(monkeypatch: pytest.MonkeyPatch) -> None:
    assert index_hash(MAILER) == index_hash(MAILER)
    assert index_hash(MAILER) != index_hash(OTHER)
    assert index_hash(MAILER, "wp_000000000000") != index_hash(MAILER)
    before = index_hash(MAILER)
    monkeypatch.setattr("registry.core.ranking.record.RANKER_VERSION", "other")
    assert index_hash(MAILER) != before
