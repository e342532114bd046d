"""Whether an answer is one at all. The fused relevance cannot say: the best candidate has nearly 1 for nonsense.

Raw values can: the share of the question's weight that the candidate's words hold, and the cosine.
"""

from typing import Final

from registry.core.ranking.evidence import Evidence

_COVER_WEIGHT: Final = 0.5
_ENOUGH: Final = 0.32
"""Words and cosine count alike; docs/search.md says how the threshold was chosen."""


def cover(evidence: Evidence, place: int) -> float:
    """Share of the question's idf that the candidate's words hold, 0 to 1."""
    return float(evidence.covers[place])


def similarity(evidence: Evidence, place: int) -> float:
    """Cosine of the question with the candidate's nearest row; 0 where none is known, or it is negative."""
    return float(evidence.nearest[place])


def confident(cover: float, cosine: float, *, has_vectors: bool = True) -> bool:
    """Without vectors the words alone must do."""
    evidence = _COVER_WEIGHT * cover + (1 - _COVER_WEIGHT) * cosine if has_vectors else cover
    return evidence >= _ENOUGH
