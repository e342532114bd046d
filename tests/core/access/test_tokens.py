"""Tokens: what is one, and that neither representation nor digest shows the secret."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.access.tokens import Token, parse_token

SECRET = "A" * 42 + "_"
TEXT = f"wp_owner_0123456789abcdef_{SECRET}"


def test_a_token_is_read_back() -> None:
    token = parse_token(TEXT, "owner")
    assert token == Token("owner", "0123456789abcdef", SECRET)
    assert token.text == TEXT


@pytest.mark.parametrize(
    "text",
    [
        "", "wp_", TEXT + "A", TEXT[:-1], TEXT + "\n", " " + TEXT, TEXT.upper(), TEXT.replace("owner", "key"),
        TEXT.replace("0123", "012\u0663"), TEXT.replace("A", "\u00c4"),
    ],
)  # fmt: skip
def test_what_is_no_token_of_this_kind(text: str) -> None:
    assert parse_token(text, "owner") is None


def test_the_secret_is_not_in_the_representation_or_digest() -> None:
    token = Token("owner", "0123456789abcdef", SECRET)
    assert SECRET not in repr(token)
    assert SECRET.encode() not in token.digest


@given(st.text("ABCdef-_", min_size=43, max_size=43), st.text("ABCdef-_", min_size=43, max_size=43))
def test_only_its_own_digest_matches(one: str, other: str) -> None:
    token = Token("owner", "0123456789abcdef", one)
    assert token.matches(token.digest)
    assert token.matches(Token("owner", "0123456789abcdef", other).digest) is (one == other)
    assert not token.matches(token.digest[:-1])
