"""Sentences count only where they say beyond doubt that nothing is needed, or how a call is paid for."""

import pytest

from registry.core.format_support.shapes import says_no_auth, stated_pricing
from registry.core.model.services import PricingModel


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Tides of one harbour. No API key required.", True),
        ("No auth, no sign-up required for reading.", True),
        ("The public part does not require authentication.", True),
        ("No account is needed; an API key is.", True),
        ("Authentication is required. No exceptions.", False),
        ("An API key is needed.", False),
        ("No auth server is used here.", False),
        (None, False),
    ],
)
def test_no_auth(text: str | None, says: bool) -> None:
    assert says_no_auth([text]) is says


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("Crossings at $0.20 per request.", "pay_per_call"),
        ("Fee: 0.1 XRP per audit", "pay_per_call"),
        ("0.05 USDC/call", "pay_per_call"),
        ("Pay-per-call weather", "pay_per_call"),
        ("Free tier: 20 trips. Then $0.20 per request.", "freemium"),
        ("Offered free of charge.", "free"),
        ("Retried 3 times per request.", None),
        ("Bring your own free time; costs $9.", None),
        (None, None),
    ],
)
def test_pricing(text: str | None, model: PricingModel | None) -> None:
    assert stated_pricing([text]) == model
