"""What every signal is computed from: which words of the query each candidate holds, and how near its rows are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking.parsed_query import ParsedQuery
from registry.core.ranking.record import CandidateSet, Capabilities, CorpusStats, term_ids
from registry.core.ranking.vectors import cosines
from registry.core.wording.fields import WEIGHT_UNIT

DECIMALS: Final = 6  # decimals of the numbers shown
_VERB_ALONE: Final = 0.25
_SOME_BITS: Final = 0xFFF  # bits of a word's hash: few enough for a table that stays in the processor's first cache
Numbers = NDArray[np.float64]

MatchedTerms = Mapping[int, tuple[str, float]]
"""The query's words that a candidate holds, in the query's order: position among the candidate's words -> the word and
its share of the query's weight."""


class CloseLook(NamedTuple):
    """The closer look at a candidate (capabilities.py). `covers` (places,): the share of the query's weight that each
    place's words match: first the service's own text, then its capabilities. `is_reverse`: see `says_the_reverse`."""

    capabilities: Capabilities
    covers: Numbers
    is_reverse: bool


class RowRanges:
    """Where the rows of each of n candidates begin and end; some have none."""

    def __init__(self, starts: NDArray[np.int64], ends: NDArray[np.int64], rows: int) -> None:
        self._has_rows = ends > starts
        self._all_have_rows = bool(self._has_rows.all())
        bounds = np.empty((len(starts), 2), np.int64)
        bounds[:, 0], bounds[:, 1] = starts, ends
        flat = (bounds if self._all_have_rows else bounds[self._has_rows]).ravel()
        self._bounds = flat[:-1] if len(flat) and flat[-1] == rows else flat  # the last range then ends with the rows

    def folded(self, rows: Numbers, fold: np.ufunc) -> Numbers:
        """Return (n,) the rows of each candidate folded (np.maximum, np.add); 0 if it has none."""
        if self._all_have_rows and len(self._bounds):
            values: Numbers = fold.reduceat(rows, self._bounds)[::2]
            return values
        values = np.zeros(len(self._has_rows))
        if len(self._bounds):
            values[self._has_rows] = fold.reduceat(rows, self._bounds)[::2]
        return values


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Arrays over T words, n candidates and R rows of vectors.

    `idf` (T,); `shares`: T pairs of a word and its share of the query's weight; `tf` (T, n), weighted; `places` (T, n):
    the word's position among a candidate's words, -1 if it is not there; `whole` (R,): cosine with the query; `needs`
    (R,): the best cosine with any of its sentences. Both are 0 if query or candidate has no vector.

    For each candidate (n,): `covers`: the share of the query's weight that its words match; `nearest`: the cosine of
    its nearest row, at least 0; `need`: the same with the nearest of the query's sentences; `topic`: the cosine of its
    first row, the whole service; `parts`: its rows after the first one; `sentence_covers`: the best cover of
    one of several sentences, 0 if there is only one; `both_ends`: whether it holds both words of a direction of the
    query; `on_object`: whether it holds one of the query's `objects`, also if the query has no objects. `looks`: a
    candidate's closer look, for the first candidates (capabilities.py).
    """

    question: ParsedQuery
    candidates: CandidateSet
    stats: CorpusStats
    idf: Numbers
    shares: Sequence[tuple[str, float]]
    tf: Numbers
    places: NDArray[np.int64]
    whole: Numbers
    needs: Numbers
    covers: Numbers
    nearest: Numbers
    need: Numbers
    topic: Numbers
    parts: RowRanges
    sentence_covers: Numbers
    both_ends: NDArray[np.bool_]
    on_object: NDArray[np.bool_]
    looks: dict[int, CloseLook] = field(default_factory=dict)

    @property
    def verb_alone(self) -> Numbers:
        """Return (n,) the factor of a candidate's word signals: less if it holds the verb of the question and none of
        its objects. Without vectors, words are all there is."""
        return (
            np.where(self.on_object, 1.0, _VERB_ALONE) if self.question.whole is not None else np.ones(len(self.tf.T))
        )

    def matched_terms(self, candidate: int) -> MatchedTerms:
        positions = self.places[:, candidate].tolist()
        return {position: pair for position, pair in zip(positions, self.shares, strict=True) if position >= 0}


def extract_features(question: ParsedQuery, candidates: CandidateSet, stats: CorpusStats) -> Features:
    terms = term_ids(list(question.terms))
    idf = stats.idf(terms)
    counted = _counted(question, terms, idf, stats)
    weight = float(counted.sum()) or 1.0
    tf, places = _frequencies(terms, candidates)
    whole, needs = _cosines(question, candidates)
    starts, ends = candidates.row_starts[:-1], candidates.row_starts[1:]
    rows = RowRanges(starts, ends, len(whole))
    nearest = rows.folded(whole, np.maximum).clip(0.0)
    objects = [row for row, term in enumerate(question.terms) if term in question.objects]
    return Features(
        question,
        candidates,
        stats,
        idf,
        shares=list(zip(question.terms.values(), (counted / weight).tolist(), strict=True)),
        tf=tf,
        places=places,
        whole=whole,
        needs=needs,
        covers=np.round(np.where(places < 0, 0.0, counted[:, None]).sum(axis=0) / weight, DECIMALS),
        nearest=np.round(nearest, DECIMALS),
        need=nearest if needs is whole else rows.folded(needs, np.maximum).clip(0.0),
        topic=np.where(ends > starts, np.append(whole, 0.0)[starts], 0.0),
        parts=RowRanges(starts + 1, ends, len(whole)),
        sentence_covers=_sentence_covers(question, counted, places),
        both_ends=_both_ends(question, places),
        on_object=np.any(places[objects] >= 0, axis=0) if question.objects else np.ones(len(candidates), np.bool_),
    )


_RARE: Final = 1_000
"""A proper name that one service in so many uses is a thing that services deal with, for example a product."""


def _counted(question: ParsedQuery, terms: NDArray[np.uint32], idf: Numbers, stats: CorpusStats) -> Numbers:
    """Return (T,) the weights that count in covers: the idf, but 0 for particulars."""
    if not question.particulars and not question.proper:
        return idf
    used_by = stats.document_frequency(terms)
    is_particular = [
        term in question.particulars or (term in question.proper and services * _RARE < stats.services)
        for term, services in zip(question.terms, used_by.tolist(), strict=True)
    ]
    return np.where(is_particular, 0.0, idf)


def _sentence_covers(question: ParsedQuery, idf: Numbers, places: NDArray[np.int64]) -> Numbers:
    best = np.zeros(places.shape[1])
    held = np.where(places < 0, 0.0, idf[:, None])
    for sentence in question.sentences:
        rows = [row for row, term in enumerate(question.terms) if term in sentence]
        weight = float(idf[rows].sum())
        if weight > 0:
            np.maximum(best, held[rows].sum(axis=0) / weight, out=best)
    return best


def _both_ends(question: ParsedQuery, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    row_of = {term: row for row, term in enumerate(question.terms)}
    held = np.zeros(places.shape[1], np.bool_)
    for source, target in question.ways:
        if source in row_of and target in row_of:
            held |= (places[row_of[source]] >= 0) & (places[row_of[target]] >= 0)
    return held


def _frequencies(terms: NDArray[np.uint32], candidates: CandidateSet) -> tuple[Numbers, NDArray[np.int64]]:
    """Return (tf, places), both (T, n). Few of the candidates' words are in the query: hash bits exclude most."""
    tf, places = np.zeros((len(terms), len(candidates))), np.full((len(terms), len(candidates)), -1)
    table = np.zeros(_SOME_BITS + 1, np.bool_)
    table[terms & _SOME_BITS] = True
    indexes = np.flatnonzero(np.take(table, candidates.terms & _SOME_BITS))
    matching, term_numbers = np.nonzero(candidates.terms[indexes][:, None] == terms)
    indexes = indexes[matching]
    services = np.searchsorted(candidates.term_starts, indexes, side="right") - 1
    tf[term_numbers, services] = candidates.counts[indexes] / WEIGHT_UNIT
    places[term_numbers, services] = indexes - candidates.term_starts[services]
    return tf, places


def _cosines(question: ParsedQuery, candidates: CandidateSet) -> tuple[Numbers, Numbers]:
    """Return (R,) cosines with the whole query, and with the nearest of its sentences."""
    no_rows = question.model != candidates.model or not len(candidates.vectors)
    if question.whole is None or question.needs is None or no_rows:
        zeros = np.zeros(len(candidates.vectors))
        return zeros, zeros
    is_single = len(question.needs) == 1 and np.array_equal(question.needs[0], question.whole)
    query_rows = question.needs if is_single else np.vstack([question.whole, question.needs])
    similarities = cosines(candidates.vectors, candidates.scales, query_rows)
    whole = similarities[:, 0]
    return whole, whole if is_single else similarities[:, 1:].max(axis=1)
