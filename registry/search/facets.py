"""Facets and numbers by which every engine can filter listings, and the names by which it finds them. A new filter is
one row here and one field of Filters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Final

from registry.core.model.listing import Filters, Listing, side_effects_word

FACETS: Final[Mapping[str, Callable[[Listing], Iterable[str]]]] = {
    "format": lambda listing: listing.formats,
    "auth": lambda listing: (listing.auth_type,),
    "pricing": lambda listing: (listing.pricing_type,),
    "trust": lambda listing: (listing.trust_level,),
    "protocol": lambda listing: listing.protocols,
    "domain": lambda listing: (listing.domain,),
    "tld": lambda listing: (listing.host.rpartition(".")[2],),
    "language": lambda listing: listing.languages,
    "category": lambda listing: (listing.category,) if listing.category else (),
    "semantic": lambda listing: (
        semantic_type for capability in listing.capabilities for semantic_type in capability.semantic_types
    ),
    "effects": lambda listing: (side_effects_word(capability.side_effects) for capability in listing.capabilities),
}
"""Facet -> function that returns a listing's values of it."""

NUMBERS: Final[Mapping[str, Callable[[Listing], int]]] = {
    "score": lambda listing: listing.score,
    "seen": lambda listing: _day(listing.seen_on),
}
"""Name -> function that returns a listing's 16-bit number, for range filters. `seen` is in days since 1970-01-01."""

NAMES: Final[Mapping[str, Callable[[Listing], Iterable[str]]]] = {
    "host": lambda listing: (listing.host,),
    "label": lambda listing: (listing.domain.partition(".")[0],),
}
"""What a question may name a listing by, beside the facet `domain`. Not counted as facets; `host` is a filter too."""

_EPOCH: Final = date(1970, 1, 1)
TOP: Final = 0xFFFF


def values_of(listing: Listing) -> Iterator[tuple[str, str]]:
    for facet, read in FACETS.items():
        for value in dict.fromkeys(read(listing)):
            yield facet, value


def fields_of_name(name: str) -> tuple[str, ...]:
    """Return the fields that hold a name of a question (core/ranking/naming.py): hosts and domains have a dot."""
    return ("host", "domain") if "." in name else ("label",)


def facet_filters(filters: Filters) -> Mapping[str, tuple[str, ...]]:
    """Return facet or name -> values; a listing must have at least one of them. Leave out those without a filter."""
    values_by_facet: dict[str, tuple[str, ...]] = {
        "format": filters.formats,
        "auth": filters.auth_types,
        "pricing": filters.pricing_types,
        "trust": filters.shown_levels,
        "protocol": filters.protocols,
        "domain": filters.domains,
        "host": filters.hosts,
        "tld": filters.tlds,
        "language": filters.languages,
        "category": filters.categories,
        "semantic": filters.semantic_types,
        "effects": filters.side_effects,
    }
    return {facet: values for facet, values in values_by_facet.items() if values}


def ranges(filters: Filters) -> Mapping[str, tuple[int, int]]:
    """Return number -> (minimum, maximum), both inclusive; leave out numbers without a filter."""
    bounds: dict[str, tuple[int, int]] = {}
    if filters.min_score is not None or filters.max_score is not None:
        maximum = TOP if filters.max_score is None else filters.max_score
        bounds["score"] = (_bounded(filters.min_score or 0), _bounded(maximum))
    if filters.seen_since is not None:
        bounds["seen"] = (_day(filters.seen_since), TOP)
    return bounds


def _day(value: date | None) -> int:
    return 0 if value is None else _bounded((value - _EPOCH).days)


def _bounded(number: int) -> int:
    return min(TOP, max(0, number))
