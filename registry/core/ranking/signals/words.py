"""The query's words in the service's texts: BM25F in one weighted field.

Robertson and Zaragoza 2009, section 3.6.2. Not a sum over fields: in a sum, a rare word in a short field outweighs
everything else.
"""

from typing import Final

import numpy as np

from registry.core.ranking.features import Features, Numbers

_K1, _B = 1.0, 0.75

_MAX_TF: Final = 3.0
"""Cap on the count of a word (the name counts double), while every use adds to the length: repeating words gains
nothing and has a cost. Honest texts lose nothing by it."""


def signal(features: Features) -> Numbers:
    """Return (n,) scores, greater than 0 where a word matches: idf is always positive."""
    mean_length = features.stats.mean_length or 1.0
    length_norms = _K1 * (1 - _B + _B * features.candidates.lengths / mean_length)
    total = np.zeros(len(features.candidates))
    for idf, tf in zip(features.idf, np.minimum(features.tf, _MAX_TF), strict=True):
        total += idf * tf * (_K1 + 1) / (tf + length_norms)
    return total
