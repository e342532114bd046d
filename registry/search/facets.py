"""What a filter may ask of a listing, for every engine: one row per facet. A new filter is a row here and a field of
Filters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Final

from registry.core.listing import Filters, Listing

FACETS: Final[Mapping[str, Callable[[Listing], Iterable[str]]]] = {
    "format": lambda listing: listing.formats,
    "auth": lambda listing: (listing.auth_type,),
    "pricing": lambda listing: (listing.pricing_type,),
    "trust": lambda listing: (listing.trust_level,),
    "protocol": lambda listing: listing.protocols,
    "domain": lambda listing: (listing.domain,),
    "tld": lambda listing: (listing.host.rpartition(".")[2],),
    "language": lambda listing: listing.languages,
    "semantic": lambda listing: (one for each in listing.capabilities for one in each.semantic_types),
    "effects": lambda listing: (
        _effects(each.side_effects) for each in listing.capabilities if each.side_effects is not None
    ),
}
"""Facet -> the values that a listing has of it."""

NUMBERS: Final[Mapping[str, Callable[[Listing], int]]] = {
    "score": lambda listing: listing.score,
    "seen": lambda listing: _day(listing.seen_on),
}
"""What a filter may compare: numbers of 16 bits, by name. `seen` is the day, counted from 1970."""

_EPOCH: Final = date(1970, 1, 1)
TOP: Final = 0xFFFF


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
        "trust": filters.shown_levels,
        "protocol": filters.protocols,
        "domain": filters.domains,
        "tld": filters.tlds,
        "language": filters.languages,
        "semantic": filters.semantic_types,
        "effects": () if filters.side_effects is None else (_effects(filters.side_effects),),
    }
    return {facet: values for facet, values in asked.items() if values}


def ranges(filters: Filters) -> Mapping[str, tuple[int, int]]:
    """Number -> the least and the most that a listing may have; what is not bounded is left out."""
    found: dict[str, tuple[int, int]] = {}
    if filters.min_score is not None or filters.max_score is not None:
        most = TOP if filters.max_score is None else filters.max_score
        found["score"] = (_bounded(filters.min_score or 0), _bounded(most))
    if filters.seen_since is not None:
        found["seen"] = (_day(filters.seen_since), TOP)
    return found


def _effects(value: bool) -> str:
    return "true" if value else "false"


def _day(value: date | None) -> int:
    return 0 if value is None else _bounded((value - _EPOCH).days)


def _bounded(number: int) -> int:
    return min(TOP, max(0, number))
