"""Decide whether a hit answers the query at all. The relevance cannot: the best candidate has nearly 1 for nonsense.

Raw values can: the share of the query's weight that the candidate's words match, and the cosine.
"""

from typing import Final

from registry.core.ranking.features import Features

_COVER_WEIGHT: Final = 0.5
_THRESHOLD: Final = 0.32
"""Words and cosine have equal weight; docs/search-lab.md says how the threshold was chosen."""


def cover(features: Features, candidate: int) -> float:
    """Return the share of the query's idf that the candidate's words match, 0 to 1."""
    return float(features.covers[candidate])


def similarity(features: Features, candidate: int) -> float:
    """Return the cosine of the query with the candidate's nearest row; 0 if there is none, or it is negative."""
    return float(features.nearest[candidate])


def confident(cover: float, cosine: float, *, has_vectors: bool = True) -> bool:
    """True when cover and cosine together reach the threshold; without vectors, cover alone must."""
    combined = _COVER_WEIGHT * cover + (1 - _COVER_WEIGHT) * cosine if has_vectors else cover
    return combined >= _THRESHOLD
