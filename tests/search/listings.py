"""Listings for the tests of search, few words each."""

from typing import Any

from registry.core.listing import ListedCapability, Listing, TrustLevel


def listing(host: str, text: str = "", *capabilities: tuple[str, str] | str, **changes: Any) -> Listing:
    """`text` is `name` or `name: description`; a capability is its name, or name and description."""
    name, _, description = text.partition(": ")
    pairs = ((one, "") if isinstance(one, str) else one for one in capabilities)
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
