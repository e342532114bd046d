"""The signals that rank a candidate. One module per signal; a new one is a module here and a row in the table.

A signal is a function of the features that returns a number per candidate; 0 or less adds nothing. Before the sum, each
is divided by the best one in the pool and squared. The weight is then the share of the whole that it decides, and a
candidate that is nearly the best ranks far above an average one.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from registry.core.ranking.features import Features, Numbers
from registry.core.ranking.parsed_query import ParsedQuery
from registry.core.ranking.signals import need, topic, words


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
    Signal("words", 0.34, words.signal),
    Signal("topic", 0.36, topic.signal, of_all_needs=True),
    Signal("need", 0.3, need.signal),
)
"""Weights tuned on requests that people wrote for other services. The optimum is flat: changing a weight by a tenth
changes the results on either set by under 1 %."""
