"""The best thing that the service can do for any one sentence of the question.

A request often names several needs, and no text of one capability is near all of them together.
"""

import numpy as np

from registry.core.ranking.evidence import Evidence, Numbers


def signal(evidence: Evidence) -> Numbers:
    """Cosine, -1 to 1: of the nearest of the service's own text and its first capabilities."""
    return evidence.over_parts(evidence.needs, np.maximum)
