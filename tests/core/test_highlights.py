"""Words of a question are found in a text where they stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.highlights import MOST, highlights
from registry.core.text import query_terms


@pytest.mark.parametrize(
    ("asked", "text", "expected"),
    [
        ("parcels", "Send a parcel, track parcels.", ["parcel", "parcels"]),
        ("weather", "getWeather_v2 and get_weather", ["getWeather", "weather"]),
        ("don't panic", "Do not PANIC!", ["PANIC"]),
        ("aunt", "My aunt\u2019s parcel", ["aunt\u2019s"]),
        ("<b>bold</b>", "<b>bold</b>", ["b", "bold", "b"]),
        ("żółw", "Żółw i zając", ["Żółw"]),
        ("parcel", "", []),
    ],
)
def test_words_are_marked_in_every_form(asked: str, text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in highlights(text, query_terms(asked))] == expected


@given(st.text(max_size=200), st.text(max_size=400))
def test_spans_rise_and_lie_inside(asked: str, text: str) -> None:
    at = 0
    found = highlights(text, query_terms(asked))
    assert len(found) <= MOST
    for start, end in found:
        assert at <= start < end <= len(text)
        at = end
