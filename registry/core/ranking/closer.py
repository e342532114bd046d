"""A closer look at one candidate: which words of the query stand together in one of its places.

A service of fifty capabilities holds most words somewhere. What it can do for the query is what one capability, or the
service's own description, says with the query's words together.
"""

import numpy as np

from registry.core.ranking.features import DECIMALS, CloseLook, Features, Numbers
from registry.core.ranking.record import Capabilities


def close_look(features: Features, candidate: int) -> CloseLook:
    """Return the look at a candidate; it is taken once for each answer."""
    look = features.looks.get(candidate)
    if look is None:
        look = features.looks[candidate] = _look(features, candidate)
    return look


def _look(features: Features, candidate: int) -> CloseLook:
    capabilities = features.candidates.capabilities(candidate)
    start, end = features.candidates.term_starts[candidate : candidate + 2].tolist()
    weights = np.zeros(end - start)
    places = features.places[:, candidate]
    held = places >= 0
    weights[places[held]] = features.idf[held]
    sums = np.zeros(len(capabilities.places) + 1)
    np.cumsum(np.take(weights, capabilities.places, mode="clip"), out=sums[1:])
    totals = np.take(sums, capabilities.starts, mode="clip")
    covers: Numbers = np.round((totals[1:] - totals[:-1]) / (float(features.idf.sum()) or 1.0), DECIMALS)
    return CloseLook(capabilities, covers, _is_reversed(features, candidate, capabilities))


def _is_reversed(features: Features, candidate: int, capabilities: Capabilities) -> bool:
    place_of = dict(zip(features.question.terms, features.places[:, candidate].tolist(), strict=True))
    asked = {
        (source, target)
        for first, second in features.question.ways
        if (source := place_of.get(first, -1)) >= 0 and (target := place_of.get(second, -1)) >= 0
    }
    if not asked:
        return False
    told = set(map(tuple, capabilities.ways.tolist()))
    return asked.isdisjoint(told) and any((target, source) in told for source, target in asked)
