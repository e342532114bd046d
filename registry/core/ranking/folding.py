"""One owner does not fill a page: near-duplicates of one registrable domain become one hit, and of the different
services of a domain the first few stand in their place, the others behind everybody else's.

Only within a domain: that two owners say the same is no reason to hide either, and nothing in a text says whose it is.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from registry.core.domains import registrable_domain
from registry.core.ranking.candidates import Candidates
from registry.core.ranking.rank import Ranking

PER_DOMAIN: Final = 3
"""Services of one domain that stand where their relevance puts them."""

_FOLDED: Final = 100
"""Places that are looked at; who pages further sees the rest as it is."""

_ALIKE_FROM: Final = 0.9
"""Share of their weighted words that two near-duplicates have in common (Ruzicka similarity)."""


def fold(ranking: Ranking, per_domain: int = PER_DOMAIN) -> Ranking:
    """The same ranking with another `order`, and the hosts that each hit stands for in `alike`, best first."""
    candidates = ranking.evidence.candidates
    kept: dict[str, list[int]] = {}
    stands_for: dict[int, list[str]] = {}
    first: list[int] = []
    behind: list[int] = []
    looked_at = ranking.order[:_FOLDED]
    labels = [candidates.hosts[place].rpartition(".")[0].rpartition(".")[2] for place in looked_at]
    met = Counter(labels)  # hosts of one domain share the last label but one, whatever the list of suffixes says
    if len(met) == len(labels):
        return ranking
    for place, label in zip(looked_at, labels, strict=True):
        if met[label] == 1:
            first.append(place)
            continue
        host = candidates.hosts[place]
        own = kept.setdefault(registrable_domain(host), [])
        twin = next((other for other in own if _are_alike(candidates, place, other)), None)
        if twin is not None:
            stands_for.setdefault(twin, []).append(host)
            continue
        (first if len(own) < per_domain else behind).append(place)
        own.append(place)
    alike: Mapping[int, tuple[str, ...]] = {place: tuple(hosts) for place, hosts in stands_for.items()}
    return replace(ranking, order=(*first, *behind, *ranking.order[_FOLDED:]), alike=alike)


def _are_alike(candidates: Candidates, one: int, other: int) -> bool:
    lengths = candidates.lengths[[one, other]]
    if lengths.min() < _ALIKE_FROM * lengths.max():
        return False
    (words, counts), (others, other_counts) = _words(candidates, one), _words(candidates, other)
    _, at, other_at = np.intersect1d(words, others, assume_unique=True, return_indices=True)
    common = int(np.minimum(counts[at], other_counts[other_at]).sum())
    together = int(counts.sum() + other_counts.sum()) - common
    return common >= _ALIKE_FROM * together


def _words(candidates: Candidates, place: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    start, end = candidates.term_starts[place : place + 2].tolist()
    return candidates.terms[start:end], candidates.counts[start:end].astype(np.int64)
