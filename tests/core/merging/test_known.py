"""What a listing says about authentication and prices: known, or `unknown` where ADP has a default."""

import pytest

from registry.core.formats.adp.manifest_view import adp_auth_type, adp_pricing_type
from registry.core.merging.listing import auth_kind, pricing_kind
from registry.core.model.services import Auth, AuthScheme, Capability, Invocation, Pricing, PricingModel, Service

OPEN = Auth((AuthScheme("none"),), False)
KEY = Auth((AuthScheme("api_key"),))


def called_with(*auths: Auth | None) -> Service:
    calls = tuple(Invocation("http", auth=auth) for auth in auths)
    return Service(capabilities=(Capability("a", "a", invocations=calls),))


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        (Service(), "unknown"),
        (called_with(None), "unknown"),
        (called_with(OPEN, None), "unknown"),
        (called_with(Auth()), "unknown"),
        (Service(auth=Auth(required=True)), "unknown"),
        (Service(auth=OPEN), "none"),
        (Service(auth=Auth((AuthScheme("none"),))), "none"),
        (Service(auth=Auth((AuthScheme("bearer"),), required=False)), "none"),
        (Service(auth=Auth((AuthScheme("payment"),))), "none"),
        (called_with(OPEN, OPEN), "none"),
        (called_with(OPEN, KEY), "api_key"),
        (Service(auth=Auth((AuthScheme("openid"),))), "oauth2"),
    ],
)
def test_no_credential_is_known_only_where_a_document_says_it(service: Service, expected: str) -> None:
    assert auth_kind(service) == expected
    assert adp_auth_type(service) == ("none" if expected == "unknown" else expected)


@pytest.mark.parametrize(
    ("model", "expected"),
    [("unknown", "unknown"), ("free", "free"), ("freemium", "freemium"), ("paid", "paid"), ("pay_per_call", "paid")],
)
def test_free_is_known_only_where_a_document_says_it(model: PricingModel, expected: str) -> None:
    service = Service(pricing=Pricing(model))
    assert pricing_kind(service) == expected
    assert adp_pricing_type(service) == ("free" if expected == "unknown" else expected)


def test_callers_that_can_only_pay_are_not_unknown() -> None:
    assert pricing_kind(Service(auth=Auth((AuthScheme("payment"),)))) == "paid"
