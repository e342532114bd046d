"""Keep a page from being filled by one owner, or by many hosts with nearly the same texts.

One owner: near-duplicates on one registrable domain become one hit. Only the first few different services of a domain
keep their rank; the others come after all other hits. Many owners: exact copies are folded before the ranking
(copies.py). Of nearly equal services a few keep their rank, and the others come last. They are not folded, because
likeness proves nothing: an owner who changed a word after being copied is as similar as the copies.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from registry.core.names.domains import registrable_domain
from registry.core.ranking.copies import SHOWN_COPIES, FoldedHosts, Positions
from registry.core.ranking.rank import Ranking
from registry.core.ranking.record import CandidateSet

PER_DOMAIN: Final = 3  # services of one domain that keep the rank of their relevance
PER_OFFER: Final = 3
"""Nearly equal services of several owners that keep their rank. A service keeps it if fewer than this many of the
others precede it both in trust and in age: at most this many of each trust level, and always the oldest."""

_MAX_COMPARED: Final = 100  # hits that are compared within their domain; later hits keep their order
_GLANCE: Final = 12
"""Hits that are first compared across owners: a page and a little more. All hits are compared only if some of these
are alike, because that costs half as much as the whole search."""

_ALIKE_FROM: Final = 0.9
"""Least share of their weighted words that two near-duplicates have in common (Ruzicka similarity)."""

_NEAR_FROM: Final = 0.9  # least cosine of two hits whose words are compared
_GROUPS: Final = 256
"""Groups of words, by hash, that are compared instead of the words when hits of several owners are: all pairs in a few
operations. The similarity becomes 0.001 higher on average (benchmarks/search-lab.md, "Copies")."""

_MAX_GROUP_SIZE: Final = 0xFFFF


def collapse(ranking: Ranking, per_domain: int = PER_DOMAIN, *, across_owners: bool = True) -> Ranking:
    """Return the ranking with the collapsed `order`, and in `alike` the hosts folded into each hit, best first."""
    collapsed = _collapse_domains(ranking, per_domain)
    return _limit_offers(collapsed) if across_owners else collapsed


def _collapse_domains(ranking: Ranking, per_domain: int) -> Ranking:
    candidates = ranking.features.candidates
    by_domain: dict[str, list[int]] = {}
    duplicates: dict[int, list[int]] = {}
    first: list[int] = []
    demoted: list[int] = []
    compared = ranking.order[:_MAX_COMPARED]
    labels = [candidates.hosts[candidate].rpartition(".")[0].rpartition(".")[2] for candidate in compared]
    label_counts = Counter(labels)  # quick test: hosts of one domain always share the label before the last
    if len(label_counts) == len(labels):
        return ranking
    for candidate, label in zip(compared, labels, strict=True):
        if label_counts[label] == 1 or candidate in candidates.named:
            first.append(candidate)
            continue
        domain_hits = by_domain.setdefault(registrable_domain(candidates.hosts[candidate]), [])
        original = next((hit for hit in domain_hits if _are_alike(candidates, candidate, hit)), None)
        if original is not None:
            duplicates.setdefault(original, []).append(candidate)
            continue
        (first if len(domain_hits) < per_domain else demoted).append(candidate)
        domain_hits.append(candidate)
    alike = {candidate: _hosts_of(candidates, folded) for candidate, folded in duplicates.items()}
    return replace(ranking, order=(*first, *demoted, *ranking.order[_MAX_COMPARED:]), alike=alike)


def _hosts_of(candidates: CandidateSet, folded: Sequence[int]) -> FoldedHosts:
    """Return the hosts of folded candidates, each followed by its own copies."""
    hosts: list[str] = []
    total = len(folded)
    for candidate in folded:
        behind = candidates.copies(candidate)
        hosts += (candidates.hosts[candidate], *behind.hosts)
        total += behind.total
    return FoldedHosts(tuple(hosts[:SHOWN_COPIES]), total)


def _limit_offers(ranking: Ranking) -> Ranking:
    candidates, glance = ranking.features.candidates, ranking.order[:_GLANCE]
    if not (_has_near_vectors(candidates, glance) and _near_pairs(ranking, glance).any()):
        return ranking
    hits = np.array(ranking.order)
    standings = candidates.standings.take(hits)
    no_later = (standings.levels[:, None] <= standings.levels) & (standings.listed[:, None] <= standings.listed)
    precedes = no_later & (~no_later.T | np.triu(no_later, 1))  # of equals, the better ranked one
    preceding = np.count_nonzero(_near_pairs(ranking, ranking.order) & precedes, axis=0)
    is_demoted = (preceding >= PER_OFFER) & ~np.isin(hits, list(candidates.named))  # guard: few-nearly-equal-services
    return replace(ranking, order=(*hits[~is_demoted].tolist(), *hits[is_demoted].tolist()))


def _near_pairs(ranking: Ranking, hits: Sequence[int]) -> NDArray[np.bool_]:
    """Return (n, n), symmetric: whether two hits of different owners have nearly the same words, and enough of them."""
    candidates = ranking.features.candidates
    positions = np.array(hits, np.int64)
    near = np.zeros((len(hits), len(hits)), np.bool_)
    first, second = _pairs_of_like_length(candidates, positions)
    if not len(first):
        return near
    groups = _word_groups(candidates, positions)
    common = np.minimum(groups[first], groups[second]).sum(axis=1, dtype=np.int64)
    weights = groups.sum(axis=1, dtype=np.int64)
    near[first, second] = common >= _ALIKE_FROM * (weights[first] + weights[second] - common)
    if near.any():
        _, owners = np.unique([registrable_domain(candidates.hosts[hit]) for hit in hits], return_inverse=True)
        near &= owners[:, None] != owners
    return near | near.T


def _has_near_vectors(candidates: CandidateSet, hits: Sequence[int]) -> bool:
    """Return whether two of the hits are so near in meaning that it is worth comparing their words; true if one has no
    vector. Of a hundred nearly equal texts one or two pairs are not so near, but never most of many copies."""
    positions = np.array(hits, np.int64)
    first, second = _pairs_of_like_length(candidates, positions)
    if not len(first):
        return False
    rows = candidates.row_starts[positions]
    if (rows == candidates.row_starts[positions + 1]).any():
        return True
    units = candidates.vectors[rows].astype(np.float32) * candidates.scales[rows, None]
    return bool((np.vecdot(units[first], units[second]) >= _NEAR_FROM).any())


def _pairs_of_like_length(candidates: CandidateSet, positions: Positions) -> tuple[Positions, Positions]:
    """Return the pairs that are not excluded by their lengths, without services of few words."""
    first, second = _pairs(len(positions))
    lengths = candidates.lengths[positions] * (candidates.standings.offers[positions] != 0)
    longer = np.maximum(lengths[first], lengths[second])
    is_possible = (np.minimum(lengths[first], lengths[second]) >= _ALIKE_FROM * longer) & (longer > 0)
    return first[is_possible], second[is_possible]


@lru_cache(maxsize=256)
def _pairs(number: int) -> tuple[Positions, Positions]:
    first, second = np.triu_indices(number, 1)
    return first, second


def _word_groups(candidates: CandidateSet, hits: Positions) -> NDArray[np.uint16]:
    """Return (n, _GROUPS): how often each hit uses the words of each group, weighted."""
    starts, ends = candidates.term_starts[hits].tolist(), candidates.term_starts[hits + 1].tolist()
    spans = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
    words = np.concatenate([candidates.terms[span] for span in spans]) & (_GROUPS - 1)
    counts = np.concatenate([candidates.counts[span] for span in spans])
    row_starts = np.repeat(np.arange(len(hits)) * _GROUPS, [span.stop - span.start for span in spans])
    groups = np.bincount(row_starts + words, counts, len(hits) * _GROUPS)
    return np.minimum(groups, _MAX_GROUP_SIZE).astype(np.uint16).reshape(len(hits), _GROUPS)


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
