"""Listings to JSON and back. They are stored as computed, and search indexes are built from them."""

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
