"""Members that publishers write in many spellings are read into the model, and anything else is left alone."""

import json

import pytest
from hypothesis import given

from registry.core.assessing.assess import assess_body
from registry.core.format_support import loose
from registry.core.format_support.format import Role
from registry.core.format_support.loose_card import with_common_members
from registry.core.format_support.manifest import native, other_members
from registry.core.format_support.params import with_path_variables
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.model.documents import Document, Json
from registry.core.model.services import Origin, Payment, Plan, Pricing, Provider, Service
from tests.core.manifests import FOUND, Fixture, json_values

BASE = "https://ferry.example/.well-known/agent.json"


@pytest.mark.parametrize(
    ("value", "pricing"),
    [
        ("free", Pricing("free", note="free")),
        ("Free for hobbyists, ask otherwise", Pricing(note="Free for hobbyists, ask otherwise")),
        ({"model": "pay-per-use", "details": "$0.02 per trip"}, Pricing("pay_per_call", note="$0.02 per trip")),
        ({"model": "barter", "url": "/prices"}, Pricing(url="https://ferry.example/prices", note="barter")),
        ({"free": True}, Pricing("free")),
        ({"price": 0.5, "currency": "EUR", "unit": "trip"}, Pricing(plans=(Plan(None, "0.5 EUR", "trip"),))),
        (
            {"type": "freemium", "tiers": [{"name": "Pro", "price": "$9/mo", "limits": "1,000 trips"}, "Crew"]},
            Pricing("freemium", (Plan("Pro", "$9/mo", "1,000 trips"), Plan("Crew"))),
        ),
        (
            {"model": "subscription", "details": "Free tier: 20 trips. Crew $12/mo."},
            Pricing("freemium", note="Free tier: 20 trips. Crew $12/mo."),
        ),
        ("Crossings at $0.20 per request", Pricing("pay_per_call", note="Crossings at $0.20 per request")),
        ({"plans": {"basic": 3, "crew": {"price": {"amount": 7, "currency": "NOK"}}}}, Pricing(
            plans=(Plan("basic", "3"), Plan("crew", "7 NOK")))),
        ({"free_tier": True, "payment": "in shells"}, Pricing("freemium")),
        ({"free_tier": {"available": False}, "crew": {"price": 3}}, Pricing(plans=(Plan("crew", "3"),))),
        ({"freeTier": {"limit": "9 trips"}, "crew": {"price": 3}}, Pricing(
            "freemium", (Plan("freeTier", None, "9 trips"), Plan("crew", "3")))),
        ({"free": "9 trips a day", "crew": "€3/month"}, Pricing(
            "freemium", (Plan("free", None, "9 trips a day"), Plan("crew", "€3/month")))),
        ({"paid_tiers": {"crew": {"price": 3}, "currency": "NOK"}}, Pricing(plans=(Plan("crew", "3"),))),
        (7, Pricing()),
        (None, Pricing()),
    ],
)  # fmt: skip
def test_pricing(value: Json, pricing: Pricing) -> None:
    assert loose.pricing_of(value, BASE) == pricing


@pytest.mark.parametrize(
    ("value", "provider"),
    [
        ({"author": "Fjord Line"}, Provider("Fjord Line")),
        (
            {"provider": {"organization": "Fjord Line", "url": "https://fjord.example", "email": "a@fjord.example"}},
            Provider("Fjord Line", "https://fjord.example/", "a@fjord.example"),
        ),
        (
            {"contact": {"email": "mailto:a@fjord.example", "phone": "+47 123 45 678", "hours": "9-17"}},
            Provider(None, None, "a@fjord.example", ("+47 123 45 678",)),
        ),
        ({"support": "Ask at the quay"}, None),
        ({"supportContact": {"whatsapp": "https://chat.example/fjord"}}, Provider(
            None, None, "https://chat.example/fjord")),
        ({"contact": ["b@fjord.example", "https://fjord.example/help"]}, Provider(
            None, None, "b@fjord.example", ("https://fjord.example/help",))),
        ({}, None),
    ],
)  # fmt: skip
def test_provider(value: dict[str, Json], provider: Provider | None) -> None:
    assert loose.provider_of(value, BASE) == provider


def test_links_and_licence() -> None:
    assert (
        loose.repository_of({"repository": {"url": "https://git.example/ferry"}}, BASE) == "https://git.example/ferry"
    )
    assert loose.repository_of({"repo": "git@git.example:ferry"}, BASE) is None
    assert loose.license_of({"license": {"name": "MIT"}}) == "MIT"
    assert loose.homepage_of({"websiteUrl": "/about"}, BASE) == "https://ferry.example/about"


def test_payment_requirements() -> None:
    accepted: Json = {"scheme": "exact", "maxAmountRequired": "20000", "network": "base", "payTo": "0xabc"}
    assert loose.payment_of(accepted) == Payment("20000 base units", None, "base", "0xabc", "exact")
    accepted |= {"asset": "USDC"}
    assert loose.payment_of(accepted) == Payment("0.02", "USDC", "base", "0xabc", "exact")
    assert loose.payment_of({"network": "base"}) is None


@pytest.mark.parametrize(
    ("holder", "payments"),
    [
        ({"x402": {"payTo": "0xabc", "amount": "0.01", "asset": "USDC", "networks": ["base", "solana"]}}, (
            Payment("0.01", "USDC", "base", "0xabc"), Payment("0.01", "USDC", "solana", "0xabc"))),
        ({"payment": {"type": "x402", "accepts": [{"scheme": "exact", "amount": "500", "asset": "EURC"}]}}, (
            Payment("0.0005", "EURC", scheme="exact"),)),
        ({"x402": {"enabled": False, "payTo": "0xabc"}}, ()),
    ],
)  # fmt: skip
def test_ways_to_pay(holder: dict[str, Json], payments: tuple[Payment, ...]) -> None:
    pricing = loose.with_payments(Pricing(), holder)
    assert pricing.payments == payments
    assert pricing.model == ("pay_per_call" if payments else "unknown")


@given(json_values)
def test_no_value_makes_a_loose_reader_raise(value: Json) -> None:
    holder: dict[str, Json] = (
        value if isinstance(value, dict) else {"pricing": value, "contact": value, "author": value}
    )
    for item in (value, *holder.values()):
        loose.pricing_of(item, BASE)
        loose.payment_of(item)
    for key in ("contact", "provider", "support", "license", "repository"):
        wrapped: dict[str, Json] = {key: value}
        loose.provider_of(wrapped, BASE)
        loose.license_of(wrapped)
        loose.repository_of(wrapped, BASE)
        other_members(wrapped, ())


def test_other_members_are_kept_clean_within_a_budget() -> None:
    holder: Json = {"name": "Ferry", "deck": "two\u202e", "blank": "", "large": "x" * 30_000, "last": {"berth": [1]}}
    assert native("awas", holder, {"name"}) == {"awas": {"deck": "two", "last": {"berth": [1]}}}
    assert native("awas", {"name": "Ferry"}, {"name"}) == {}


@pytest.mark.parametrize("endpoint", ["https://ferry.example/trips/{id}", "https://ferry.example/trips/:id"])
def test_variables_of_a_path_are_required_parameters(endpoint: str) -> None:
    assert with_path_variables(None, endpoint) == {
        "type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"],
    }  # fmt: skip
    described = {"type": "object", "properties": {"id": {"type": "integer"}, "lang": {}}, "required": ["lang"]}
    completed = with_path_variables(described, endpoint)
    assert completed is not None
    assert completed["properties"]["id"] == {"type": "integer"} and completed["required"] == ["id", "lang"]
    assert with_path_variables(completed, endpoint) == completed


def test_schemas_without_properties_and_addresses_without_variables_stay_as_they_are() -> None:
    assert with_path_variables({"type": "array"}, "https://ferry.example/{id}") == {"type": "array"}
    assert with_path_variables(None, "https://ferry.example:8443/trips") is None


@pytest.mark.parametrize(
    ("holder", "pricing"),
    [
        (
            {"payment": {"x402": {"network": "base", "asset": "USDC", "pay_to": "0xabc"}}},
            Pricing("pay_per_call", payments=(Payment(currency="USDC", network="base", pay_to="0xabc"),)),
        ),
        (
            {"x402": {"networks": ["base", "solana"], "payTo": "0xabc"}},
            Pricing("pay_per_call", payments=(
                Payment(network="base", pay_to="0xabc"), Payment(network="solana", pay_to="0xabc"))),
        ),
        ({"x402": {"enabled": False, "payTo": "0xabc"}}, Pricing()),
        ({"payment": {"scheme": "card", "network": "fiat", "amount": 42}}, Pricing(
            payments=(Payment("42", network="fiat", scheme="card"),))),
        ({"payment": "card"}, Pricing()),
    ],
)  # fmt: skip
def test_payments_beside_other_members(holder: dict[str, Json], pricing: Pricing) -> None:
    assert loose.with_payments(Pricing(), holder) == pricing


def test_the_home_page_may_stand_among_links() -> None:
    assert loose.homepage_of({"links": {"website": "https://fjord.example"}}, BASE) == "https://fjord.example/"


@given(json_values)
def test_no_payment_member_raises(value: Json) -> None:
    loose.with_payments(Pricing(), {"x402": value, "payment": value, "payments": value})
    loose.pricing_of({"plan": value, "price": value, "tier": value}, BASE)


# --- parameters in forms of their own ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "properties", "required"),
    [
        ({"day": "string", "seats": "integer (required)"}, {"day": {"type": "string"}, "seats": {"type": "integer"}},
         ["seats"]),
        ({"day?": "the day of the crossing"}, {"day": {"description": "the day of the crossing"}}, None),
        ({"seats": {"type": "integer", "minimum": 1, "required": True}}, {"seats": {"type": "integer", "minimum": 1}},
         ["seats"]),
        (["day", {"name": "seats", "type": "int", "required": True}], {"day": {}, "seats": {"type": "integer"}},
         ["seats"]),
        ({"type": "string", "id": "string"}, {"type": {"type": "string"}, "id": {"type": "string"}}, None),
        ({"seats": 2, "class": ["open", "cabin"]}, {"seats": {"examples": [2]}, "class": {"enum": ["open", "cabin"]}},
         None),
    ],
)  # fmt: skip
def test_parameters_in_maps_and_lists(value: Json, properties: object, required: list[str] | None) -> None:
    schema = loose.parameters_of(value) or {}
    assert schema["properties"] == properties
    assert schema.get("required") == required


def test_a_json_schema_is_kept() -> None:
    schema = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
    assert loose.parameters_of(schema) == schema


@pytest.mark.parametrize("value", [None, {}, [], 7, "string", True])
def test_what_describes_no_parameters(value: Json) -> None:
    assert loose.parameters_of(value) is None


def test_the_first_member_that_describes_something_counts() -> None:
    holder: dict[str, Json] = {"params": {}, "input": {"day": "string"}, "returns": "A ticket.", "output": None}
    assert loose.first_parameters(holder) == {"type": "object", "properties": {"day": {"type": "string"}}}
    assert loose.first_result(holder) == (None, "A ticket.")


@given(json_values)
def test_no_value_makes_the_reader_of_parameters_raise(value: Json) -> None:
    loose.parameters_of(value)
    loose.first_result({"output": value})


SITE = "https://mill-works.com"
UNSPECIFIED: dict[str, Json] = {
    "documentation": f"{SITE}/docs", "homepage": f"{SITE}/home", "contact": {"email": "miller@mill-works.com"},
    "pricing": {"model": "freemium"}, "authentication": {"type": "api_key", "header": "X-Mill"}, "license": "MIT",
    "publisher": "Mill Works", "repository": "https://github.com/mill/mill", "terms_url": f"{SITE}/terms",
    "logo": f"{SITE}/logo.png", "mcp_endpoint": f"{SITE}/mcp-server", "openapi_spec": f"{SITE}/flour.json",
}  # fmt: skip
SERVICES = {
    fixture.slug: fixture
    for fixture in FOUND
    if fixture.name.startswith(("minimal", "valid")) and FORMAT_BY_SLUG[fixture.slug].role is Role.SERVICE
    if FORMAT_BY_SLUG[fixture.slug].from_page is None  # its documents have only what a page says
}


@pytest.mark.parametrize("fixture", SERVICES.values(), ids=SERVICES)
def test_members_of_no_specification_reach_the_same_fields_in_every_format(fixture: Fixture) -> None:
    raw = json.dumps({**UNSPECIFIED, **fixture.value}).encode()
    assessment = assess_body(raw, SITE + "/" + fixture.url.split("/", 3)[3])
    service = assessment.service
    assert (assessment.format, service is not None) == (fixture.slug, True)
    assert service is not None
    provider = service.provider or Provider()
    reached = {
        "documentation": service.docs_url, "homepage": service.homepage, "license": service.license,
        "contact": provider.contact, "publisher": provider.name, "pricing": service.pricing.model != "unknown",
        "authentication": service.auth.schemes, "repository": service.repository, "logo": service.icon_url,
        "terms_url": service.policies.terms_url,
        "mcp_endpoint": any(one.endpoint == f"{SITE}/mcp-server" for one in service.protocols),
        "openapi_spec": any(one.url == f"{SITE}/flour.json" for one in service.pointers),
    }  # fmt: skip
    assert [key for key, found in reached.items() if not found] == []


def test_what_a_reader_found_is_not_replaced() -> None:
    document = Document(b"", UNSPECIFIED, f"{SITE}/agent.json")
    found = Service(docs_url=f"{SITE}/own", provider=Provider("Miller"), pricing=Pricing("free"))
    service = with_common_members(found, document, "awp")
    assert (service.docs_url, service.pricing) == (found.docs_url, found.pricing)
    assert service.provider == Provider("Miller", contact="miller@mill-works.com")
    assert service.provenance["homepage"] == Origin(document.url, "", "awp")
    assert "docs_url" not in service.provenance
