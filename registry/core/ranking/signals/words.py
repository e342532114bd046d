"""The question's words in the service's texts: BM25F in one weighted field.

Robertson and Zaragoza 2009, section 3.6.2; no sum over fields: summed, a word that is rare in a short field wins over
everything.
"""

from typing import Final

import numpy as np

from registry.core.ranking.evidence import Evidence, Numbers

_K1, _B = 1.0, 0.75

_MOST: Final = 3.0
"""A word counts as if said so often at most (the name counts double), while the length counts every one: who repeats
words gains nothing and pays for them. Honest texts lose nothing by it."""


def signal(evidence: Evidence) -> Numbers:
    """Greater than 0 where a word matches: idf is never 0 or less."""
    mean = evidence.stats.mean_length or 1.0
    shrink = _K1 * (1 - _B + _B * evidence.candidates.lengths / mean)
    total = np.zeros(len(evidence.candidates))
    for idf, tf in zip(evidence.idf, np.minimum(evidence.tf, _MOST), strict=True):
        total += idf * tf * (_K1 + 1) / (tf + shrink)
    return total
