"""Segments put together again are a piece of the text, whatever is in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.api.marked import FRAGMENT_CHARS, marked
from registry.core.plain_text import ELLIPSIS

LONG = "Books and prices with many couriers. " * 10 + "It tracks a parcel. " + "More of the same follows here. " * 20


def test_a_short_text_is_given_whole() -> None:
    assert marked("Tracks <b>parcels</b>", {"parcel"}) == [
        {"text": "Tracks <b>", "match": False},
        {"text": "parcels", "match": True},
        {"text": "</b>", "match": False},
    ]
    assert marked("Nothing of it", {"parcel"}) == []


def test_a_long_text_is_cut_at_words_around_the_first() -> None:
    segments = marked(LONG, {"parcel"})
    assert [one["text"] for one in segments if one["match"]] == ["parcel"]
    assert (segments[0]["text"], segments[-1]["text"]) == (ELLIPSIS, ELLIPSIS)
    middle = "".join(one["text"] for one in segments[1:-1])
    assert f" {middle} " in LONG
    assert len(middle) <= FRAGMENT_CHARS


@pytest.mark.parametrize("text", ["parcel" * 500, "x" * 300 + " parcel " + "y" * 900, "parcel " * 300])
def test_words_of_any_length_end(text: str) -> None:
    assert len("".join(one["text"] for one in marked(text, {"parcel", "parcel" * 10}))) <= len(text) + 2


@given(st.text(max_size=600), st.sampled_from(["a", "parcel", "é"]))
def test_segments_are_the_text(noise: str, word: str) -> None:
    text = f"{noise} {word} {noise}"
    segments = [one["text"] for one in marked(text, {word})]
    assert "".join(part for part in segments if part != ELLIPSIS) in text
