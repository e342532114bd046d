"""Words of a query are found where they occur in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.ranking.parsed_query import MAX_HIGHLIGHTS, highlights
from registry.core.wording.language import language_of
from registry.core.wording.text import query_terms


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("parcels", "Send a parcel, track parcels.", ["parcel", "parcels"]),
        ("weather", "getWeather_v2 and get_weather", ["getWeather", "weather"]),
        ("don't panic", "Do not PANIC!", ["PANIC"]),
        ("aunt", "My aunt\u2019s parcel", ["aunt\u2019s"]),
        ("<b>bold</b>", "<b>bold</b>", ["b", "bold", "b"]),
        ("żółw", "Żółw i zając", ["Żółw"]),
        ("ich suche eine Wohnung", "Wir vermieten Wohnungen und Häuser", ["Wohnungen"]),
        ("天気予報", "今日の天気予報と天気", ["天気予報", "天気"]),
        ("parcel", "", []),
    ],
)
def test_words_are_marked_in_every_form(query: str, text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in highlights(text, query_terms(query, language_of(query)))] == expected


@given(st.text(max_size=200), st.text(max_size=400))
def test_spans_rise_and_lie_inside(query: str, text: str) -> None:
    previous_end = 0
    spans = highlights(text, query_terms(query))
    assert len(spans) <= MAX_HIGHLIGHTS
    for start, end in spans:
        assert previous_end <= start < end <= len(text)
        previous_end = end
