"""Suggestions for a query: only from words that services hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.ranking import make_record, parse_query
from registry.core.ranking.spelling import NEIGHBOURS, Suggestions, suggest
from tests.search.listings import listing
from tests.support.candidates import count_corpus

STATS = count_corpus(
    make_record(listing(f"h{n}.example", text))
    for n, text in enumerate(["Weather forecast", "Weather maps", "Whether or not", "Parcel tracking", "Parcels"])
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("wether", {"wether": ("weather", "whether")}),  # two services have the first, one has the second
        ("wheather", {"wheather": ("weather", "whether")}),
        ("parsel", {"parsel": ("parcel",)}),
        ("pacrel forcast", {"pacrel": ("parcel",), "forcast": ("forecast",)}),
        ("zqxv", {}),
        ("map", {}),
        ("pär", {}),
        ("w" * 400, {}),
    ],
)
def test_neighbours_are_words_that_services_hold(query: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert suggest(parse_query(query), STATS).spelling == expected


def test_known_words_are_named_as_they_were_asked() -> None:
    suggestions = suggest(parse_query("Please track my pacrels on Mars"), STATS, without_filters=True)
    assert suggestions == Suggestions(("track",), {"pacrels": ("parcels",)}, True)


@given(st.text(max_size=300))
def test_any_text_has_a_bounded_answer(text: str) -> None:
    suggestions = suggest(parse_query(text), STATS)
    assert len(suggestions.spelling) <= 5
    assert all(0 < len(neighbours) <= NEIGHBOURS for neighbours in suggestions.spelling.values())
