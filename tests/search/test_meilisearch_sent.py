"""What is sent to a Meilisearch engine: our own words alone, documents, the tally; and how its keys are kept."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.listing import Filters
from registry.core.ranking import CorpusStats, Question, ask, make_record, term_ids
from registry.search.backend import make_document
from registry.search.facets import FACETS, NUMBERS
from registry.search.meilisearch import layout, legs
from registry.search.meilisearch.admin import Keys
from registry.search.meilisearch.keys import read_keys, write_keys
from registry.search.tally import Outdated, Tally
from tests.search.contract import MAIL, MAPS, SHOP
from tests.search.listings import listing

MODEL = "wp_0000example0"

VALUES = st.one_of(
    st.text(max_size=20), st.sampled_from(['adp" OR trust = "unverified', "a\\", '"', "", "_vectors", "*"])
)


@given(st.lists(VALUES, max_size=6).map(tuple), st.integers(-(10**30), 10**30), st.booleans())
def test_nothing_from_outside_gets_into_the_filter_language(
    values: tuple[str, ...], number: int, unverified: bool
) -> None:
    """Whatever is asked for, the filter is made of our names, plain quoted words and numbers, and nothing else."""
    filters = Filters(unverified, values, values, values, values, number)
    (leg,) = legs.word_legs("services", Question("a", {"a": "a"}), filters, stats("a"))
    clause = r'(\w+ IN \["[a-z0-9._:+-]+"(, "[a-z0-9._:+-]+")*\]|\w+ \d+ TO \d+|kind = "tally" AND kind = "gone")'
    assert_full(rf"{clause}( AND {clause})*", leg["filter"])


def assert_full(pattern: str, text: str) -> None:
    assert re.fullmatch(pattern, text), text


@pytest.mark.parametrize("call", [lambda: legs.is_one_of("name", ["a"]), lambda: legs.between("format", 1, 2)])
def test_only_what_is_declared_can_be_filtered_by(call: Callable[[], str]) -> None:
    with pytest.raises(ValueError, match="attribute"):
        call()


@given(st.text(max_size=300))
def test_nothing_from_outside_gets_into_the_query_language(text: str) -> None:
    for leg in legs.word_legs("services", ask(text), Filters(), stats(*ask(text).terms)):
        assert_full(r"[0-9a-f]{8}( [0-9a-f]{8}){0,9}", leg["q"])


def stats(*words: str, services: int = 1, df: int = 1) -> CorpusStats:
    terms = np.unique(term_ids(list(words)))
    return CorpusStats(services, 10.0, terms, np.full(len(terms), df, np.uint32))


def test_words_that_nobody_holds_are_not_asked_for() -> None:
    """An empty query would find everything."""
    assert legs.word_legs("services", ask("unheard of"), Filters(), stats("weather")) == []


def test_a_zero_vector_is_not_asked_for() -> None:
    """It would be as near to everything as can be."""
    zero = Question("x", {}, np.zeros(4, np.float32), None, MODEL)
    assert legs.vector_leg("services", zero, Filters()) == []


def test_rare_words_are_asked_for_one_by_one_and_the_rest_together() -> None:
    question = Question("q", {"rare": "rare", "common": "common", "rarest": "rarest"})
    terms = term_ids(["rarest", "rare", "common"])
    order = np.argsort(terms)
    held = CorpusStats(999, 10.0, terms[order], np.array([1, 20, 500], np.uint32)[order])
    sent = legs.word_legs("services", question, Filters(), held)
    rarest, rare, common = layout.words_of(terms)
    assert [leg["q"] for leg in sent] == [rarest, rare, f"{rarest} {rare} {common}"]


def test_a_service_is_sent_with_its_vector_or_with_none() -> None:
    record = make_record(MAIL, np.array([[0.0, 3.0, 4.0, 0.0], [1.0, 0.0, 0.0, 0.0]], np.float32), MODEL)
    document = make_document(MAIL)
    sent = layout.service(type(document)(MAIL, record, document.hash), MODEL)
    ((vector,),) = [sent["_vectors"][MODEL]["embeddings"]]
    assert np.allclose(vector, [0, 0.6, 0.8, 0], atol=0.01)
    assert layout.service(document, MODEL)["_vectors"] == {MODEL: None}
    assert "_vectors" not in layout.service(document, "")


@given(st.lists(st.from_regex(r"[a-z0-9-]{1,10}(\.[a-z0-9-]{1,10}){1,4}", fullmatch=True), max_size=30, unique=True))
def test_each_host_has_an_id_of_its_own(hosts: list[str]) -> None:
    ids = {layout.id_of(host) for host in hosts}
    assert len(ids) == len(hosts)
    for one in ids:
        assert_full(r"[A-Za-z0-9_-]{1,511}", one)


def test_other_names_have_ids_too() -> None:
    names = ["a_b.example", "a.b.example", "日本.example", "a" * 600]
    assert len({layout.id_of(name) for name in names}) == 4
    assert all(len(layout.id_of(name)) < 300 and layout.id_of(name).isascii() for name in names)


def test_a_tally_comes_back_as_it_was() -> None:
    tally = Tally(commit=3)
    for one in (MAIL, SHOP, MAPS):
        tally.add(make_record(one))
    tally.remove(make_record(SHOP))
    back = Tally.decode(tally.encode("7"), "7")
    assert back == tally
    assert back.stats() == CorpusStats.of(make_record(one) for one in (MAIL, MAPS))
    for raw, name in [(tally.encode("7"), "8"), (b"", "7"), (b"\x017", "7"), (tally.encode("7")[:-9], "7")]:
        with pytest.raises(Outdated):
            Tally.decode(raw, name)


def test_what_an_index_holds_is_decided_by_its_listing() -> None:
    """A facet that a filter may name is in every document."""
    sent = layout.service(make_document(listing("a.example", protocols=("mcp",))), "")
    assert set(FACETS) | set(NUMBERS) <= set(sent)
    assert sent["protocol"] == ["mcp"]


def test_keys_are_written_for_their_owner_alone_and_read_where_they_may_be(tmp_path: Path) -> None:
    keys = Keys(search="to search", indexer="to write", tasks="to see tasks")
    paths = write_keys(keys, "services", tmp_path)
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}
    assert read_keys(tmp_path, "services") == keys
    (tmp_path / "feeding" / "indexer").unlink()
    assert read_keys(tmp_path, "services") == Keys(keys.search, None, keys.tasks)
    assert read_keys(tmp_path / "nowhere", "services") == Keys()
