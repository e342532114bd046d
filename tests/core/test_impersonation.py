"""Known names are found in every spelling that reads the same, and ordinary words stay ordinary."""

import pytest

from registry.core.names.confusables import PROTOTYPES, skeleton, without_marks
from registry.core.names.domains import host_syntax, is_confusable, registrable_domain
from registry.core.names.impersonation import (
    asked_for,
    claimed_hosts,
    hosts_in,
    known_name_in,
    known_name_in_host,
    owned_name,
)
from registry.core.names.known_names import KNOWN_NAMES
from registry.core.names.suffixes import SHIPPED


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("PayPal", "PayPal"),
        ("PayPal Support", "PayPal"),
        ("Gmail integration", "Gmail"),
        ("Invoices for PayPal by Acme", "PayPal"),
        ("Pay Pal", "PayPal"),
        ("P a y P a l", "PayPal"),
        ("P.A.Y.P.A.L", "PayPal"),
        ("pay\u200bpal", "PayPal"),
        ("paypalsupport", "PayPal"),
        ("PayPalHelp", "PayPal"),
        ("paypal24", "PayPal"),
        ("paypa1", "PayPal"),
        ("PaypaI", "PayPal"),
        ("PаyPаl", "PayPal"),  # Cyrillic a
        ("ΡΑΥΡΑL", "PayPal"),  # Greek capitals
        ("ｐａｙｐａｌ", "PayPal"),
        ("𝐏𝐚𝐲𝐏𝐚𝐥", "PayPal"),
        ("ɢoogle", "Google"),
        ("g00gle", "Google"),
        ("rnicrosoft", "Microsoft"),
        ("Páypal", "PayPal"),
        ("Société Générale", "Société Générale"),
        ("Bank of America login", "Bank of America"),
        ("BankOfAmerica", "Bank of America"),
        ("com.paypal/mcp", "PayPal"),
        ("Apple", "Apple"),
        ("Apple Support", "Apple"),
        ("app1e", "Apple"),
        ("visalogin", "Visa"),
        ("Cash App", "Cash App"),
        ("Official Line API", "Line"),
    ],
)
def test_a_known_name_is_found(text: str, name: str) -> None:
    known = known_name_in(text)
    assert known is not None and known.name == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "100",
        "Apple pie recipes",
        "Target practice",
        "Draw a line",
        "Stripe patterns for wallpaper",
        "Hotel booking",
        "Sales Force Automation",
        "Open AI directory",
        "Revolution",
        "Redditch weather",
        "Discordant",
        "Intelligence",
        "Banking",
        "Helpline",
        "Méta-analyse",
        "Signals",
        "io.github.alice/weather",
    ],
)
def test_ordinary_words_are_no_known_names(text: str) -> None:
    assert known_name_in(text) is None


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("claims-paypal.com", "PayPal"),
        ("paypal.secure-payments.com", "PayPal"),
        ("paypal.co.uk", "PayPal"),
        ("pay-pal.com", "PayPal"),
        ("paypa1.com", "PayPal"),
        ("pаypal.com", "PayPal"),  # Cyrillic a
        ("paypál.com", "PayPal"),
        ("rnicrosoft.com", "Microsoft"),
        ("appleid-login.net", "Apple"),
        ("my-apple-support.net", "Apple"),
        ("google.github.io", "Google"),
    ],
)
def test_a_known_name_is_found_in_a_host(host: str, name: str) -> None:
    known = known_name_in_host(host_syntax(host))
    assert known is not None and known.name == name


@pytest.mark.parametrize(
    "host", ["target.shop.example", "apple.dev", "banking.com", "online.de", "alice.github.io", "localhost"]
)
def test_ordinary_hosts_have_no_known_name(host: str) -> None:
    assert known_name_in_host(host) is None


def test_owners_are_known_by_their_domains() -> None:
    for host, name in (("api-m.paypal.com", "PayPal"), ("blog.google", "Google"), ("www.ebay.de", "eBay")):
        known = owned_name(host)
        assert known is not None and known.name == name
    assert owned_name("claims-paypal.com") is None and owned_name("paypal.com.shop.example") is None


def test_a_question_names_what_it_contains() -> None:
    assert {known.name for known in asked_for("pay an invoice with Paypal")} == {"PayPal"}
    assert {known.name for known in asked_for("draw a line in Hugging Face")} == {"Line", "Hugging Face"}
    assert not asked_for("send a parcel") and not asked_for("")


def test_the_table_holds_registrable_domains_and_each_name_once() -> None:
    domains = [domain for known in KNOWN_NAMES for domain in known.domains]
    assert [domain for domain in domains if not domain.startswith(".") and registrable_domain(domain) != domain] == []
    assert [top for top in domains if top.startswith(".") and top[1:] not in SHIPPED.names] == []
    assert len({known.key for known in KNOWN_NAMES}) == len(KNOWN_NAMES) > 150
    assert all(known.key.isascii() and known.key.isalnum() for known in KNOWN_NAMES)


def test_look_alike_letters_become_the_letter_and_others_stay() -> None:
    assert skeleton("раураl ɢᴏ") == "paypal go"
    assert (skeleton("bücher 日本"), without_marks("Bücher Łódź")) == ("bücher 日本", "Bucher Lodz")
    assert all(letter.isascii() and letter.isalnum() and not char.isascii() for char, letter in PROTOTYPES.items())


@pytest.mark.parametrize("host", ["hоst.test", "ɢoogle.com", "ƿaypal.com", "ᴘaypal.com"])
def test_letters_that_unicode_calls_confusable_are_flagged(host: str) -> None:
    assert is_confusable(host_syntax(host))


@pytest.mark.parametrize("host", ["סוס.com", "møller.dk", "œuvre.fr", "straße.de"])
def test_letters_of_a_language_are_not_flagged(host: str) -> None:
    assert not is_confusable(host_syntax(host))


@pytest.mark.parametrize(
    "text",
    [
        "paypal.com",
        "PayPal.com – official",
        "https://paypal.com/login",
        "paypal.com.",
        "ｐａｙｐａｌ．ｃｏｍ",
        "paypal。com",
        "paypal%2Ecom",
        "pay\u200bpal.com",
        "did:web:paypal.com",
        "did:web:paypal.com%3A8443:users:x",
        "(paypal.com)",
        "mail@paypal.com",
    ],
)
def test_a_site_is_found_in_any_spelling(text: str) -> None:
    assert hosts_in(text) == claimed_hosts(text) == ("paypal.com",)


@pytest.mark.parametrize("text", ["Node.js helper", "v1.0", "U.S. Food", "io.github.foo/bar", "did:key:z6Mk", "Acme"])
def test_words_with_dots_are_no_sites(text: str) -> None:
    assert hosts_in(text) == ()


def test_names_of_tests_and_suffixes_are_sites() -> None:
    assert hosts_in("bob.github.io or hоst.test") == ("bob.github.io", "xn--hst-sed.test")
    assert claimed_hosts("https://shop.example/www.other.com") == ("shop.example",)
