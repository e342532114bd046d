"""What in a question may be the name of a host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.ranking.naming import is_addressed, names_in

WORDS = {"send", "a", "parcel", "with", "weather", "what", "is", "the", "e", "mail"}


def known(word: str) -> bool:
    return word in WORDS


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("api.pigeons.example", ("api.pigeons.example",)),
        ("what is API.Pigeons.Example.?", ("api.pigeons.example",)),
        ("see https://user@pigeons.example:443/docs?a=b.c#d, please", ("see", "pigeons.example", "please")),
        ("(pigeons.example)", ("pigeons.example",)),
        ("b\u00fccher.example", ("xn--bcher-kva.example",)),
        ("send a parcel with pigeonpost", ("pigeonpost",)),
        ("weather", ("weather",)),
        ("Pigeon-Post", ("pigeon-post",)),
        ("send a parcel", ()),
        ("1.5 3.14", ()),
        ("send... a.. .parcel", ()),
        ("!!! \u2764", ()),
        ("", ()),
    ],
)
def test_hosts_domains_and_labels_are_read(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text, known) == names


def test_without_an_embedder_a_label_is_the_whole_question() -> None:
    assert names_in("pigeonpost", None) == ("pigeonpost",)
    assert names_in("send with pigeonpost and pigeons.example", None) == ("pigeons.example",)


@given(st.text(max_size=400))
def test_any_text_has_few_names(text: str) -> None:
    assert len(names_in(text, known)) <= 8


def test_hosts_are_addressed_by_their_name_and_domain_not_by_a_label() -> None:
    assert is_addressed("api.pigeons.example", ("api.pigeons.example",))
    assert is_addressed("api.pigeons.example", ("x", "pigeons.example"))
    assert not is_addressed("api.pigeons.example", ("pigeons",))
    assert not is_addressed("pigeons.example", ("api.pigeons.example", "eons.example"))
