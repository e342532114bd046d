"""Joined highlight segments are a part of the original text, whatever it contains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.api.discover import FRAGMENT_CHARS, highlight
from registry.core.reading.plain_text import ELLIPSIS

LONG = "Books and prices with many couriers. " * 10 + "It tracks a parcel. " + "More of the same follows here. " * 20


def test_a_short_text_is_returned_whole() -> None:
    assert highlight("Tracks <b>parcels</b>", {"parcel"}) == [
        {"text": "Tracks <b>", "match": False},
        {"text": "parcels", "match": True},
        {"text": "</b>", "match": False},
    ]
    assert highlight("Nothing of it", {"parcel"}) == []


def test_a_long_text_is_cut_at_words_around_the_first_match() -> None:
    segments = highlight(LONG, {"parcel"})
    assert [segment["text"] for segment in segments if segment["match"]] == ["parcel"]
    assert (segments[0]["text"], segments[-1]["text"]) == (ELLIPSIS, ELLIPSIS)
    middle = "".join(segment["text"] for segment in segments[1:-1])
    assert f" {middle} " in LONG
    assert len(middle) <= FRAGMENT_CHARS


@pytest.mark.parametrize("text", ["parcel" * 500, "x" * 300 + " parcel " + "y" * 900, "parcel " * 300])
def test_highlighting_handles_words_of_any_length(text: str) -> None:
    assert len("".join(segment["text"] for segment in highlight(text, {"parcel", "parcel" * 10}))) <= len(text) + 2


@given(st.text(max_size=600), st.sampled_from(["a", "parcel", "é"]))
def test_joined_segments_are_part_of_the_text(noise: str, word: str) -> None:
    text = f"{noise} {word} {noise}"
    segments = [segment["text"] for segment in highlight(text, {word})]
    assert "".join(part for part in segments if part != ELLIPSIS) in text
