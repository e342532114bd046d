"""The best thing that the service can do for any one sentence of the question.

A request often names several needs, and no text of one capability is near all of them together.

Each capability is one more draw for the best one. Those of an honest service, however many, have something in common,
its name and its trade; who lists everything that anybody may ask for is measured by how little his have.
"""

from typing import Final

import numpy as np

from registry.core.ranking.evidence import Evidence, Numbers

_MANY: Final = 8
"""Parts from which on their common direction is asked for: of fewer nobody can tell."""

_COMMON: Final = 0.35
"""Mean cosine between two parts of a service. Of 215 services with as many parts one in thirty has less."""


def signal(evidence: Evidence) -> Numbers:
    """Cosine, -1 to 1: of the nearest of the service's own text and its first capabilities; less for a catalogue of
    unlike things."""
    return evidence.over_parts(evidence.needs, np.maximum) * _coherence(evidence)


def _coherence(evidence: Evidence) -> Numbers:
    """(n,) 0 to 1. The square of the parts' sum holds every cosine between two of them twice, and each with itself."""
    candidates = evidence.candidates
    parts = evidence.over_parts((candidates.scales > 0).astype(np.float64), np.add)
    many = parts >= _MANY
    pairs = np.where(many, parts * (parts - 1), 1.0)
    common = (candidates.spreads.astype(np.float64) ** 2 - parts) / pairs
    return np.where(many, np.clip(common / _COMMON, 0.0, 1.0), 1.0)
