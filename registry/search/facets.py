"""What a filter may ask of a listing, for every engine: one row per facet. A new filter is a row here and a field of
Filters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from registry.core.listing import Filters, Listing, TrustLevel

FACETS: Final[Mapping[str, Callable[[Listing], Iterable[str]]]] = {
    "format": lambda listing: listing.formats,
    "auth": lambda listing: (listing.auth_type,),
    "pricing": lambda listing: (listing.pricing_type,),
    "trust": lambda listing: (listing.trust_level,),
    "protocol": lambda listing: listing.protocols,
}
"""Facet -> the values that a listing has of it."""


def values_of(listing: Listing) -> Iterator[tuple[str, str]]:
    for facet, read in FACETS.items():
        for value in dict.fromkeys(read(listing)):
            yield facet, value


def wanted(filters: Filters) -> Mapping[str, tuple[str, ...]]:
    """Facet -> values of which a listing must have one; facets that nobody asked for are left out."""
    asked: dict[str, tuple[str, ...]] = {
        "format": filters.formats,
        "auth": filters.auth_types,
        "pricing": filters.pricing_types,
        "protocol": filters.protocols,
    }
    if not filters.include_unverified:
        asked["trust"] = tuple(level for level in TrustLevel if level is not TrustLevel.UNVERIFIED)
    return {facet: values for facet, values in asked.items() if values}
