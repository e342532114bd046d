"""Identifiers of entries: made of the host that served, and read back exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.format_support.artifact_types import TYPE_OF
from registry.core.names.air import AirName, air_urn, is_air_urn, parse_air_urn, publisher_of, repaired

HOSTS = ("pigeonpost.example", "api.pigeonpost.example", "xn--bcher-kva.example", "a-b.co.uk", "x.y.github.io", "a.b")


@pytest.mark.parametrize("host", HOSTS)
def test_every_entry_has_an_identifier_that_leads_back(host: str) -> None:
    for slug in TYPE_OF:
        urn = air_urn(host, slug)
        assert is_air_urn(urn)
        assert parse_air_urn(urn) == AirName(host, slug)


def test_the_last_segment_is_for_people() -> None:
    assert air_urn("api.pigeonpost.example", "a2a") == "urn:air:api.pigeonpost.example:a2a:pigeonpost"


@pytest.mark.parametrize(
    "text",
    [
        "", "urn:air:", "urn:air:a.example", "urn:ai:a.example:a2a:a", "urn:air:a.example:a2a:b",
        "urn:air:A.example:a2a:a",
        "urn:air:a.example:a2a:a\n", " urn:air:a.example:a2a:a", "urn:air:a.example:a2a:a:a", "urn:air:a.example:a b:a",
        "urn:air:1.2.3.4:a2a:1", "urn:air:-a.example:a2a:-a", "urn:air:" + "a" * 600 + ":a2a:a",
    ],
)  # fmt: skip
def test_other_texts_are_no_identifiers_of_ours(text: str) -> None:
    assert parse_air_urn(text) is None


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Pigeonpost.example", "pigeonpost.example"), ("urn:air:pigeonpost.example:a:b", "pigeonpost.example"),
        ("urn:ai:pigeonpost.example:a", "pigeonpost.example"), ("URN:AI:pigeonpost.example", "pigeonpost.example"),
        (" bücher.example ", "xn--bcher-kva.example"), ("https://a.example", None), ("a.example:443", None),
        ("urn:other:a.example", None), ("", None), ("127.0.0.1", None),
    ],
)  # fmt: skip
def test_publishers_are_read_in_any_spelling(text: str, host: str | None) -> None:
    assert publisher_of(text) == host


def test_the_misspelt_scheme_is_repaired() -> None:
    assert repaired("URN:AI:a.example:a2a:a") == repaired("urn:air:a.example:a2a:a") == "urn:air:a.example:a2a:a"
    assert repaired(" urn:x ") == "urn:x"


@given(st.text(max_size=100))
def test_any_text_is_read(text: str) -> None:
    if (name := parse_air_urn(text)) is not None:
        assert air_urn(*name) == text
    publisher_of(text)
    is_air_urn(repaired(text))
