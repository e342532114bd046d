"""A closer look at one candidate: which words of the query stand together in one of its places.

A service of fifty capabilities holds most words somewhere. What it can do for the query is what one capability, or the
service's own description, says with the query's words together.
"""

import numpy as np

from registry.core.ranking.features import DECIMALS, CloseLook, Features


def close_look(features: Features, candidate: int) -> CloseLook:
    """Return the look at a candidate; it is taken once for each answer."""
    look = features.looks.get(candidate)
    if look is None:
        look = features.looks[candidate] = _look(features, candidate)
    return look


def says_the_reverse(features: Features, candidate: int) -> bool:
    """Return whether the candidate's texts name a direction of the query ("HTML to PDF") only the other way round."""
    if not features.both_ends[candidate]:
        return False
    place_of = dict(zip(features.question.terms, features.places[:, candidate].tolist(), strict=True))
    asked = {
        (source, target)
        for first, second in features.question.ways
        if (source := place_of.get(first, -1)) >= 0 and (target := place_of.get(second, -1)) >= 0
    }
    told = set(map(tuple, close_look(features, candidate).capabilities.ways.tolist()))
    return asked.isdisjoint(told) and any((target, source) in told for source, target in asked)


def _look(features: Features, candidate: int) -> CloseLook:
    capabilities = features.candidates.capabilities(candidate)
    start, end = features.candidates.term_starts[candidate : candidate + 2].tolist()
    weights = np.zeros(end - start)
    for place, (_, share) in features.matched_terms(candidate).items():
        weights[place] = share
    sums = np.zeros(len(capabilities.places) + 1)
    weights.take(capabilities.places, mode="clip").cumsum(out=sums[1:])
    totals = sums.take(capabilities.starts, mode="clip")
    return CloseLook(capabilities, (totals[1:] - totals[:-1]).round(DECIMALS))
