"""The fingerprint of copies is the same, however they are decorated; that of other services is another one."""

import pytest

from registry.core.model.listing import Listing
from registry.core.wording.fields import fingerprint
from tests.search.listings import listing

TEXT = "Pigeon Post: Books, prices and tracks parcels with local couriers. See https://pigeons.example/docs."
CAPABILITIES = (("create_parcel", "Creates a parcel"), ("trackParcel", "Says where a parcel is"))
ORIGINAL = listing("pigeons.example", TEXT, *CAPABILITIES)


@pytest.mark.parametrize(
    "copy",
    [
        listing("copy.example", TEXT, *CAPABILITIES),
        listing("copy.example", TEXT.replace("pigeons.example/docs", "copy.example/x?y=1"), *CAPABILITIES),
        listing("copy.example", TEXT.replace("https://pigeons.example/docs", "api.copy.example"), *CAPABILITIES),
        listing("copy.example", TEXT, *reversed(CAPABILITIES)),
        listing("copy.example", TEXT, *CAPABILITIES, CAPABILITIES[0]),
        listing("copy.example", TEXT, ("Create-Parcel", "creates a parcel!"), CAPABILITIES[1]),
        listing("copy.example", "\u200b".join(TEXT).replace(":\u200b ", ": "), *CAPABILITIES),
        listing("copy.example", TEXT.replace("parcels", "par\u00adc\ufe0fels\u3164").upper(), *CAPABILITIES),
        listing("copy.example", TEXT.replace("couriers", "\uff43ouriers"), *CAPABILITIES),
        listing("copy.example", TEXT.replace(", ", " \n - "), *CAPABILITIES),
    ],
    ids=["verbatim", "url", "host", "order", "twice", "spelling", "zero-width", "fillers", "wide", "punctuation"],
)
def test_copies_have_the_fingerprint_of_the_original(copy: Listing) -> None:
    assert fingerprint(copy) == fingerprint(ORIGINAL) != 0


def test_a_service_named_after_its_host_is_equal_at_another_host() -> None:
    text = "Books, prices and tracks parcels with local couriers"
    assert fingerprint(listing("a.example", f"a.example: {text}")) == fingerprint(
        listing("www.b.example", f"www.b.example: {text}")
    )


@pytest.mark.parametrize("label", ["parcels", "couriers", "pigeon"])
def test_the_label_of_the_domain_is_no_decoration(label: str) -> None:
    """Otherwise each of these copies would lack another word, and none would be equal to another."""
    assert fingerprint(listing(f"{label}.example", TEXT, *CAPABILITIES)) == fingerprint(ORIGINAL)


@pytest.mark.parametrize(
    "other",
    [
        listing("a.example", TEXT.replace("Pigeon", "Raven"), *CAPABILITIES),
        listing("a.example", TEXT.replace("parcels", "letters"), *CAPABILITIES),
        listing("a.example", TEXT, CAPABILITIES[0]),
        listing("a.example", TEXT, ("create_letter", "Creates a parcel"), CAPABILITIES[1]),
        listing("a.example", TEXT, (CAPABILITIES[0][0], CAPABILITIES[1][1]), (CAPABILITIES[1][0], CAPABILITIES[0][1])),
    ],
    ids=["name", "description", "fewer capabilities", "capability's name", "exchanged descriptions"],
)
def test_other_services_have_other_fingerprints(other: Listing) -> None:
    assert fingerprint(other) not in (0, fingerprint(ORIGINAL))


@pytest.mark.parametrize(
    "trivial",
    [
        listing("a.example"),
        listing("a.example", "a.example", ("chat", "Chat")),
        listing("a.example", "Assistant: A helpful assistant", ("chat", "Chat with the assistant")),
        listing("a.example", "a.example", *(f"dev.ucp.shopping.{name}" for name in ("checkout", "cart", "order"))),
        listing("a.example", "word: " + "word " * 100),
        listing("a.example", "x: " + " ".join(f"https://h{n}.example/" for n in range(20))),
    ],
    ids=["empty", "one capability", "few words", "a platform's capabilities", "one word", "links only"],
)
def test_services_of_few_words_are_nobodys_copy(trivial: Listing) -> None:
    assert fingerprint(trivial) == 0
