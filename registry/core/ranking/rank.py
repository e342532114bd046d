"""The order of the candidates: signals, each divided by the best of the pool, squared, weighted and added up.

Sum of max-normalised scores (a weighted CombSUM, Fox and Shaw 1994): it keeps how far apart candidates are, which a
fusion of ranks throws away. Squared, since cosines lie close together and what is far from the best says little.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from registry.core.ranking.candidates import Candidates
from registry.core.ranking.corpus import CorpusStats
from registry.core.ranking.evidence import Evidence, Numbers, gather
from registry.core.ranking.question import Question
from registry.core.ranking.signals import SIGNALS

_DECIMALS = 9
"""Equal texts must stay equal: what a processor adds up in another order may differ behind the fifteenth."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """`order`: positions in `evidence.candidates`, best first; who has nothing for it is not in it.

    `relevance` (n,) is the sum of `parts`, by the names of SIGNALS; 0 to 1. `alike`: position -> hosts that this one
    stands for (folding.py).
    """

    evidence: Evidence
    parts: Mapping[str, Numbers]
    relevance: Numbers
    order: tuple[int, ...]
    alike: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.order)

    @property
    def hosts(self) -> list[str]:
        """Best first."""
        return [self.evidence.candidates.hosts[place] for place in self.order]


def rank(question: Question, candidates: Candidates, stats: CorpusStats) -> Ranking:
    """The order is total: relevance, then the listing's grade (both falling), then the host.

    It does not depend on the order of the candidates. Where a signal has nothing to say about any of them, as the
    nearness of vectors that are not there, the others share its weight.
    """
    evidence = gather(question, candidates, stats)
    raw = np.maximum(np.stack([signal.of(evidence) for signal in SIGNALS]), 0.0)
    tops = raw.max(axis=1, initial=0.0)
    weights = np.where(tops > 0, [signal.weight_for(question) for signal in SIGNALS], 0.0)
    near = raw / np.where(tops > 0, tops, 1.0)[:, None]
    parts = np.round(near * near * (weights / (weights.sum() or 1.0))[:, None], _DECIMALS)
    relevance = np.round(parts.sum(axis=0), _DECIMALS)
    names = [signal.name for signal in SIGNALS]
    return Ranking(evidence, dict(zip(names, parts, strict=True)), relevance, _order(relevance, candidates))


def browse(candidates: Candidates, stats: CorpusStats) -> Ranking:
    """Nothing was asked: the best grades first."""
    evidence = gather(Question("", {}), candidates, stats)
    nothing = np.zeros(len(candidates))
    by_grade = sorted(range(len(candidates)), key=lambda place: (-candidates.scores[place], candidates.hosts[place]))
    return Ranking(evidence, {}, nothing, tuple(by_grade))


def _order(relevance: Numbers, candidates: Candidates) -> tuple[int, ...]:
    matching = np.flatnonzero(relevance > 0)
    marks, scores = -relevance[matching], -candidates.scores[matching]
    order = np.lexsort((scores, marks))
    tied = (np.diff(marks[order]) == 0) & (np.diff(scores[order]) == 0)
    if tied.any():
        hosts = np.array([candidates.hosts[place] for place in matching.tolist()], np.object_)
        order = np.lexsort((hosts, scores, marks))
    return tuple(matching[order].tolist())
