"""Listings with few words for the tests of search."""

from typing import Any

from registry.core.model.listing import ListedCapability, Listing, TrustLevel


def listing(host: str, text: str = "", *capabilities: tuple[str, str] | str, **changes: Any) -> Listing:
    """Return a listing. `text` is `name` or `name: description`; a capability is its name, or name and description."""
    name, _, description = text.partition(": ")
    pairs = ((capability, "") if isinstance(capability, str) else capability for capability in capabilities)
    values: dict[str, Any] = {
        "domain": ".".join(host.split(".")[-2:]),
        "host": host,
        "name": name or host,
        "description": description,
        "trust_level": TrustLevel.VERIFIED,
        "score": 50,
        "formats": ("adp",),
        "auth_type": "none",
        "pricing_type": "free",
        "capabilities": tuple(ListedCapability(name, text) for name, text in pairs),
    }
    return Listing(**(values | changes))
