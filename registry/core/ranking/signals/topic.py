"""Score the service's topic: nearness to its whole text, and to the mean of its parts.

The whole text favours services of few capabilities, the mean services of many short ones; together they favour neither.
"""

import numpy as np

from registry.core.ranking.features import Features, Numbers


def signal(features: Features) -> Numbers:
    """Return (n,) cosines, -1 to 1."""
    spreads = features.candidates.spreads.astype(np.float64)
    sums = features.parts.folded(features.whole, np.add)  # divided by the length of the sum: the cosine with the mean
    mean_cosines = np.divide(sums, spreads, out=np.zeros_like(sums), where=spreads > 0)
    return (features.topic + mean_cosines) / 2
