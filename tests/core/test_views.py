"""ADP views: every collapse rule, every trust rule, and detail URLs by concatenation."""

from datetime import date
from typing import Any, get_args

import pytest

from registry.core.formats.adp import rules as adp_rules
from registry.core.formats.adp.manifest_view import adp_auth_type, adp_manifest, adp_pricing_type
from registry.core.merging.listing import make_listing
from registry.core.merging.merge import LocatedFinding
from registry.core.merging.trust import trust_of
from registry.core.model.findings import Finding
from registry.core.model.listing import Listing, TrustLevel
from registry.core.model.services import (
    Auth,
    AuthScheme,
    AuthType,
    Capability,
    Invocation,
    Plan,
    Pricing,
    PricingModel,
    Protocol,
    Service,
)

HOST = "api.pigeonpost.dev"


def ours(name: str) -> str:
    return f"https://registry.dev/api/services/{HOST}/capabilities/{name}"


def calling(endpoint: str, **more: Any) -> Capability:
    return Capability("c", "c", invocations=(Invocation("http", endpoint, "POST", **more),))


COLLAPSED: dict[AuthType, str] = {
    "none": "none", "payment": "none", "api_key": "api_key", "http_basic": "api_key", "bearer": "api_key",
    "mtls": "api_key", "did": "api_key", "session": "api_key", "custom": "api_key", "oauth2": "oauth2",
    "openid": "oauth2",
}  # fmt: skip
PRICED: dict[PricingModel, str] = {
    "free": "free", "freemium": "freemium", "paid": "paid", "pay_per_call": "paid", "unknown": "free"
}  # fmt: skip


def test_every_kind_of_access_and_of_pricing_collapses_into_one_of_three() -> None:
    kinds, models = get_args(AuthType), get_args(PricingModel)
    assert {kind: adp_auth_type(Service(auth=Auth((AuthScheme(kind),)))) for kind in kinds} == COLLAPSED
    assert {model: adp_pricing_type(Service(pricing=Pricing(model))) for model in models} == PRICED


def test_the_first_scheme_that_asks_for_a_credential_decides() -> None:
    schemes = (AuthScheme("none"), AuthScheme("payment"), AuthScheme("oauth2"), AuthScheme("api_key"))
    assert adp_auth_type(Service(auth=Auth(schemes))) == "oauth2"


def test_optional_credentials_count_as_none() -> None:
    assert adp_auth_type(Service(auth=Auth((AuthScheme("bearer"),), required=False))) == "none"


def test_schemes_of_the_invocations_count_where_the_service_is_silent() -> None:
    keyed = calling("https://a.dev/x", auth=Auth((AuthScheme("bearer"),), required=True))
    free = calling("https://a.dev/y", auth=Auth((AuthScheme("bearer"),), required=False))
    assert adp_auth_type(Service(capabilities=(free, keyed))) == "api_key"
    assert adp_auth_type(Service(capabilities=(free,))) == "none"
    assert adp_auth_type(Service(capabilities=(keyed,), auth=Auth((AuthScheme("oauth2"),)))) == "oauth2"


def test_payment_as_the_only_credential_means_paid_unless_the_price_is_stated() -> None:
    wallet = Auth((AuthScheme("payment"),))
    assert adp_pricing_type(Service(auth=wallet)) == "paid"
    assert adp_pricing_type(Service(auth=wallet, pricing=Pricing("freemium"))) == "freemium"
    assert adp_pricing_type(Service(auth=Auth((AuthScheme("payment"), AuthScheme("api_key"))))) == "free"


def test_the_trust_level_depends_on_the_serving_host() -> None:
    at_home = Service(base_url=f"https://{HOST}", capabilities=(calling(f"https://pay.{HOST}/x"),))
    away = Service(capabilities=(calling("https://other.dev/x"),))
    assert trust_of(HOST, at_home) == (TrustLevel.VERIFIED, ())
    error = LocatedFinding(Finding(adp_rules.REQUIRED, "/name"))
    assert trust_of(HOST, at_home, [error]) == (TrustLevel.COMMUNITY, ("document_error",))
    assert trust_of(HOST, away) == (TrustLevel.COMMUNITY, ("calls_other_site",))
    assert trust_of(HOST, at_home, is_failing=True) == (TrustLevel.UNVERIFIED, ("failing",))


def test_every_address_of_a_service_counts_for_trust() -> None:
    base = Service(base_url="https://other.dev/v1")
    protocol = Service(protocols=(Protocol("mcp", endpoint="https://mcp.other.dev/mcp"),))
    neighbour = Service(protocols=(Protocol("mcp", endpoint="https://bob.github.io/mcp"),))
    assert trust_of(HOST, base) == (TrustLevel.COMMUNITY, ("calls_other_site",))
    assert trust_of(HOST, protocol) == (TrustLevel.COMMUNITY, ("calls_other_site",))
    assert trust_of("alice.github.io", neighbour) == (TrustLevel.COMMUNITY, ("calls_other_site",))


def test_a_synthetic_document_is_never_verified() -> None:
    assert trust_of(HOST, Service(synthetic=True)) == (TrustLevel.COMMUNITY, ("generated",))


def test_the_manifest_of_an_adp_service_matches_its_document() -> None:
    service = Service(
        name="Pigeonpost",
        description="Books and tracks parcels.",
        base_url=f"https://{HOST}/v2",
        auth=Auth((AuthScheme("api_key", "header", "X-Key", setup_url="https://pigeonpost.dev/keys"),), True),
        pricing=Pricing("freemium", (Plan("Free", "0", "100 a day"),), "https://pigeonpost.dev/pricing"),
        capabilities=(
            Capability("track", "track", "Tracks.", detail_url=f"https://{HOST}/v2/caps/track"),
            Capability("book", "book", "Books.", detail_url="https://docs.pigeonpost.dev/book",
                       detail={"resource_group": "parcels"}),
        ),
    )  # fmt: skip
    assert adp_manifest(HOST, service, ours) == {
        "spec_version": "1.0",
        "name": "Pigeonpost",
        "description": "Books and tracks parcels.",
        "base_url": f"https://{HOST}/v2",
        "auth": {"type": "api_key", "header": "X-Key", "setup_url": "https://pigeonpost.dev/keys"},
        "pricing": {
            "type": "freemium",
            "plans": [{"name": "Free", "price": "0", "limits": "100 a day"}],
            "plans_url": "https://pigeonpost.dev/pricing",
        },
        "capabilities": [
            {
                "name": "book",
                "description": "Books.",
                "detail_url": "https://docs.pigeonpost.dev/book",
                "resource_group": "parcels",
            },
            {"name": "track", "description": "Tracks.", "detail_url": "/caps/track"},
        ],
    }


def test_clients_that_concatenate_reach_the_same_url_as_the_document_named() -> None:
    for base in (f"https://{HOST}/v2", f"https://{HOST}/v2/", f"https://{HOST}"):
        for url in (f"https://{HOST}/v2/caps/x", f"https://{HOST}/elsewhere", f"https://{HOST}.evil.dev/x"):
            service = Service(base_url=base, capabilities=(Capability("x", "x", detail_url=url),))
            manifest = adp_manifest(HOST, service, ours)
            shown = manifest["capabilities"][0]["detail_url"]
            assert (shown if shown.startswith("http") else manifest["base_url"] + shown) == url


def test_the_manifest_of_another_format_links_to_details_of_this_registry() -> None:
    service = Service(capabilities=(Capability("say", "say hello"),))
    manifest = adp_manifest(HOST, service, ours)
    assert manifest["name"] == HOST
    assert manifest["base_url"] == f"https://{HOST}"
    assert manifest["auth"] == {"type": "none"}
    assert "pricing" not in manifest
    assert manifest["capabilities"] == [{"name": "say hello", "description": "", "detail_url": ours("say hello")}]


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        (AuthScheme("bearer"), {"type": "api_key", "header": "Authorization", "prefix": "Bearer"}),
        (AuthScheme("http_basic"), {"type": "api_key", "header": "Authorization", "prefix": "Basic"}),
        (AuthScheme("api_key", "query", "key"), {"type": "api_key", "query_param": "key"}),
        (AuthScheme("api_key", "header", "X-Key", ""), {"type": "api_key", "header": "X-Key", "prefix": ""}),
        (AuthScheme("did", note="W3C"), {"type": "api_key", "note": "W3C"}),
        (
            AuthScheme("oauth2", authorization_url="https://a.dev/auth", token_url="https://a.dev/t", scopes=("r",)),
            {
                "type": "oauth2",
                "authorization_url": "https://a.dev/auth",
                "token_url": "https://a.dev/t",
                "scopes": ["r"],
            },
        ),
    ],
)
def test_the_manifest_describes_authentication(scheme: AuthScheme, expected: dict[str, object]) -> None:
    assert adp_manifest(HOST, Service(auth=Auth((scheme,))), ours)["auth"] == expected


def test_listing_is_clean_collapsed_and_without_dialects() -> None:
    service = Service(
        name="Pigeon\u202epost\n",
        description="Books\u200b parcels.",
        capabilities=(Capability("book", "book", "B\U000e0042ooks.", side_effects=True),),
        auth=Auth((AuthScheme("bearer"),)),
        protocols=(Protocol("mcp"), Protocol("a2a", "0.3.0"), Protocol("mcp", "2025-06-18")),
    )
    listing = make_listing(
        "pigeonpost.dev", HOST, service, 71, TrustLevel.VERIFIED, ["adp/1.0", "a2a/0.3", "a2a/1.0"], date(2026, 11, 20)
    )
    assert isinstance(listing, Listing)
    assert (listing.name, listing.description) == ("Pigeonpost", "Books parcels.")
    assert listing.formats == ("adp", "a2a")
    assert (listing.auth_type, listing.pricing_type) == ("api_key", "unknown")
    assert listing.protocols == ("a2a", "mcp")
    assert [(c.name, c.description, c.side_effects) for c in listing.capabilities] == [("book", "Books.", True)]
    assert (listing.domain, listing.host, listing.score, listing.seen_on) == (
        "pigeonpost.dev", HOST, 71, date(2026, 11, 20),
    )  # fmt: skip


def test_examples_and_tags_become_keywords_within_a_bound() -> None:
    book = Capability("book", "book", tags=("trip:book", "travel"), examples=("Fly me\u200b to Rome", "travel"))
    service = Service(tags=("t" * 300, "u" * 300, "short"), capabilities=(book,))
    listing = make_listing("a.dev", "a.dev", service, 50, TrustLevel.VERIFIED, ["a2a"], None)
    assert listing.capabilities[0].keywords == ("Fly me to Rome", "travel", "trip:book")
    assert listing.keywords == ("t" * 300, "short")
