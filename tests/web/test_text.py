"""Texts for pages."""

import json
import re
import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from registry.web import text

NOW = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)


@given(st.text())
def test_no_character_without_a_shape_is_left(value: str) -> None:
    shown = text.visible(value)
    kept = {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs")}
    # joiners that letters and pictographs need, marks of Arabic numbers and of music, and white space
    assert not {char for char in kept if char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e"}
    assert not {char for char in kept if unicodedata.category(char) in ("Cc", "Cs")} - {"\n", "\t"}


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_texts_stay(value: str) -> None:
    assert text.visible(value) == value


def test_a_mark_names_the_character() -> None:
    assert text.visible("a\u202eb\U000e0041") == "a[U+202E]b[U+E0041]"
    assert (
        text.visible("\u0645\u06cc\u200c\u0631\u0648\u0645 a\u200cb")
        == "\u0645\u06cc\u200c\u0631\u0648\u0645 a[U+200C]b"
    )
    assert text.visible(Markup("<b>")) == "<b>"
    assert text.visible(3) == 3


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_json_to_copy_means_the_same(value: object) -> None:
    copied = text.as_json(value, 10**9)
    assert json.loads(copied) == value
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f]", copied)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "data:text/html,x", "//x.example", "/relative", "ftp://x.example", "", None,
        "https://user@x.example/", "http://127.0.0.1/", "https://localhost/", "http://10.0.0.1/", "https://[::1]/",
        "https://x.internal/", "java\nscript:alert(1)", "https://" + "x" * 3_000 + ".example", "https://",
    ],
)  # fmt: skip
def test_other_addresses_are_not_linked_to(url: str | None) -> None:
    assert text.outside(url) is None


@given(st.text())
def test_a_link_is_https_or_http(url: str) -> None:
    safe = text.outside(url)
    assert safe is None or safe.startswith(("https://", "http://"))


def test_public_addresses_are_linked_to_as_the_parser_writes_them() -> None:
    assert text.outside("https://X.example/a b") == "https://x.example/a%20b"


@pytest.mark.parametrize(
    ("distance", "says"),
    [
        (timedelta(seconds=5), "just now"), (timedelta(minutes=1), "1 minute ago"), (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=-2), "in 2 days"), (timedelta(seconds=-5), "in a moment"), (timedelta(days=800), "2 years ago"),
    ],
)  # fmt: skip
def test_times_are_relative(distance: timedelta, says: str) -> None:
    assert text.relative((NOW - distance).isoformat(), NOW) == says


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    )
)
def test_any_value_is_shown_as_a_short_text(value: object) -> None:
    assert len(text.short(value, 20)) <= 20
    assert isinstance(text.listed([value]), str)
    assert isinstance(text.words(value), str)
    assert text.outside(value) is None or isinstance(value, str)


@pytest.mark.parametrize(
    ("seconds", "says"), [(0, "0 seconds"), (59.9, "59 seconds"), (3_599, "59 minutes"), (691_237, "8 days")]
)
def test_a_length_of_time_has_one_unit(seconds: float, says: str) -> None:
    assert text.duration(seconds) == says


def test_abbreviations_are_spelt_as_usual() -> None:
    assert text.words("api_key") == "API key"
    assert text.words("tls-error") == "TLS error"
    assert text.words("valid") == "valid"
