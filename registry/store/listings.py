"""Listings as JSON and back: what the index is built from is stored as it was computed."""

from typing import Any

from pydantic import TypeAdapter

from registry.core.listing import Listing

_LISTING: TypeAdapter[Listing] = TypeAdapter(Listing)


def listing_to_json(listing: Listing) -> dict[str, Any]:
    dumped: dict[str, Any] = _LISTING.dump_python(listing, mode="json", exclude_defaults=True)
    return dumped


def listing_from_json(value: Any) -> Listing:
    """The inverse. Raises pydantic.ValidationError, a ValueError, for anything that is none."""
    return _LISTING.validate_python(value)
