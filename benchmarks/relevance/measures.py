"""Measures of ranking quality, with confidence intervals.

Hit@1, Hit@5, NDCG@10 (gain 2^grade - 1, discount log2(rank + 1); Järvelin and Kekäläinen 2002 in the form of Burges et
al. 2005) and MRR@10 over services, as means over queries. A list shorter than ten is not padded. Intervals: bootstrap
over queries; two systems are compared by paired differences per query (Smucker et al. 2007).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

import numpy as np
from numpy.typing import NDArray

MEASURES: Final = ("hit@1", "hit@5", "ndcg@10", "mrr@10")
RESAMPLES: Final = 1_000
SEED: Final = 20261122
_DEPTH: Final = 10

Scores = NDArray[np.float64]
"""One row a query, one column a measure, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Interval:
    """In per cent: the mean over the queries, and the bounds of the central 95 % of the resamples."""

    mean: float
    low: float
    high: float


def score(ranked: Sequence[str], grades: Mapping[str, int]) -> tuple[float, float, float, float]:
    """Return the four measures of one query. `ranked` is best first, each host once."""
    places = [place for place, host in enumerate(ranked[:_DEPTH], start=1) if grades.get(host, 0) > 0]
    first = places[0] if places else 0
    gain = sum((2 ** grades[ranked[place - 1]] - 1) / log2(place + 1) for place in places)
    ideal = sorted(grades.values(), reverse=True)[:_DEPTH]
    ideal_gain = sum((2**grade - 1) / log2(place + 1) for place, grade in enumerate(ideal, start=1))
    return (
        float(first == 1),
        float(0 < first <= 5),
        gain / ideal_gain if ideal_gain else 0.0,
        1 / first if first else 0.0,
    )


def means(scores: Scores) -> list[Interval]:
    """Return the interval of each measure."""
    return _intervals(scores)


def differences(scores: Scores, against: Scores) -> list[Interval]:
    """Return the intervals of the paired differences between two systems on the same queries, in points."""
    return _intervals(scores - against)


def _intervals(scores: Scores) -> list[Interval]:
    chance = np.random.default_rng(SEED)
    count = len(scores)
    drawn = np.empty((RESAMPLES, scores.shape[1]))
    for row in range(RESAMPLES):
        times = np.bincount(chance.integers(0, count, count), minlength=count)
        drawn[row] = times @ scores / count
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return [
        Interval(100 * float(mean), 100 * float(bottom), 100 * float(top))
        for mean, bottom, top in zip(scores.mean(axis=0), low, high, strict=True)
    ]
