"""Which words of a question say where, when and how much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.wording.particulars import find_particulars, with_kinds


@pytest.mark.parametrize(
    ("text", "known", "proper"),
    [
        ("rain in Oslo on Sunday", "oslo sunday", ""),
        ("a hotel in san francisco for 3 nights", "san francisco 3 nights", ""),
        ("move 40 kg from Porto to Ghent next week", "40 kg porto ghent next week", ""),
        ("seats at 10:30 tomorrow morning", "10 30 tomorrow morning", ""),
        ("two tables for twelve people", "two twelve people", ""),
        ("pay 500 dollars", "500 dollars", ""),
        ("dollars to yen", "", ""),
        ("a poem in Dutch", "dutch", ""),
        ("learn Dutch", "", "dutch"),
        ("the mp3 of 2 songs in 4k", "2", ""),
        ("a letter to Mrs Adeyemi", "mrs adeyemi", ""),
        ("find the shop of Adeyemi. Then call", "", "adeyemi"),
        ("Find a PDF. Print it", "", ""),
        ("Print The Whole Book", "", ""),
        ("a nice mobile reading app", "", ""),
        ("", "", ""),
    ],
)
def test_places_numbers_dates_and_names_are_particulars(text: str, known: str, proper: str) -> None:
    found = find_particulars(text)
    assert (set(found.kinds), found.proper) == (set(known.split()), set(proper.split()))


def test_a_place_and_a_language_are_read_as_their_kind() -> None:
    text = "translate 2 pages into Dutch in new york's library"
    kinds = find_particulars(text).kinds
    assert with_kinds(text, kinds).split() == ["translate", "pages", "into", "language", "in", "city", "library"]
    assert with_kinds("Oslo", {"oslo": ""}) == "Oslo"


@given(st.text(max_size=80))
def test_any_text_has_particulars_of_its_own_words(text: str) -> None:
    found = find_particulars(text)
    assert all(word in text.lower() for word in found.kinds | dict.fromkeys(found.proper))
    assert len(with_kinds(text, found.kinds)) <= len(text) + 8 * len(text.split())
