"""What every signal is computed from: which words of the question each candidate holds, and how near its rows are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking.candidates import Candidates
from registry.core.ranking.corpus import CorpusStats
from registry.core.ranking.fields import HALVES
from registry.core.ranking.question import Question
from registry.core.ranking.record import term_ids
from registry.core.ranking.vectors import cosines

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Of T words, n candidates and R rows of vectors.

    `asked` (T,) names of the words; `idf` (T,); `tf` (T, n) weighted; `whole` (R,) cosine with the question; `needs`
    (R,) the best one with any of its sentences. Both cosines are 0 where question or candidate has no vector.
    """

    question: Question
    candidates: Candidates
    stats: CorpusStats
    asked: NDArray[np.uint32]
    idf: Numbers
    tf: Numbers
    whole: Numbers
    needs: Numbers

    @property
    def weight(self) -> float:
        """What all words of the question weigh together."""
        return float(self.idf.sum())

    def of_first_rows(self, rows: Numbers) -> Numbers:
        """(n,) the number of each candidate's first row, the one of the whole service."""
        starts, ends = self.candidates.row_starts[:-1], self.candidates.row_starts[1:]
        out = np.zeros(len(starts))
        out[ends > starts] = rows[starts[ends > starts]]
        return out

    def over_parts(self, rows: Numbers, fold: np.ufunc) -> Numbers:
        """(n,) the rows behind the first one folded (np.maximum, np.add); 0 for a candidate without rows."""
        starts, ends = self.candidates.row_starts[:-1] + 1, self.candidates.row_starts[1:]
        has = ends > starts
        out = np.zeros(len(starts))
        if has.any():
            bounds = np.stack([starts[has], ends[has]], axis=1).ravel()
            out[has] = fold.reduceat(np.append(rows, 0.0), bounds)[::2]
        return out


def gather(question: Question, candidates: Candidates, stats: CorpusStats) -> Evidence:
    asked = term_ids(list(question.terms))
    near = _cosines(question, candidates)
    whole, needs = near[:, 0], near[:, 1:].max(axis=1)
    return Evidence(question, candidates, stats, asked, stats.idf(asked), _frequencies(asked, candidates), whole, needs)


def _frequencies(asked: NDArray[np.uint32], candidates: Candidates) -> Numbers:
    """(T, n). Most words of the candidates are not asked for: a look at half of each name tells nearly all of them."""
    out = np.zeros((len(asked), len(candidates)))
    table = np.zeros(1 << 16, np.bool_)
    table[asked & 0xFFFF] = True
    at = np.flatnonzero(table[candidates.terms & 0xFFFF])
    words, services = candidates.terms[at], np.searchsorted(candidates.term_starts, at, side="right") - 1
    counts = candidates.counts[at] / HALVES
    for number, term in enumerate(asked):
        same = words == term
        out[number, services[same]] = counts[same]
    return out


def _cosines(question: Question, candidates: Candidates) -> Numbers:
    """(R, 1 + k): with the whole question, then with each sentence."""
    no_rows = question.model != candidates.model or not len(candidates.vectors)
    if question.whole is None or question.needs is None or no_rows:
        return np.zeros((len(candidates.vectors), 2))
    return cosines(candidates.vectors, candidates.scales, np.vstack([question.whole, question.needs]))
