"""Known names are found in every spelling that reads the same, and ordinary words stay ordinary."""

import pytest

from registry.core.names import impersonation
from registry.core.names.confusables import PROTOTYPES, skeleton, without_marks
from registry.core.names.domains import host_syntax, is_confusable, registrable_domain
from registry.core.names.known_names import KNOWN_NAMES
from registry.core.names.suffixes import SHIPPED

NAMED = {
    "PayPal": ["PayPal", "PayPal Support", "Invoices for PayPal by Acme", "Pay Pal", "P a y P a l", "P.A.Y.P.A.L",
               "pay\u200bpal", "paypalsupport", "PayPalHelp", "paypal24", "paypa1", "PaypaI", "Páypal",
               "PayPall", "PayPla login", "paypallsupport",
               "com.paypal/mcp", "io.github.paypal/mcp", "贝宝客服", "ペイパル", "PayPal支付", "Пэйпал",
               "PаyPаl", "ΡΑΥΡΑL", "ｐａｙｐａｌ", "𝐏𝐚𝐲𝐏𝐚𝐥"],  # Cyrillic a, Greek capitals
    "Gmail": ["Gmail integration"],
    "Google": ["ɢoogle", "g00gle", "Gogle", "Gooogle"],
    "Microsoft": ["rnicrosoft", "Mircosoft", "Microsft account"],
    "Société Générale": ["Société Générale"],
    "Bank of America": ["Bank of America login", "BankOfAmerica"],
    "Apple": ["Apple", "Apple Support", "app1e"],
    "Visa": ["visalogin"],
    "Cash App": ["Cash App"],
    "Line": ["Official Line API"],
}  # fmt: skip
HOSTS_NAMED = {
    "PayPal": ["claims-paypal.com", "paypal.secure-payments.com", "paypal.co.uk", "pay-pal.com", "paypa1.com",
               "paypal.com.shop.example", "securepaypallogin.com", "paypall.com", "my-payapl-login.net",
               "pаypal.com", "paypál.com"],  # Cyrillic a
    "Stripe": ["stripe.com.shop.example", "stripe-com.shop.example"],
    "Microsoft": ["rnicrosoft.com"],
    "Apple": ["appleid-login.net", "my-apple-support.net"],
    "Google": ["google.github.io"],
}  # fmt: skip


@pytest.mark.parametrize(("text", "name"), [(text, name) for name, texts in NAMED.items() for text in texts])
def test_a_known_name_is_found(text: str, name: str) -> None:
    found = impersonation.known_name_in(text)
    assert found is not None and found.known.name == name


@pytest.mark.parametrize(
    "text",
    [
        "", "100", "Apple pie recipes", "Target practice", "Draw a line", "Stripe patterns for wallpaper",
        "Hotel booking", "Sales Force Automation", "Open AI directory", "Revolution", "Redditch weather", "Discordant",
        "Roman Slack", "Intelligence", "Banking", "Helpline", "Méta-analyse", "Signals",
        "Papal library", "Klara", "Telegramm",
        "io.github.alice/weather",
    ],
)  # fmt: skip
def test_ordinary_words_are_no_known_names(text: str) -> None:
    assert impersonation.known_name_in(text) is None


@pytest.mark.parametrize(("host", "name"), [(host, name) for name, hosts in HOSTS_NAMED.items() for host in hosts])
def test_a_known_name_is_found_in_a_host(host: str, name: str) -> None:
    found = impersonation.known_name_in_host(host_syntax(host))
    assert found is not None and found.known.name == name


@pytest.mark.parametrize(
    "host",
    [
        "target.com.au",
        "x.com.br",
        "target.shop.example",
        "apple.dev",
        "banking.com",
        "online.de",
        "alice.github.io",
        "localhost",
    ],
)
def test_ordinary_hosts_have_no_known_name(host: str) -> None:
    assert impersonation.known_name_in_host(host) is None


@pytest.mark.parametrize(
    ("text", "is_mention"),
    [
        ("Orchard, works with PayPal", True), ("PayPal connector", True), ("Gmail integration", True),
        ("Unofficial GitHub API", True), ("io.github.alice/paypal-mcp", True), ("Weather via Google", True),
        ("PayPal", False), ("PayPal for Orchard", False), ("PayPal Support connector", False),
        ("Official PayPal connector", False), ("Refunds for PayPal", False), ("Log in to PayPal", False),
        ("Payments by PayPal", False), ("Orchard for PаyPal", False),  # Cyrillic a
    ],
)  # fmt: skip
def test_a_partner_is_only_mentioned(text: str, is_mention: bool) -> None:
    found = impersonation.known_name_in(text)
    assert found is not None and found.is_mention == is_mention


@pytest.mark.parametrize(
    ("host", "is_mention"),
    [
        ("gitlab.orchard.example", True), ("orchard-paypal-plugin.com", True), ("works-with-paypal.com", True),
        ("gitlab-orchard.com", False), ("paypal.orchard.example", False), ("sign-in-with-paypal.com", False),
    ],
)  # fmt: skip
def test_a_host_may_name_a_partner(host: str, is_mention: bool) -> None:
    found = impersonation.known_name_in_host(host)
    assert found is not None and found.is_mention == is_mention


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The official PayPal agent for refunds.", "PayPal"), ("Sends money. Official API of PayPal.", "PayPal"),
        ("Official Stripe MCP server.", "Stripe"), ("Operated by PаyPal.", "PayPal"),  # Cyrillic a
        ("Uses the official GitHub API.", None), ("An unofficial PayPal client.", None),
        ("Official Orchard plugin for PayPal.", None), ("Works with PayPal and Google.", None), ("", None),
    ],
)  # fmt: skip
def test_a_description_may_give_the_operator(text: str, name: str | None) -> None:
    known = impersonation.operator_in(text)
    assert (known and known.name) == name


def test_owners_are_known_by_their_domains() -> None:
    for host, name in (("api-m.paypal.com", "PayPal"), ("blog.google", "Google"), ("www.ebay.de", "eBay")):
        known = impersonation.owned_name(host)
        assert known is not None and known.name == name
    assert (
        impersonation.owned_name("claims-paypal.com") is None
        and impersonation.owned_name("paypal.com.shop.example") is None
    )


def test_a_question_names_what_it_contains() -> None:
    assert {known.name for known in impersonation.asked_for("pay an invoice with Paypal")} == {"PayPal"}
    assert {known.name for known in impersonation.asked_for("draw a line in Hugging Face")} == {"Line", "Hugging Face"}
    assert not impersonation.asked_for("send a parcel") and not impersonation.asked_for("")


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
        "paypal.com", "PayPal.com – official", "https://paypal.com/login", "paypal.com.", "ｐａｙｐａｌ．ｃｏｍ",
        "paypal。com", "paypal%2Ecom", "pay\u200bpal.com", "did:web:paypal.com", "did:web:paypal.com%3A8443:users:x",
        "(paypal.com)", "mail@paypal.com",
    ],
)  # fmt: skip
def test_a_site_is_found_in_any_spelling(text: str) -> None:
    assert impersonation.hosts_in(text) == impersonation.claimed_hosts(text) == ("paypal.com",)


@pytest.mark.parametrize("text", ["Node.js helper", "v1.0", "U.S. Food", "io.github.foo/bar", "did:key:z6Mk", "Acme"])
def test_words_with_dots_are_no_sites(text: str) -> None:
    assert impersonation.hosts_in(text) == ()


def test_names_of_tests_and_suffixes_are_sites() -> None:
    assert impersonation.hosts_in("bob.github.io or hоst.test") == ("bob.github.io", "xn--hst-sed.test")
    assert impersonation.claimed_hosts("https://shop.example/www.other.com") == ("shop.example",)
