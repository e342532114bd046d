"""The category of a service is derived from its own words, or is `other`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.merging.categories import CATEGORIES, TERMS, category_of, slugs_in
from registry.core.model.services import Capability, Service


def service(name: str = "", description: str = "", *names: str, tags: tuple[str, ...] = ()) -> Service:
    capabilities = tuple(Capability(each, each) for each in names)
    return Service(name=name, description=description, tags=tags, capabilities=capabilities)


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (service("Brief", "Sends newsletters and single emails."), "email"),
        (service("Ledger", "Invoicing for small companies."), "payments"),
        (service("Attic", "Keeps your files in three countries."), "storage"),
        (service("Count", "Web analytics without cookies."), "analytics"),
        (service("Ring", "Sends text messages (SMS) to any phone."), "communication"),
        (service("Slots", "Books appointments and sends reminders."), "productivity"),
        (service("Forge", "Hosts git repositories."), "developer-tools"),
        (service("Polyglot", "Machine translation of documents."), "ai-ml"),
        (service("Plaza", "Publishes on your social media at once."), "social"),
        (service("Funnel", "Keeps leads and deals together."), "crm"),
        (service("Corner", "An online store for tea."), "e-commerce"),
        (service("Compass", "Geocoding and directions."), "location"),
        (service("Gatekeeper", "Passwordless login."), "authentication"),
        (service("Bakery", "Bread and cake, baked on the day."), "other"),
        (service(), "other"),
    ],
)
def test_every_category_can_be_derived(described: Service, expected: str) -> None:
    assert category_of(described) == expected


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (service("Payment desk"), "payments"),
        (service("Desk", tags=("payments",)), "payments"),
        (service("Desk", "", "create_payment", "refundPayment", "list_things"), "payments"),
        (service("Desk", "Email with invoices.", tags=("invoice", "tax")), "payments"),
        (service("Desk", "Email with invoices."), "email"),
        (service("Hulls", "A list of old ships. It has no authentication, payment or checkout endpoints."), "other"),
        (service("Meadow", "", "send_email", *(f"count_sheep_{number}" for number in range(9))), "other"),
        (service("io.github.shop/tool"), "other"),
        (service("map.example"), "other"),
    ],
    ids=["name", "tags", "capabilities", "most sources", "first mention", "only the first sentence", "few of many",
         "owner of an identifier", "host name"],
)  # fmt: skip
def test_where_words_count(described: Service, expected: str) -> None:
    assert category_of(described) == expected


def test_words_are_whole_and_may_be_plural() -> None:
    assert slugs_in("Shipments in several currencies") == ("e-commerce", "payments")
    assert slugs_in("shopkeeper mapped taxonomy") == ()


def test_no_word_stands_for_two_categories() -> None:
    words = [word for words in TERMS.values() for word in words.split("; ")]
    assert sorted(set(words)) == sorted(words)


@given(st.builds(service, st.text(), st.text(), tags=st.tuples(st.text(), st.text())))
def test_every_service_has_a_category(described: Service) -> None:
    assert category_of(described) in CATEGORIES
