import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.reading.plain_text import split_name
from registry.core.wording.text import QUERY_TERMS, REQUEST_WORDS, TOKEN_CHARS, name_text, query_terms, stems


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getWeather_v2", "get Weather v2"), ("HTTPServer", "HTTP Server"),
        ("send-email.to/inbox", "send email to inbox"), ("list::all|now&then", "list all now then"),
        ("weather", "weather"), ("base64Encode", "base64 Encode"), ("", ""),
    ],
)  # fmt: skip
def test_names_split_where_a_reader_would(name: str, parts: str) -> None:
    assert split_name(name) == parts


def test_a_name_is_kept_beside_its_parts() -> None:
    assert name_text("sendEmail") == "sendEmail send Email"
    assert name_text("email") == "email"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Sending SENDS sent", ["send", "send", "sent"]),
        ("Bob's don't O\u2019Neil", ["bob", "dont", "oneil"]),
        ("snake_case, 3.5 e-mail!", ["snake", "case", "3", "5", "e", "mail"]),
        ("Grüße aus Köln", ["grüße", "aus", "köln"]),
        ("天気を調べる", ["天気を調べる"]),
        ("🦊 \x00 --", []),
    ],
)
def test_stems(text: str, terms: list[str]) -> None:
    assert stems(text) == terms


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("I need to let customers reschedule a delivery", ["customers", "reschedule", "delivery"]),
        ("can you help me?", ["can", "you", "help", "me"]),
        ("What's the weather like", ["weather"]),
        ("I\u2019d like my id", ["id"]),
        ("whats up with shell scripts, id rather know", ["shell", "scripts", "id"]),
        ("emails, email and emailing", ["emails"]),
        ("", []),
        ("!!!", []),
    ],
)
def test_request_words_are_removed_from_queries(query: str, words: list[str]) -> None:
    assert list(query_terms(query).values()) == words


def test_words_that_name_what_services_do_are_no_request_words() -> None:
    words = {"find", "search", "check", "create", "list", "information", "tool", "app", "id", "shell"}
    assert not REQUEST_WORDS & words


@settings(max_examples=200)
@given(st.text(max_size=600))
def test_any_text_gives_bounded_terms_without_white_space(text: str) -> None:
    terms = query_terms(text)
    assert len(terms) <= QUERY_TERMS
    for stem in (*terms, *stems(text)):
        assert stem.split() == [stem]
        assert len(stem) <= TOKEN_CHARS + 1


def test_long_queries_are_cut() -> None:
    many = " ".join(f"{chr(97 + n % 26)}{n}" for n in range(300))
    assert len(query_terms(many)) == QUERY_TERMS
    assert query_terms("x" * 10_000) == {"x" * TOKEN_CHARS: "x" * TOKEN_CHARS}
