"""What is sent to Meilisearch: quoted values only, documents, the tally; and how its keys are stored."""

import base64
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.model.listing import Filters, TrustLevel
from registry.core.ranking import CorpusStats, ParsedQuery, make_record, parse_query, term_ids
from registry.core.ranking.copies import standing_of
from registry.core.ranking.vocabulary import Vocabulary
from registry.core.search_filters import FACETS, NAMES, NUMBERS
from registry.search.backend import make_document
from registry.search.column_store import CorpusCounts, OutdatedIndex
from registry.search.meilisearch import layout, queries
from registry.search.meilisearch.admin import Keys, read_keys, write_keys
from tests.search.contract import MAIL, MAPS, SHOP
from tests.search.folding_contract import NOW, POST
from tests.search.listings import listing
from tests.support.candidates import count_corpus

MODEL = "wp_0000example0"

VALUES = st.one_of(
    st.text(max_size=20), st.sampled_from(['adp" OR trust = "unverified', "a\\", '"', "", "_vectors", "*"])
)


@given(st.lists(VALUES, max_size=6).map(tuple), st.integers(-(10**30), 10**30), st.booleans())
def test_filter_values_cannot_inject_filter_syntax(values: tuple[str, ...], number: int, unverified: bool) -> None:
    """For any input the filter consists of declared names, plain quoted words and numbers only."""
    filters = Filters(unverified, values, values, values, values, number)
    (leg,) = queries.word_queries("services", ParsedQuery("a", {"a": "a"}), filters, stats("a"))
    named = queries.named_queries("services", ParsedQuery("a", {}, names=values), Filters(), stats("a"))
    clause = r'(\w+ IN \["[a-z0-9._:+-]+"(, "[a-z0-9._:+-]+")*\]|\w+ \d+ TO \d+|kind = "tally" AND kind = "gone")'
    assert_full(rf"{clause}( AND {clause})*", leg["filter"])
    for query in named:
        assert_full(rf"\({clause}( OR {clause})*\)( AND {clause})*", query["filter"])


def assert_full(pattern: str, text: str) -> None:
    assert re.fullmatch(pattern, text), text


@pytest.mark.parametrize("call", [lambda: queries.is_one_of("name", ["a"]), lambda: queries.between("format", 1, 2)])
def test_only_declared_attributes_can_be_filtered_by(call: Callable[[], str]) -> None:
    with pytest.raises(ValueError, match="attribute"):
        call()


@given(st.text(max_size=300))
def test_queries_consist_of_hashed_words_only(text: str) -> None:
    for leg in queries.word_queries("services", parse_query(text), Filters(), stats(*parse_query(text).terms)):
        assert_full(r"[0-9a-f]{8}( [0-9a-f]{8}){0,9}", leg["q"])


def stats(*words: str, services: int = 1, df: int = 1) -> CorpusStats:
    terms = np.unique(term_ids(list(words)))
    return CorpusStats(services, 10.0, terms, np.full(len(terms), df, np.uint32))


def test_words_that_no_service_holds_are_not_queried() -> None:
    """An empty query would match everything."""
    assert queries.word_queries("services", parse_query("unheard of"), Filters(), stats("weather")) == []


def test_a_zero_vector_is_not_queried() -> None:
    """A zero vector would be equally near to everything."""
    zero = ParsedQuery("x", {}, np.zeros(4, np.float32), None, MODEL)
    assert queries.vector_queries("services", zero, Filters()) == []


def test_rare_words_are_queried_one_by_one_and_the_rest_together() -> None:
    question = ParsedQuery("q", {"rare": "rare", "common": "common", "rarest": "rarest"})
    terms = term_ids(["rarest", "rare", "common"])
    order = np.argsort(terms)
    corpus_stats = CorpusStats(999, 10.0, terms[order], np.array([1, 20, 500], np.uint32)[order])
    sent = queries.word_queries("services", question, Filters(), corpus_stats)
    rarest, rare, common = layout.words_of(terms)
    assert [leg["q"] for leg in sent] == [rarest, rare, f"{rarest} {rare} {common}"]


def test_words_that_copies_make_frequent_are_counted_and_queried_alone() -> None:
    question = ParsedQuery("q", {"rare": "rare", "copied": "copied", "common": "common"})
    terms = term_ids(["rare", "copied", "common"])
    order = np.argsort(terms)
    corpus_stats = CorpusStats(999, 10.0, terms[order], np.array([9, 300, 800], np.uint32)[order])
    rare, copied, common = layout.words_of(terms)
    assert queries.seemingly_common(question, corpus_stats, 100) == []
    assert queries.seemingly_common(question, corpus_stats, 200) == [copied]
    assert queries.seemingly_common(question, corpus_stats, 700) == [copied, common]

    def asked_anew(**counted: int) -> list[str]:
        found: dict[str | None, int] = {None: 100, rare: 9, f"{rare} {copied} {common}": 30}
        numbers = {copied: counted["copied"], common: counted["common"]}
        sent = queries.rarer_queries("services", question, Filters(), corpus_stats, found, numbers)
        return [leg["q"] for leg in sent]

    assert asked_anew(copied=111, common=121) == [copied]
    assert asked_anew(copied=112, common=121) == []
    assert asked_anew(copied=1, common=0) == [copied]


def test_copies_are_stored_with_the_statistics() -> None:
    copied = {2**64 - 1: 2, 7: 10_000}
    sent = layout.statistics_document("g.1", b"", copied, "")
    assert layout.copied_from(base64.b64decode(sent["copied"])) == copied
    assert layout.copied_from(b"") == {}


def test_a_service_is_sent_with_its_vector_or_with_none() -> None:
    record = make_record(MAIL, np.array([[0.0, 3.0, 4.0, 0.0], [1.0, 0.0, 0.0, 0.0]], np.float32), MODEL)
    document = make_document(MAIL)
    sent = layout.service_document(type(document)(MAIL, record, document.hash), MODEL)
    ((vector,),) = [sent["_vectors"][MODEL]["embeddings"]]
    assert np.allclose(vector, [0, 0.6, 0.8, 0], atol=0.01)
    assert layout.service_document(document, MODEL)["_vectors"] == {MODEL: None}
    assert "_vectors" not in layout.service_document(document, "")


@given(st.lists(st.from_regex(r"[a-z0-9-]{1,10}(\.[a-z0-9-]{1,10}){1,4}", fullmatch=True), max_size=30, unique=True))
def test_each_host_has_its_own_id(hosts: list[str]) -> None:
    ids = {layout.id_of(host) for host in hosts}
    assert len(ids) == len(hosts)
    for document_id in ids:
        assert_full(r"[A-Za-z0-9_-]{1,511}", document_id)


def test_other_names_have_ids_too() -> None:
    names = ["a_b.example", "a.b.example", "日本.example", "a" * 600]
    assert len({layout.id_of(name) for name in names}) == 4
    assert all(len(layout.id_of(name)) < 300 and layout.id_of(name).isascii() for name in names)


def test_a_tally_is_read_back_unchanged() -> None:
    tally = CorpusCounts(commit=3)
    for service in (MAIL, SHOP, MAPS):
        tally.add(make_record(service))
    tally.remove(make_record(SHOP).length, make_record(SHOP).terms)
    decoded = CorpusCounts.decode(tally.encode("7"), "7")
    assert decoded == tally
    assert decoded.stats() == count_corpus(make_record(remaining) for remaining in (MAIL, MAPS))
    for raw, name in [(tally.encode("7"), "8"), (b"", "7"), (b"\x017", "7"), (tally.encode("7")[:-9], "7")]:
        with pytest.raises(OutdatedIndex):
            CorpusCounts.decode(raw, name)
    decoded.add(make_record(SHOP))
    assert decoded.stats().vocabulary == Vocabulary.of(decoded.words)


def test_an_index_document_holds_every_facet() -> None:
    """Every facet that a filter may name is in every document."""
    sent = layout.service_document(make_document(listing("a.example", protocols=("mcp",))), "")
    assert set(FACETS) | set(NAMES) | set(NUMBERS) <= set(sent)
    assert sent["protocol"] == ["mcp"]


def test_a_document_says_of_what_it_is_a_copy() -> None:
    standing = standing_of(POST)
    sent = layout.service_document(make_document(POST), "")
    assert (*layout.offer_and_level(sent["copy"]), sent["offered"], sent["listed"]) == standing
    assert sent["offered"] == NOW.timestamp()
    nobody = layout.service_document(make_document(MAIL), "")
    assert (nobody["copy"], nobody["offered"]) == (None, 0)
    unverified = layout.service_document(make_document(replace(POST, trust_level=TrustLevel.UNVERIFIED)), "")
    assert unverified["copy"] == f"{standing.offer:016x}-3"
    query = queries.copies_query("services", standing.offer, Filters(include_unverified=True))
    assert all(f'"{standing.offer:016x}-{level}"' in query["filter"] for level in range(3))


def test_key_files_are_private_and_missing_ones_are_skipped(tmp_path: Path) -> None:
    keys = Keys(search="to search", indexer="to write", tasks="to see tasks")
    paths = write_keys(keys, "services", tmp_path)
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}
    assert read_keys(tmp_path, "services") == keys
    (tmp_path / "feeding" / "indexer").unlink()
    assert read_keys(tmp_path, "services") == Keys(keys.search, None, keys.tasks)
    assert read_keys(tmp_path / "nowhere", "services") == Keys()
