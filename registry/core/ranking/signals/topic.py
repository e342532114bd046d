"""What the service as a whole is about: nearness to all of its text at once, and to the middle of its parts.

The text at once favours services of few capabilities, the middle those of many short ones; together they favour
neither.
"""

import numpy as np

from registry.core.ranking.evidence import Evidence, Numbers


def signal(evidence: Evidence) -> Numbers:
    """Cosine, -1 to 1."""
    spreads = evidence.candidates.spreads.astype(np.float64)
    sums = evidence.over_parts(evidence.whole, np.add)  # the cosine with a mean is the mean of cosines, lengthened
    middle = np.divide(sums, spreads, out=np.zeros_like(sums), where=spreads > 0)
    return (evidence.of_first_rows(evidence.whole) + middle) / 2
