"""Score the best match of a capability with any single sentence of the query.

A request often names several needs, and no text of one capability is near all of them. Each capability is one more
chance to be the best one. The capabilities of an honest service share its name and its trade. A service that lists
everything a user may ask for has a weaker signal, because its capabilities have little in common.
"""

from typing import Final

import numpy as np

from registry.core.ranking.features import Features, Numbers

_MIN_PARTS: Final = 8
"""Minimum parts for measuring coherence; fewer prove nothing."""

_FULL_COHERENCE: Final = 0.35
"""Mean cosine between two parts of a service that counts in full. One in thirty of 215 such services has less."""


def signal(features: Features) -> Numbers:
    """Return (n,) cosines, -1 to 1: the best of the service's own text and its first capabilities; less for a catalogue
    of unlike things."""
    return features.parts.folded(features.needs, np.maximum) * _coherence(features)


def _coherence(features: Features) -> Numbers:
    """Return (n,), 0 to 1. The squared sum of p parts holds the cosine of each pair twice, and p times 1."""
    candidates = features.candidates
    parts = features.parts.folded((candidates.scales > 0).astype(np.float64), np.add)
    is_measured = parts >= _MIN_PARTS
    pairs = np.where(is_measured, parts * (parts - 1), 1.0)
    mean_cosines = (candidates.spreads.astype(np.float64) ** 2 - parts) / pairs
    return np.where(is_measured, np.clip(mean_cosines / _FULL_COHERENCE, 0.0, 1.0), 1.0)
