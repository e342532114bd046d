"""Lines of a text with their marks: as the positions of findings count them, and bounded for every text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.reading.numbered import MAX_CHARS, MAX_LINES, numbered_lines


@pytest.mark.parametrize(
    ("text", "marks", "shown"),
    [
        ("", {}, []),
        ("a\nb\n", {}, [(1, "a", "", ""), (2, "b", "", "")]),
        ("a\n", {2: 1}, [(1, "a", "", ""), (2, "", "", "")]),
        ('{"a": "x y",}', {1: 7}, [(1, '{"a": ', '"x y"', ",}")]),
        ("[1, true]", {1: 5}, [(1, "[1, ", "true", "]")]),
        ("[1]", {1: 99}, [(1, "[1]", "", "")]),
        ("\ufeff{}", {1: 1}, [(1, "", "{", "}")]),
        ('"open', {1: 1}, [(1, "", '"open', "")]),
    ],
)
def test_a_line_has_its_number_and_its_mark(
    text: str, marks: dict[int, int], shown: list[tuple[int, str, str, str]]
) -> None:
    assert [(line.number, *line.parts) for line in numbered_lines(text, marks)] == shown


def test_a_long_text_is_shown_around_its_marks() -> None:
    lines = numbered_lines("\n".join(map(str, range(10_000))), {5_000: 1, 9_999: 1})
    assert [line.number for line in lines] == [1, 2, 3, *range(4_997, 5_004), *range(9_996, 10_001)]
    assert [line.number for line in lines if line.follows_gap] == [4_997, 9_996]


def test_a_long_line_is_cut_around_its_mark() -> None:
    (line,) = numbered_lines("x" * 500 + '"' + "y" * 5_000 + '"' + "z" * 500, {1: 501})
    assert line.parts[1].startswith('"y') and sum(map(len, line.parts)) <= 2 * MAX_CHARS + 2


@given(st.text(), st.dictionaries(st.integers(-2, 9), st.integers(-2, 9)))
def test_no_text_raises_and_what_is_shown_is_bounded(text: str, marks: dict[int, int]) -> None:
    lines = numbered_lines(text * 3, marks)
    assert len(lines) <= MAX_LINES
    assert all(len(part) <= MAX_CHARS for line in lines for part in line.parts)
