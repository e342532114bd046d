"""What speaks for a candidate. One module per signal; a new one is a module here and a row in the table.

A signal is a function of the evidence, a number per candidate; what is 0 or less speaks for nothing. Before they are
added up, each is divided by the best one in the pool, so that a weight says what share of the whole it decides.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from registry.core.ranking.evidence import Evidence, Numbers
from registry.core.ranking.signals import need, topic, words


class Signal(NamedTuple):
    name: str
    weight: float
    of: Callable[[Evidence], Numbers]


SIGNALS: Final = (
    Signal("words", 0.35, words.signal),
    Signal("topic", 0.25, topic.signal),
    Signal("need", 0.40, need.signal),
)
"""Found on requests that people wrote for other services; flat: a tenth more or less moves either set by under 1 %."""
