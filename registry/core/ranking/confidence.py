"""Whether the best answer is one at all. The fused relevance cannot say: the best candidate has nearly 1 for nonsense.

Raw values can: the share of the question's weight that the candidate's words hold, and the cosine.
"""

from typing import Final

import numpy as np

from registry.core.ranking.evidence import Evidence, Numbers

_COVER_WEIGHT: Final = 0.5
_ENOUGH: Final = 0.5
"""`cover` and `cosine` count alike; see docs/search.md for how the threshold was chosen."""


def cover(evidence: Evidence) -> Numbers:
    """(n,) share of the question's idf that each candidate's words hold, 0 to 1."""
    held = (evidence.tf > 0).astype(np.float64)
    total = float(evidence.idf.sum())
    return sum((idf * has for idf, has in zip(evidence.idf, held, strict=True)), np.zeros(held.shape[1])) / (
        total or 1.0
    )


def similarity(evidence: Evidence) -> Numbers:
    """(n,) cosine of the question with the nearest row of each candidate, 0 where none is known or it is negative."""
    nearest = np.maximum(evidence.of_first_rows(evidence.whole), evidence.over_parts(evidence.whole, np.maximum))
    return np.maximum(nearest, 0.0)


def confident(cover: float, cosine: float, *, has_vectors: bool = True) -> bool:
    """Without vectors the words alone must do."""
    evidence = _COVER_WEIGHT * cover + (1 - _COVER_WEIGHT) * cosine if has_vectors else cover
    return evidence >= _ENOUGH
