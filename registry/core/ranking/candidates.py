"""The services that an engine proposes, as columns, so that numbers that are read together are adjacent in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking.copies import FoldedHosts, Standings, no_copies
from registry.core.ranking.record import Capabilities


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSet:
    """n services. The words of service i are `terms[term_starts[i]:term_starts[i + 1]]` with their `counts`, its
    vectors `vectors[row_starts[i]:row_starts[i + 1]]` with their `scales`: all of the model `model`, or none.

    See Record and Standings for each number. `capabilities(i)` and `copies(i)`, the hosts folded behind service i, are
    read only when a hit is explained. `named`: positions of the services that the question names (naming.py).
    """

    hosts: Sequence[str]
    scores: NDArray[np.int64]
    lengths: NDArray[np.int64]
    term_starts: NDArray[np.int64]
    terms: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    row_starts: NDArray[np.int64]
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]
    spreads: NDArray[np.float32]
    model: str
    standings: Standings
    capabilities: Callable[[int], Capabilities]
    copies: Callable[[int], FoldedHosts] = no_copies
    named: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.hosts)
