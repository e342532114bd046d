"""What speaks for a candidate. One module per signal; a new one is a module here and a row in the table.

A signal is a function of the evidence, a number per candidate; what is 0 or less speaks for nothing. Before they are
added up, each is divided by the best one in the pool and squared: the weight says what share of the whole it decides,
and who is nearly the best at something stands far from who is like everybody else.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from registry.core.ranking.evidence import Evidence, Numbers
from registry.core.ranking.question import Question
from registry.core.ranking.signals import need, topic, words


class Signal(NamedTuple):
    """`of_all_needs`: it looks at where the whole question points. That is the middle of its sentences, which says
    the less the more needs are in it."""

    name: str
    weight: float
    of: Callable[[Evidence], Numbers]
    of_all_needs: bool = False

    def weight_for(self, question: Question) -> float:
        needs = 1 if question.needs is None else len(question.needs)
        return self.weight / needs if self.of_all_needs else self.weight


SIGNALS: Final = (
    Signal("words", 0.36, words.signal),
    Signal("topic", 0.32, topic.signal, of_all_needs=True),
    Signal("need", 0.32, need.signal),
)
"""Found on requests that people wrote for other services; flat: a tenth more or less moves either set by under 1 %."""
