"""The signals that rank a candidate: functions of the features that return a number per candidate; a new one is a
function here and a row in the table.

A number of 0 or less adds nothing. Before the sum, each is divided by the best one in the pool and squared. The weight
is then the share of the whole that it decides, and a candidate that is nearly the best ranks far above an average one.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from registry.core.ranking.features import Features, Numbers
from registry.core.ranking.parsed_query import ParsedQuery

_K1, _B = 1.0, 0.75

_MAX_TF: Final = 3.0
"""Cap on the count of a word (the name counts double), while every use adds to the length: repeating words gains
nothing and has a cost. Honest texts lose nothing by it."""

_MIN_PARTS: Final = 8  # minimum parts for measuring coherence; fewer prove nothing
_FULL_COHERENCE: Final = 0.35
"""Mean cosine between two parts of a service that counts in full. One in thirty of 215 such services has less."""


def words(features: Features) -> Numbers:
    """Return (n,) scores of the query's words in the service's texts, greater than 0 where a word matches: idf is
    always positive. BM25F in one weighted field (Robertson and Zaragoza 2009, section 3.6.2). Not a sum over fields: in
    a sum, a rare word in a short field outweighs everything else."""
    mean_length = features.stats.mean_length or 1.0
    length_norms = _K1 * (1 - _B + _B * features.candidates.lengths / mean_length)
    total = np.zeros(len(features.candidates))
    for idf, tf in zip(features.idf, np.minimum(features.tf, _MAX_TF), strict=True):
        total += idf * tf * (_K1 + 1) / (tf + length_norms)
    return total * features.verb_alone


def topic(features: Features) -> Numbers:
    """Return (n,) cosines, -1 to 1, of the service's topic: its whole text, and the mean of its parts. The whole text
    favours services of few capabilities, the mean services of many short ones; together they favour neither."""
    spreads = features.candidates.spreads.astype(np.float64)
    sums = features.parts.folded(features.whole, np.add)  # divided by the length of the sum: the cosine with the mean
    mean_cosines = np.divide(sums, spreads, out=np.zeros_like(sums), where=spreads > 0)
    return (features.topic + mean_cosines) / 2


def need(features: Features) -> Numbers:
    """Return (n,) cosines, -1 to 1, of the best of the service's own text and its first capabilities with any single
    sentence of the query; less for a catalogue of unlike things.

    A request often names several needs, and no text of one capability is near all of them. Each capability is one more
    chance to be the best one. The capabilities of an honest service share its name and its trade. A service that lists
    everything a user may ask for has a weaker signal, because its capabilities have little in common.
    """
    return features.parts.folded(features.needs, np.maximum) * _coherence(features)


def _coherence(features: Features) -> Numbers:
    """Return (n,), 0 to 1. The squared sum of p parts holds the cosine of each pair twice, and p times 1."""
    candidates = features.candidates
    parts = features.parts.folded((candidates.scales > 0).astype(np.float64), np.add)
    is_measured = parts >= _MIN_PARTS
    pairs = np.where(is_measured, parts * (parts - 1), 1.0)
    mean_cosines = (candidates.spreads.astype(np.float64) ** 2 - parts) / pairs
    return np.where(is_measured, np.clip(mean_cosines / _FULL_COHERENCE, 0.0, 1.0), 1.0)


class Signal(NamedTuple):
    """`of_all_needs`: the signal uses the vector of the whole query, the mean of its sentences. The more needs they
    name, the less that vector says about each."""

    name: str
    weight: float
    of: Callable[[Features], Numbers]
    of_all_needs: bool = False

    def weight_for(self, question: ParsedQuery) -> float:
        needs = 1 if question.needs is None else len(question.needs)
        return self.weight / needs if self.of_all_needs else self.weight


SIGNALS: Final = (
    Signal("words", 0.34, words),
    Signal("topic", 0.36, topic, of_all_needs=True),
    Signal("need", 0.3, need),
)
"""Weights tuned on requests that people wrote for other services. The optimum is flat: changing a weight by a tenth
changes the results on either set by under 1 %."""
