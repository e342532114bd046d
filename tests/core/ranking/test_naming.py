"""What in a question may be the name of a host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.ranking.naming import addressed, names_in, sought
from registry.core.ranking.record import make_record
from registry.core.wording.text import query_terms
from tests.search.listings import listing
from tests.support.candidates import count_corpus

WORDS = {"send", "a", "parcel", "with", "weather", "what", "is", "the", "e", "mail"}


def names(text: str) -> tuple[str, ...]:
    return names_in(text, [word for word in query_terms(text).values() if word not in WORDS])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("api.pigeons.example", ("api.pigeons.example",)),
        ("what is API.Pigeons.Example.?", ("api.pigeons.example",)),
        ("see https://user@pigeons.example:443/docs?a=b.c#d, please", ("pigeons.example", "see")),
        ("(pigeons.example)", ("pigeons.example",)),
        ("b\u00fccher.example", ("xn--bcher-kva.example",)),
        ("send a parcel with pigeonpost", ("pigeonpost",)),
        ("weather", ("weather",)),
        ("Pigeon-Post", ("pigeon-post",)),
        ("send a parcel", ()),
        ("1.5 3.14", ()),
        ("send... a.. .parcel", ()),
        ("send a parcel with pigeon-post", ("pigeon-post",)),
        ("sned a parcel", ("sned",)),
        ("!!! \u2764", ()),
        ("", ()),
    ],
)
def test_hosts_domains_and_labels_are_read(text: str, expected: tuple[str, ...]) -> None:
    assert names(text) == expected


def test_without_an_embedder_a_label_is_the_whole_question() -> None:
    assert names_in("pigeonpost", []) == ("pigeonpost",)
    assert names_in("send with pigeonpost and pigeons.example", []) == ("pigeons.example",)


@given(st.text(max_size=400))
def test_any_text_has_few_names(text: str) -> None:
    assert len(names(text)) <= 8


@pytest.mark.parametrize(
    ("host", "names", "expected"),
    [
        ("api.pigeons.example", ("api.pigeons.example",), True),
        ("api.pigeons.example", ("x", "pigeons.example"), True),
        ("api.pigeons.example", ("pigeons",), False),
        ("pigeons.example", ("api.pigeons.example", "eons.example"), False),
    ],
)
def test_hosts_are_addressed_by_their_name_and_domain_not_by_a_label(
    host: str, names: tuple[str, ...], expected: bool
) -> None:
    assert addressed(["other.example", host], [1], names) == [1] * expected


def test_a_word_that_many_services_use_is_a_name_only_as_the_whole_question() -> None:
    many = [make_record(listing(f"h{n}.example", "Subtitle: maker")) for n in range(60)]
    few = [make_record(listing(f"p{n}.example", "Pigeonpost")) for n in range(40)]
    stats = count_corpus([*many, *few])
    terms = query_terms("subtitles by pigeonpost")
    names = ("a.example", "subtitles", "pigeonpost", "pigeon-post")
    assert sought(names, terms, stats) == ["a.example", "pigeonpost", "pigeon-post"]
    assert sought(("subtitles",), query_terms("subtitles"), stats) == ("subtitles",)
    assert sought((), terms, stats) == ()
