"""Listings to JSON and back. They are stored as computed, and search indexes are built from them."""

from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter

from registry.core.model.listing import Listing

_LISTING: TypeAdapter[Listing] = TypeAdapter(Listing)


def listing_to_json(listing: Listing) -> dict[str, Any]:
    dumped: dict[str, Any] = _LISTING.dump_python(listing, mode="json", exclude_defaults=True)
    return dumped


def listing_from_json(value: Any) -> Listing:
    """Return the listing that the JSON describes. Raise pydantic.ValidationError, a ValueError, for other values."""
    return _LISTING.validate_python(value)


def trust_to_json(listing: Listing) -> dict[str, Any]:
    """Return what lists show beside the trust level: `reasons`, and `resembles` (listing.Resemblance) or None."""
    resembles = asdict(listing.resembles) if listing.resembles else None
    return {"reasons": listing.trust_reasons, "resembles": resembles}
