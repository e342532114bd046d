"""One owner does not fill a page: near-duplicates on one registrable domain become one hit, and only the first few
different services of a domain keep their rank; the others come after all other hits.

Only within a domain: that two owners say the same is no reason to hide either, and no text proves whose it is.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from registry.core.names.domains import registrable_domain
from registry.core.ranking.candidates import CandidateSet
from registry.core.ranking.rank import Ranking

PER_DOMAIN: Final = 3
"""Services of one domain that keep the rank of their relevance."""

_MAX_COMPARED: Final = 100
"""Hits that are compared; those after them keep their order."""

_ALIKE_FROM: Final = 0.9
"""Least share of their weighted words that two near-duplicates have in common (Ruzicka similarity)."""


def collapse(ranking: Ranking, per_domain: int = PER_DOMAIN) -> Ranking:
    """Return the ranking with the collapsed `order`, and in `alike` the hosts folded into each hit, best first."""
    candidates = ranking.features.candidates
    by_domain: dict[str, list[int]] = {}
    duplicates: dict[int, list[str]] = {}
    first: list[int] = []
    demoted: list[int] = []
    compared = ranking.order[:_MAX_COMPARED]
    labels = [candidates.hosts[candidate].rpartition(".")[0].rpartition(".")[2] for candidate in compared]
    label_counts = Counter(labels)  # quick test: hosts of one domain always share the label before the last
    if len(label_counts) == len(labels):
        return ranking
    for candidate, label in zip(compared, labels, strict=True):
        if label_counts[label] == 1:
            first.append(candidate)
            continue
        host = candidates.hosts[candidate]
        domain_hits = by_domain.setdefault(registrable_domain(host), [])
        original = next((hit for hit in domain_hits if _are_alike(candidates, candidate, hit)), None)
        if original is not None:
            duplicates.setdefault(original, []).append(host)
            continue
        (first if len(domain_hits) < per_domain else demoted).append(candidate)
        domain_hits.append(candidate)
    alike: Mapping[int, tuple[str, ...]] = {candidate: tuple(hosts) for candidate, hosts in duplicates.items()}
    return replace(ranking, order=(*first, *demoted, *ranking.order[_MAX_COMPARED:]), alike=alike)


def _are_alike(candidates: CandidateSet, first: int, second: int) -> bool:
    lengths = candidates.lengths[[first, second]]
    if lengths.min() < _ALIKE_FROM * lengths.max():
        return False
    (first_words, first_counts), (second_words, second_counts) = _words(candidates, first), _words(candidates, second)
    _, first_at, second_at = np.intersect1d(first_words, second_words, assume_unique=True, return_indices=True)
    common = int(np.minimum(first_counts[first_at], second_counts[second_at]).sum())
    union = int(first_counts.sum() + second_counts.sum()) - common
    return common >= _ALIKE_FROM * union


def _words(candidates: CandidateSet, candidate: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    start, end = candidates.term_starts[candidate : candidate + 2].tolist()
    return candidates.terms[start:end], candidates.counts[start:end].astype(np.int64)
